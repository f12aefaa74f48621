"""The one source of GPU-hours: what each run held on each GPU in each hour, weighed by the GPU's share of a device.

Sums are taken over integers, so users, accounts, partitions, nodes, models and days add up to the same total in any
order; they become GPU-hours by one division at the end.

A piece is selected with the columns that a query names, and with the joins that these and its conditions need: on
rollups of this size DuckDB spends longer on planning a wide statement than on running it. For the same reason sums over
many pieces are taken of plain milliseconds per weight, and weighed afterwards (sums.py).
"""

import functools
import re
from collections.abc import Callable, Iterable, Sequence
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
    """One column of a piece: its expression, the columns of the rollup that it reads, whether it counts by weight."""

    sql: str
    reads: tuple[str, ...] = ()
    by_weight: bool = False


def _time(column: str) -> _Column:
    return _Column(f"h.{column}", (column,), by_weight=True)


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
    "held": _time("held_ms"),
    "active": _time("active_ms"),
    "low": _time("low_ms"),
    "idle_held": _time("idle_held_ms"),
    "idle_empty": _time("idle_ms"),
    "unknown": _time("unknown_ms"),
    "unmeasurable": _time("unmeasurable_ms"),
    "parked": _time("parked_ms"),
    "util_sum": _time("util_pct_sum"),
    "util_ms": _time("util_pct_ms"),
    "sm_sum": _time("sm_active_pct_sum"),
    "sm_ms": _time("sm_active_pct_ms"),
    "mem_ratio": _Column("h.mem_used_mib_max / g.mem_total_mib", ("mem_used_mib_max",)),
    "power_sum": _Column("h.power_w_sum", ("power_w_sum",)),
    "power_ms": _Column("h.power_w_ms", ("power_w_ms",)),
    "power_limit_w": _Column("g.power_limit_w"),
    "power_only_ms": _Column(
        "CASE WHEN coalesce(h.sm_active_pct_ms, 0) = 0 THEN h.power_w_ms END", ("sm_active_pct_ms", "power_w_ms")
    ),
    "energy": _Column("coalesce(h.energy_j_sum * 10000, h.power_w_sum)", ("energy_j_sum", "power_w_sum")),
    "energy_estimated": _Column(
        "h.energy_j_sum IS NULL AND h.power_w_sum IS NOT NULL", ("energy_j_sum", "power_w_sum")
    ),
}

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
        SELECT run_key FROM ({sized}) GROUP BY run_key HAVING {having}) AS picked USING (run_key)"""

_SIZED: Final = ("run_key", "held", "util_sum", "util_ms")

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
    cuts: Sequence[int] = (),
    weigh: bool = True,
    also: Condition = ALWAYS,
) -> Condition:
    """Returns a SELECT of pieces, one per run, GPU and hour (or minute), and its parameters.

    No piece lies across a moment of ``cuts``. ``also`` is a further condition on the rollup's row ``h`` or the run
    ``r``. Of the columns, at_ms, run_key, gpu_key, weight, model, node, cluster, user, account and partition say whose;
    held, active, low, idle_held, idle_empty, unknown, unmeasurable and parked are weight x ms, and held is the sum of
    the five states; util_sum and sm_sum are 0.1 % x weight x ms; power_sum is 0.1 W x ms, energy 0.1 mJ. Without
    ``weigh`` the times are plain ms.
    """
    wanted = visible(viewer) & of_runs(where) & of_places(where) & also
    size = of_size(where)
    rows = functools.partial(rollup, window, minutes=minutes, cuts=cuts)
    if size is ALWAYS:
        return _select(rows, wanted, columns, weigh=weigh)
    piece = _select(rows, wanted, (*columns, "run_key"), weigh=weigh)
    sized = _select(rows, wanted, _SIZED, weigh=True)
    return Condition(fill(_PICKED, piece=piece.sql, sized=sized.sql, having=size.sql), piece.params | size.params)


def _select(
    rows_of: Callable[[Iterable[str]], Condition], wanted: Condition, columns: Iterable[str], *, weigh: bool
) -> Condition:
    chosen = {name: _COLUMNS[name] for name in columns}
    by_weight = {name for name, column in chosen.items() if weigh and column.by_weight}
    if by_weight:
        chosen = {"weight": _COLUMNS["weight"]} | chosen
    rows = rows_of(dict.fromkeys(read for column in chosen.values() for read in column.reads))
    text = ", ".join(
        f'{column.sql}{" * weight" if name in by_weight else ""} AS "{name}"' for name, column in chosen.items()
    )
    needed = f"{text} {wanted.sql}"
    joins = "".join(join for alias, join in _JOINS.items() if re.search(rf"\b{alias}\.", needed))
    piece = fill(_PIECE, columns=text, rollup=rows.sql, joins=joins, where=wanted.sql)
    return Condition(piece, rows.params | wanted.params)
