"""How much of a GPU the work filled: mean SM activity where it is measured, else an estimate from power.

The estimate is clamp((P - P_idle) / (P_limit - P_idle), 0, 1). P_idle is learnt per GPU: the lowest mean power
of an hour in which no kernel ran, over the window and the 30 days before; a GPU never seen idle takes the lowest of its
model.
"""

from collections.abc import Sequence
from typing import Final, Literal

import msgspec

from analytics.model import HOUR_MS, Filter, Viewer, Window
from analytics.queries.coarse import coarse
from analytics.queries.pieces import pieces
from analytics.queries.rollup import floor
from analytics.queries.scope import Params, fill
from analytics.queries.sums import by_number
from store.database import Cursor

Source = Literal["measured", "estimated"]

LEARN_MS: Final = 30 * 24 * HOUR_MS
_LEAST_MS: Final = 10 * 60 * 1000  # a mean over less says little about idle power

# Of windows that follow each other all but their ends are the same hours, which are read once.
_SEEN: Final = """
    SELECT gpu_key, {lowest} FROM gpu_hour
    WHERE hour_ms >= $learn_from_0 AND hour_ms < {last} AND util_pct_max = 0
        AND util_pct_ms >= $least AND power_w_ms >= $least GROUP BY gpu_key"""

_LOWEST: Final = (
    """min(power_w_sum / power_w_ms) FILTER (hour_ms >= $learn_from_{n} AND hour_ms < $learn_to_{n}) / 10"""
)

_GPUS: Final = "SELECT gpu_key, model, power_limit_w FROM gpu"

# Ratios are summed as integers (0.001 x ms): sums of floats differ from run to run. least() and greatest() pass over
# NULL, hence the condition on what is known.
_EFFECTIVE: Final = """
    WITH idle AS (
        SELECT unnest($numbers) AS number, unnest($gpu_keys) AS gpu_key, unnest($idle_ws) AS idle_w,
            unnest($range_ws) AS range_w),
    row AS (
        SELECT piece.weight, {number} AS number, piece.sm_sum, piece.sm_ms, piece.power_ms,
            (piece.power_sum / piece.power_ms / 10 - i.idle_w) / i.range_w AS load
        FROM ({piece}) AS piece LEFT JOIN idle i ON i.gpu_key = piece.gpu_key AND i.number = {number})
    SELECT number, weight, CAST(sum(sm_sum) AS HUGEINT), CAST(sum(sm_ms) AS BIGINT),
        CAST(sum(CAST(round(1000 * greatest(0, least(1, load))) AS BIGINT) * power_ms)
            FILTER (coalesce(sm_ms, 0) = 0 AND load IS NOT NULL) AS HUGEINT),
        CAST(sum(power_ms) FILTER (coalesce(sm_ms, 0) = 0 AND load IS NOT NULL) AS BIGINT)
    FROM row GROUP BY ALL"""

# Where SM activity is measured everywhere, nothing has to be estimated from single GPUs.
_MEASURED: Final = """
    SELECT number, weight, CAST(sum(sm_sum) AS HUGEINT), CAST(sum(sm_ms) AS BIGINT),
        CAST(sum(power_only_ms) AS BIGINT)
    FROM (SELECT *, {number} AS number FROM ({piece}) AS piece) GROUP BY ALL"""

_MEASURED_COLUMNS: Final = ("at_ms", "weight", "sm_sum", "sm_ms", "power_only_ms")

_COLUMNS: Final = ("at_ms", "gpu_key", "weight", "sm_sum", "sm_ms", "power_sum", "power_ms")


class Effective(msgspec.Struct, frozen=True):
    """Mean over the time that can be told (0-1), or None; ``estimated`` as soon as part of it is."""

    ratio: float | None
    source: Source | None


class _Gpu(msgspec.Struct, frozen=True):
    """Idle power of a GPU as learnt for the window of that number, and how far its limit lies above."""

    number: int
    gpu_key: int
    idle_w: float
    range_w: float


def effective(cur: Cursor, viewer: Viewer, windows: Sequence[Window], where: Filter) -> list[Effective]:
    """Returns for each of windows that follow each other how much of the held GPUs the work filled, where told."""
    span = Window(start_ms=windows[0].start_ms, end_ms=windows[-1].end_ms)
    key = by_number(windows)
    told = coarse(cur, viewer, span, where, _MEASURED_COLUMNS, cuts=[window.start_ms for window in windows])
    if told is not None:
        rows = cur.tuples(fill(_MEASURED, number=key.sql, piece=told.sql), told.params | key.params)
        if not any(row[-1] for row in rows):
            return [_mean([[*row[1:4], 0, 0] for row in rows if row[0] == index]) for index in range(len(windows))]
    piece = pieces(viewer, span, where, _COLUMNS, weigh=False)
    gpus = _learn(cur, windows)
    params = piece.params | key.params
    params |= {f"{name}s": [getattr(gpu, name) for gpu in gpus] for name in _Gpu.__struct_fields__}
    rows = cur.tuples(fill(_EFFECTIVE, number=key.sql, piece=piece.sql), params)
    return [_mean([list(row[1:]) for row in rows if row[0] == index]) for index in range(len(windows))]


def _learn(cur: Cursor, windows: Sequence[Window]) -> list[_Gpu]:
    gpus, count = cur.tuples(_GPUS), len(windows)
    params: Params = {f"learn_to_{n}": window.end_ms for n, window in enumerate(windows)}
    params |= {f"learn_from_{n}": floor(window.start_ms - LEARN_MS, HOUR_MS) for n, window in enumerate(windows)}
    lowest = ", ".join(fill(_LOWEST, n=str(n)) for n in range(count))
    statement = fill(_SEEN, lowest=lowest, last=f"$learn_to_{count - 1}")
    seen_in = {gpu_key: seen for gpu_key, *seen in cur.tuples(statement, params | {"least": _LEAST_MS})}
    found = []
    for index in range(count):
        seen = {gpu_key: each[index] for gpu_key, each in seen_in.items() if each[index] is not None}
        least: dict[str | None, float] = {}
        for gpu_key, model, _ in gpus:
            if gpu_key in seen:
                least[model] = min(seen[gpu_key], least.get(model, seen[gpu_key]))
        for gpu_key, model, limit_w in gpus:
            idle_w = seen.get(gpu_key, least.get(model))
            if idle_w is not None and limit_w is not None and idle_w != limit_w:
                found.append(_Gpu(index, gpu_key, idle_w, limit_w - idle_w))
    return found


def _mean(rows: list[list[int]]) -> Effective:
    """Rows of weight, measured and its time, estimated and its time."""
    total = [sum(weight * (row[column] or 0) for weight, *row in rows) for column in range(4)]
    measured, measured_ms, estimated, estimated_ms = total
    if not measured_ms + estimated_ms:
        return Effective(None, None)
    return Effective(
        (measured + estimated) / (1000 * (measured_ms + estimated_ms)), "estimated" if estimated_ms else "measured"
    )
