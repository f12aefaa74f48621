"""The one source of GPU-hours: what each run held on each GPU in each hour, weighed by the GPU's share of a device.

Sums are taken over integers, so users, accounts, partitions, nodes, models and days add up to the same total in any
order; they become GPU-hours by one division at the end.

A piece is selected with the columns that a query names, and with the joins that these and its conditions need: on
rollups of this size DuckDB spends longer on planning a wide statement than on running it.
"""

import re
from collections.abc import Iterable
from typing import Final

import msgspec

from analytics.model import HOUR_MS, Filter, Viewer, Window
from analytics.queries.rollup import rollup
from analytics.queries.scope import ALWAYS, Condition, fill, of_places, of_runs, visible

WHOLE: Final = 840
"""Weight of a whole GPU: divisible by 1 to 8, hence by the slices of every MIG-capable model (7, A30: 4)."""

UNITS_PER_GPU_H: Final = WHOLE * HOUR_MS
"""One GPU-hour in the integer unit of all sums: weight x milliseconds."""

ENERGY_PER_KWH: Final = 36_000_000_000
"""One kWh in the integer unit of energy sums, 0.1 mJ: the power integral is stored as 0.1 W x ms."""

WEIGHT: Final = f"CAST(coalesce(g.slices * {WHOLE} // g.slices_of, {WHOLE}) AS BIGINT)"
"""Of a GPU ``g``. One that only accounting counts has gpu_key 0 and no row in gpu: it weighs as a whole one."""


class _Column(msgspec.Struct, frozen=True):
    """One column of a piece: its expression and the columns of the rollup that it reads."""

    sql: str
    reads: tuple[str, ...] = ()


def _weighed(column: str) -> _Column:
    return _Column(f"h.{column} * weight", (column,))


_COLUMNS: Final[dict[str, _Column]] = {
    "at_ms": _Column("h.at_ms"),
    "run_key": _Column("h.run_key"),
    "gpu_key": _Column("h.gpu_key"),
    "model": _Column("g.model"),
    "node": _Column("n.name"),
    "cluster": _Column("r.cluster"),
    "user": _Column("r.user_name"),
    "account": _Column("r.account"),
    "partition": _Column('r."partition"'),
    "weight": _Column(WEIGHT),
    "held": _weighed("held_ms"),
    "active": _weighed("active_ms"),
    "low": _weighed("low_ms"),
    "idle_held": _weighed("idle_held_ms"),
    "idle_empty": _weighed("idle_ms"),
    "unknown": _weighed("unknown_ms"),
    "unmeasurable": _weighed("unmeasurable_ms"),
    "parked": _weighed("parked_ms"),
    "util_sum": _weighed("util_pct_sum"),
    "util_ms": _weighed("util_pct_ms"),
    "sm_sum": _weighed("sm_active_pct_sum"),
    "sm_ms": _weighed("sm_active_pct_ms"),
    "mem_ratio": _Column("h.mem_used_mib_max / g.mem_total_mib", ("mem_used_mib_max",)),
    "power_sum": _Column("h.power_w_sum", ("power_w_sum",)),
    "power_ms": _Column("h.power_w_ms", ("power_w_ms",)),
    "power_limit_w": _Column("g.power_limit_w"),
    "energy": _Column("coalesce(h.energy_j_sum * 10000, h.power_w_sum)", ("energy_j_sum", "power_w_sum")),
    "energy_estimated": _Column(
        "h.energy_j_sum IS NULL AND h.power_w_sum IS NOT NULL", ("energy_j_sum", "power_w_sum")
    ),
}

FIGURE_COLUMNS: Final = (
    *("run_key", "gpu_key", "user", "held", "active", "low", "idle_held", "idle_empty", "unknown", "unmeasurable"),
    *("parked", "util_sum", "util_ms", "energy", "energy_estimated"),
)

