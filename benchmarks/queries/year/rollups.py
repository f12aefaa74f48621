"""Hours and minutes of every GPU and run, as the allocations have them, and the sums that the store makes of them."""

from collections.abc import Iterator
from typing import Final, Literal

from benchmarks.queries.year.described import MODERN
from benchmarks.queries.year.sizes import DAY_MS, END_MS, YearSizes
from store import sums
from store.columns import HOUR_MS
from store.database import Cursor, Database

Bucket = Literal["hour", "minute"]
_LENGTH: Final[dict[Bucket, int]] = {"hour": HOUR_MS, "minute": 60_000}

MIX: Final = """CASE WHEN dice % 100 < 8 THEN [0, 0, 900, 100, 2] WHEN dice % 100 < 18 THEN [0, 880, 60, 60, 90]
    WHEN dice % 100 < 30 THEN [500, 100, 300, 100, 460] ELSE [930, 40, 20, 10, 600 + dice % 380] END"""
"""By the run's dice: per mille of covered time that is active, low, idle with memory held and idle empty; utilization
in 0.1 %. A twelfth of the runs does nothing, a tenth little, an eighth comes and goes."""

# What is free has rows without a run. A bucket has at most one such row a GPU.
_ROWS: Final = f"""
    WITH held AS (
        SELECT a.run_key, a.gpu_key, a.node_key, bucket * $length AS at_ms,
            least(coalesce(a.end_ms, {END_MS}), (bucket + 1) * $length) - greatest(a.start_ms, bucket * $length) AS ms
        FROM (SELECT *, unnest(range(greatest(start_ms, $low) // $length,
                (least(coalesce(end_ms, {END_MS}), $high) - 1) // $length + 1)) AS bucket
            FROM allocation WHERE start_ms < $high AND coalesce(end_ms, {END_MS}) > $low) AS a),
    free AS (
        SELECT NULL::INTEGER AS run_key, g.gpu_key, g.node_key, b.bucket * $length AS at_ms,
            least($length, {END_MS} - b.bucket * $length) - coalesce(h.ms, 0) AS ms
        FROM gpu g CROSS JOIN (SELECT unnest(range($low // $length, $high // $length)) AS bucket) AS b
            LEFT JOIN (SELECT gpu_key, at_ms, sum(ms)::BIGINT AS ms FROM held GROUP BY ALL) AS h
            ON h.gpu_key = g.gpu_key AND h.at_ms = b.bucket * $length),
    row AS (
        SELECT *, hash(run_key) AS dice, hash(run_key, at_ms, gpu_key) % 1000 AS wobble,
            run_key IS NOT NULL AS held FROM held
        UNION ALL BY NAME
        SELECT *, 0::UBIGINT AS dice, 0::UBIGINT AS wobble, FALSE AS held FROM free WHERE ms > 1000),
    covered AS (
        SELECT *, ms - if(wobble < 4, ms // 3, ms // 200) AS c,
            if(held, {MIX}, [0, 0, 0, 1000, 0]) AS mix FROM row),
    told AS (
        SELECT *, (mix[1] * c // 1000)::BIGINT AS active, (mix[2] * c // 1000)::BIGINT AS low,
            (mix[3] * c // 1000)::BIGINT AS idle_held, (least(1000, mix[5] + mix[5] * wobble // 9000))::BIGINT AS util,
            {MODERN} AS modern, (if({MODERN}, 1000, 600) + mix[5] * if({MODERN}, 5, 3))::BIGINT AS power
        FROM covered)
    SELECT at_ms AS {{bucket}}_ms, node_key, gpu_key, run_key, (c // 10000)::UINTEGER AS rows,
        if(held, ms, 0) AS held_ms, NULL AS suspended_ms, c AS covered_ms, if(held, active, 0) AS active_ms,
        if(held, low, 0) AS low_ms, if(held, idle_held, 0) AS idle_held_ms,
        if(held, c - active - low - idle_held, 0) AS idle_ms, if(held, ms - c, 0) AS unknown_ms,
        0 AS unmeasurable_ms, 0 AS stray_ms, if(held AND dice % 100 < 4, idle_held, 0) AS parked_ms,
        util * c AS util_pct_sum, c AS util_pct_ms, least(1000, util + 40 * (util > 0)::INT) AS util_pct_max,
        if(util > 0, 100, 0) AS util_max_pct_max, 50 AS util_readings_max,
        (1000 - mix[1] - mix[2]) * c AS util_below1_ratio_sum, c AS util_below1_ratio_ms, 1000 AS util_below1_ratio_max,
        c AS util_watched_ms_sum, util // 30 * c AS mem_util_pct_sum, c AS mem_util_pct_ms,
        util // 20 AS mem_util_pct_max,
        if(modern, util * 7 // 10 * c, NULL) AS sm_active_pct_sum, if(modern, c, NULL) AS sm_active_pct_ms,
        if(modern, util * 8 // 10, NULL) AS sm_active_pct_max,
        if(modern, util * 3 // 10 * c, NULL) AS tensor_active_pct_sum, if(modern, c, NULL) AS tensor_active_pct_ms,
        if(modern, util * 4 // 10, NULL) AS tensor_active_pct_max,
        if(held, 400 + (dice % 76000)::BIGINT, 3) * c AS mem_used_mib_sum, c AS mem_used_mib_ms,
        if(held, 500 + dice % 76000, 3) AS mem_used_mib_max, 600 * c AS mem_reserved_mib_sum, c AS mem_reserved_mib_ms,
        600 AS mem_reserved_mib_max, power * c AS power_w_sum, c AS power_w_ms, power + 300 AS power_w_max,
        power * c // 10000 AS energy_j_sum, 1500 * c AS sm_clock_mhz_sum, c AS sm_clock_mhz_ms,
        1980 AS sm_clock_mhz_max, 2600 * c AS mem_clock_mhz_sum, c AS mem_clock_mhz_ms, 2600 AS mem_clock_mhz_max,
        (35 + util // 28) * c AS temp_c_sum, c AS temp_c_ms, 40 + util // 25 AS temp_c_max,
        if(wobble < 3, c // 10, 0) AS event_reasons_ms, if(wobble < 3, 4, 0) AS event_reasons_seen,
        util * c // 900000 AS pcie_rx_mib_sum, util * c // 1900000 AS pcie_tx_mib_sum, mix[5] > 0 AS processes_max
    FROM told ORDER BY {{bucket}}_ms, node_key, wobble"""

