"""How much of a GPU the work filled: mean SM activity where it is measured, else an estimate from power.

The estimate is clamp((P - P_idle) / (P_limit - P_idle), 0, 1). P_idle is learnt per GPU: the lowest mean power
of an hour in which no kernel ran, over the window and the 30 days before; a GPU never seen idle takes the lowest of its
model.
"""

from typing import Final, Literal

import msgspec

from analytics.model import HOUR_MS, Filter, Viewer, Window
from analytics.queries.pieces import pieces
from analytics.queries.rollup import floor
from analytics.queries.scope import fill
from store.database import Cursor

Source = Literal["measured", "estimated"]

LEARN_MS: Final = 30 * 24 * HOUR_MS
_LEAST_MS: Final = 10 * 60 * 1000  # a mean over less says little about idle power

_COLUMNS: Final = ("gpu_key", "weight", "sm_sum", "sm_ms", "power_sum", "power_ms", "power_limit_w")

# Ratios are summed as integers (0.001 x weight x ms): sums of floats differ from run to run. least() and greatest()
# pass over NULL, hence the conditions on what is known.
_EFFECTIVE: Final = """
    WITH seen AS (
        SELECT gpu_key, min(power_w_sum / power_w_ms) / 10 AS idle_w FROM gpu_hour
        WHERE hour_ms >= $learn_from AND hour_ms < $learn_to AND util_pct_max = 0
            AND util_pct_ms >= $least AND power_w_ms >= $least GROUP BY gpu_key),
    idle AS (
        SELECT g.gpu_key, coalesce(s.idle_w, min(s.idle_w) OVER (PARTITION BY g.model)) AS idle_w
        FROM gpu g LEFT JOIN seen s ON s.gpu_key = g.gpu_key),
    row AS (
        SELECT p.weight, p.sm_sum, p.sm_ms, p.power_ms,
            (p.power_sum / p.power_ms / 10 - i.idle_w) / nullif(p.power_limit_w - i.idle_w, 0) AS load
        FROM ({piece}) AS p LEFT JOIN idle i ON i.gpu_key = p.gpu_key)
    SELECT CAST(coalesce(sum(sm_sum) FILTER (sm_ms > 0), 0) AS HUGEINT) AS measured,
        CAST(coalesce(sum(sm_ms) FILTER (sm_ms > 0), 0) AS BIGINT) AS measured_ms,
        CAST(coalesce(sum(CAST(round(1000 * greatest(0, least(1, load))) AS BIGINT) * weight * power_ms)
            FILTER (coalesce(sm_ms, 0) = 0 AND load IS NOT NULL), 0) AS HUGEINT) AS estimated,
        CAST(coalesce(sum(weight * power_ms) FILTER (coalesce(sm_ms, 0) = 0 AND load IS NOT NULL), 0) AS BIGINT)
            AS estimated_ms
    FROM row"""


class Effective(msgspec.Struct, frozen=True):
    """Mean over the time that can be told (0-1), or None; ``estimated`` as soon as part of it is."""

    ratio: float | None
    source: Source | None


class _Row(msgspec.Struct, frozen=True):
    measured: int
    measured_ms: int
    estimated: int
    estimated_ms: int


def effective(cur: Cursor, viewer: Viewer, window: Window, where: Filter) -> Effective:
    """Returns how much of the held GPUs the work filled, over the hours that can be told."""
    piece = pieces(viewer, window, where, _COLUMNS)
    params = piece.params | {
        "learn_from": floor(window.start_ms - LEARN_MS, HOUR_MS),
        "learn_to": window.end_ms,
        "least": _LEAST_MS,
    }
    row = cur.rows(fill(_EFFECTIVE, piece=piece.sql), params, _Row)[0]
    if not row.measured_ms + row.estimated_ms:
        return Effective(None, None)
    return Effective(
        (row.measured + row.estimated) / (1000 * (row.measured_ms + row.estimated_ms)),
        "estimated" if row.estimated_ms else "measured",
    )
