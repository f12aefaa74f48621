"""One row per run over its pieces: GPU-hours, means and maxima in the window. Tables and charts of jobs share it."""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from analytics.model import Filter, Viewer, Window
from analytics.queries.pieces import pieces
from analytics.queries.scope import ALWAYS, Condition, fill


class _Column(msgspec.Struct, frozen=True):
    """What is told of a run: an expression over its pieces, and the columns of a piece that it reads."""

    sql: str
    reads: tuple[str, ...]


def _sum(*names: str) -> _Column:
    return _Column(f"CAST(sum({' + '.join(names)}) AS BIGINT)", names)


# A mean of ratios would weigh a short hour like a full one: power and its limit are summed over the same time.
_COLUMNS: Final[dict[str, _Column]] = {
    "held": _sum("held"),
    "active": _sum("active"),
    "low": _sum("low"),
    "idle": _sum("idle_held", "idle_empty"),
    "idle_held": _sum("idle_held"),
    "unknown": _sum("unknown"),
    "unmeasurable": _sum("unmeasurable"),
    "util_mean_pct": _Column("sum(util_sum) / nullif(sum(util_ms), 0) / 10", ("util_sum", "util_ms")),
    "sm_mean_pct": _Column("sum(sm_sum) / nullif(sum(sm_ms), 0) / 10", ("sm_sum", "sm_ms")),
    "mem_max_ratio": _Column("max(mem_ratio)", ("mem_ratio",)),
    "power_mean_ratio": _Column(
        """sum(power_sum) FILTER (power_limit_w > 0)
            / nullif(sum(CAST(10 * power_limit_w AS BIGINT) * power_ms), 0)""",
        ("power_sum", "power_ms", "power_limit_w"),
    ),
    "energy": _Column("CAST(sum(energy) AS HUGEINT)", ("energy",)),
    "energy_estimated": _Column("bool_or(energy_estimated)", ("energy_estimated",)),
    "seen_gpus": _Column("count(DISTINCT gpu_key) FILTER (gpu_key <> 0)", ("gpu_key",)),
    "model": _Column("min(model)", ("model",)),
}

_PER_RUN: Final = """
    SELECT run_key, {columns} FROM ({piece}) GROUP BY run_key HAVING sum(held) > 0"""


def of_these(run_keys: Sequence[int]) -> Condition:
    """Returns the condition on rows of single runs: a list that is searched row by row would take far longer."""
    return Condition("h.run_key IN (SELECT unnest($of_runs))", {"of_runs": list(run_keys)})


def per_run(
    viewer: Viewer, window: Window, where: Filter, columns: Iterable[str], also: Condition = ALWAYS
) -> Condition:
    """Returns a SELECT with one row per run that held GPUs in the window, and its parameters.

    Of the ``columns`` beside run_key, held, active, low, idle, idle_held, unknown and unmeasurable are weight x ms and
    energy is 0.1 mJ; util_mean_pct, sm_mean_pct (0-100), mem_max_ratio and power_mean_ratio (0-1) are NULL where
    nothing was read. model is the first by name where a run holds several.
    """
    chosen = {name: _COLUMNS[name] for name in columns}
    reads = dict.fromkeys(read for column in chosen.values() for read in column.reads)
    piece = pieces(viewer, window, where, ("run_key", "held", *reads), also=also)
    text = ", ".join(f"{column.sql} AS {name}" for name, column in chosen.items())
    return Condition(fill(_PER_RUN, columns=text, piece=piece.sql), piece.params)