# A node a day takes no jobs, and what of it nobody held is offline then.
_SPARE: Final = f"""
    INSERT INTO spare_hour
    SELECT hour_ms, node_key, gpu_key, 'offline', 840 * least(covered_ms, {HOUR_MS})
    FROM gpu_hour WHERE run_key IS NULL AND hour_ms >= $low AND hour_ms < $high
        AND (hour_ms // {DAY_MS}) % (SELECT count(*) FROM node) + 1 = node_key"""


def roll_up(database: Database, sizes: YearSizes) -> None:
    """Fills hours, minutes of the last days, what was offline, and every sum, as hour after hour would have done."""
    end_ms = (END_MS // HOUR_MS + 1) * HOUR_MS
    with database.cursor() as cursor:
        for low, high in _spans(sizes.start_ms, end_ms, 15 * DAY_MS):
            _insert(cursor, "hour", low, high)
            cursor.execute(_SPARE, {"low": low, "high": high})
            with cursor.transaction():
                sums.make(cursor, "UTC", low, high)  # the store's own; a day that is cut here is made twice
        for low, high in _spans(max(sizes.start_ms, end_ms - sizes.minute_days * DAY_MS), end_ms, DAY_MS // 2):
            _insert(cursor, "minute", low, min(high, END_MS // 60_000 * 60_000 + 60_000))
        cursor.execute("CHECKPOINT")


def _spans(start_ms: int, end_ms: int, step_ms: int) -> Iterator[tuple[int, int]]:
    yield from ((low, min(low + step_ms, end_ms)) for low in range(start_ms, end_ms, step_ms))


def _insert(cursor: Cursor, bucket: Bucket, low: int, high: int) -> None:
    span = {"low": low, "high": high, "length": _LENGTH[bucket]}
    cursor.execute(f"INSERT INTO gpu_{bucket} BY NAME {_ROWS.format(bucket=bucket)}", span)