FIGURES: Final = """
    CAST(coalesce(sum(held), 0) AS BIGINT) AS held, CAST(coalesce(sum(active), 0) AS BIGINT) AS active,
    CAST(coalesce(sum(low), 0) AS BIGINT) AS low, CAST(coalesce(sum(idle_held), 0) AS BIGINT) AS idle_held,
    CAST(coalesce(sum(idle_empty), 0) AS BIGINT) AS idle_empty, CAST(coalesce(sum(unknown), 0) AS BIGINT) AS unknown,
    CAST(coalesce(sum(unmeasurable), 0) AS BIGINT) AS unmeasurable,
    CAST(coalesce(sum(parked), 0) AS BIGINT) AS parked,
    CAST(coalesce(sum(util_sum), 0) AS HUGEINT) AS util_sum, CAST(coalesce(sum(util_ms), 0) AS BIGINT) AS util_ms,
    CAST(sum(energy) AS HUGEINT) AS energy, coalesce(bool_or(energy_estimated), FALSE) AS energy_estimated,
    count(DISTINCT run_key) AS runs, count(DISTINCT "user") AS users,
    count(DISTINCT gpu_key) FILTER (gpu_key <> 0) AS gpus"""
"""Columns of :class:`analytics.queries.figures.Sums` over pieces with FIGURE_COLUMNS."""

# Time that nobody held has rows too, with no run: they belong to capacity.py.
_PIECE: Final = """
    SELECT {columns} FROM ({rollup}) AS h{joins} WHERE h.run_key IS NOT NULL AND {where}"""

_JOINS: Final = {
    "r": " JOIN run r ON r.run_key = h.run_key",
    "g": " LEFT JOIN gpu g ON g.gpu_key = h.gpu_key",
    "n": " LEFT JOIN node n ON n.node_key = h.node_key",
}

_PICKED: Final = """
    SELECT piece.* FROM ({piece}) AS piece SEMI JOIN (
        SELECT run_key FROM ({piece}) GROUP BY run_key HAVING {having}) AS picked USING (run_key)"""

_SIZES: Final = {
    "min_gpu_h": f"sum(held) >= $min_gpu_h * {UNITS_PER_GPU_H}",
    "max_gpu_h": f"sum(held) < $max_gpu_h * {UNITS_PER_GPU_H}",
    "min_util_pct": "sum(util_sum) / sum(util_ms) / 10 >= $min_util_pct",
    "max_util_pct": "sum(util_sum) / sum(util_ms) / 10 < $max_util_pct",
}


def of_size(where: Filter) -> Condition:
    """Returns the condition on a group of one run's pieces: its GPU-hours and mean utilization within the window.

    Both ranges are half open, so that cells of a chart share no run; an upper end of 100 % includes 100.
    """
    condition = ALWAYS
    for name, sql in _SIZES.items():
        value = getattr(where, name)
        if value is not None and not (name == "max_util_pct" and value >= 100):
            condition &= Condition(sql, {name: float(value)})
    return condition


def pieces(
    viewer: Viewer,
    window: Window,
    where: Filter,
    columns: Iterable[str],
    *,
    minutes: bool = False,
    also: Condition = ALWAYS,
) -> Condition:
    """Returns a SELECT of pieces, one per run, GPU and hour (or minute), and its parameters.

    ``also`` is a further condition on the rollup's row ``h`` or the run ``r``. Of the columns, at_ms, run_key, gpu_key,
    weight, model, node, cluster, user, account and partition say whose; held, active, low, idle_held, idle_empty,
    unknown, unmeasurable and parked are weight x ms, and held is the sum of the five states; util_sum and sm_sum are
    0.1 % x weight x ms; power_sum is 0.1 W x ms, energy 0.1 mJ.
    """
    wanted = visible(viewer) & of_runs(where) & of_places(where) & also
    size = of_size(where)
    names = dict.fromkeys(columns)
    if size is not ALWAYS:
        names |= dict.fromkeys(("run_key", "held", "util_sum", "util_ms"))
    chosen = {name: _COLUMNS[name] for name in names}
    if any(" * weight" in column.sql for column in chosen.values()):
        chosen = {"weight": _COLUMNS["weight"]} | chosen
    rows = rollup(window, dict.fromkeys(read for column in chosen.values() for read in column.reads), minutes=minutes)
    text = ", ".join(f'{column.sql} AS "{name}"' for name, column in chosen.items())
    needed = f"{text} {wanted.sql}"
    joins = "".join(join for alias, join in _JOINS.items() if re.search(rf"\b{alias}\.", needed))
    piece = fill(_PIECE, columns=text, rollup=rows.sql, joins=joins, where=wanted.sql)
    params = rows.params | wanted.params
    if size is ALWAYS:
        return Condition(piece, params)
    return Condition(fill(_PICKED, piece=piece, having=size.sql), params | size.params)
