"""Raw rows: seven hours of the whole cluster sealed, and of one run of 8 GPUs and the last minutes of all hot."""

from typing import Final

from benchmarks.queries.year.rollups import MIX
from benchmarks.queries.year.sizes import END_MS, HOT_FROM_MS, INTERVAL_MS, RAW_RUN_MS, SEALED_FROM_MS
from store import seal
from store.database import Cursor, Database
from store.samples import KEPT_FROM
from store.settings import StoreSettings

_ROWS: Final = f"""
    INSERT INTO hot BY NAME
    SELECT ts AS ts_ms, {INTERVAL_MS} AS span_ms, node_key, gpu_key, run_key, 3 AS baseline_mib, 1 AS gen,
        util AS util_pct, util // 10 AS util_max_pct, 50 AS util_readings, 1000 - mix[1] AS util_below1_ratio,
        {INTERVAL_MS} AS util_watched_ms, util // 30 AS mem_util_pct, if(node_key % 2 = 0, util * 7 // 10, NULL)
            AS sm_active_pct, if(node_key % 2 = 0, util * 3 // 10, NULL) AS tensor_active_pct,
        if(run_key IS NULL, 3, 500 + dice % 76000) AS mem_used_mib, 600 AS mem_reserved_mib, 1000 + 5 * util AS power_w,
        1000 + 5 * util AS energy_j, 1980 AS sm_clock_mhz, 2600 AS mem_clock_mhz, 35 + util // 28 AS temp_c,
        0 AS event_reasons, util * 11 AS pcie_rx_mib, util * 5 AS pcie_tx_mib, if(mix[5] > 0, 1, 0) AS processes
    FROM (
        SELECT *, least(1000, mix[5] + mix[5] * (hash(ts, gpu_key) % 100)::BIGINT // 900) AS util FROM (
            SELECT t.ts, g.gpu_key, g.node_key, a.run_key, hash(a.run_key) AS dice,
                if(a.run_key IS NULL, [0, 0, 0, 1000, 0], {MIX}) AS mix
            FROM gpu g CROSS JOIN (SELECT unnest(range($low, $high, {INTERVAL_MS})) + {INTERVAL_MS} AS ts) AS t
                LEFT JOIN (SELECT *, hash(run_key) AS dice FROM allocation
                    WHERE start_ms < $high AND coalesce(end_ms, {END_MS}) > $low) AS a
                ON a.gpu_key = g.gpu_key AND a.start_ms < t.ts AND coalesce(a.end_ms, {END_MS}) >= t.ts))
    WHERE {{which}} ORDER BY ts, node_key"""

_LAST_MS: Final = 20 * 60_000


def fill_raw(database: Database, hot_run: int) -> None:
    """Fills the hot table and seals what is old enough through the store's own sealer."""
    with database.cursor() as cursor:
        cursor.execute("INSERT OR REPLACE INTO meta VALUES ($1, $2)", [KEPT_FROM, str(SEALED_FROM_MS)])
        _insert(cursor, SEALED_FROM_MS, SEALED_FROM_MS + RAW_RUN_MS, "TRUE")
    seal.seal(database, StoreSettings(), END_MS)
    with database.cursor() as cursor:
        last = END_MS - _LAST_MS
        _insert(cursor, HOT_FROM_MS, END_MS, "run_key = $run OR ts > $last", {"run": hot_run, "last": last})


def _insert(cursor: Cursor, low: int, high: int, which: str, more: dict[str, int] | None = None) -> None:
    cursor.execute(_ROWS.format(which=which), {"low": low, "high": high} | (more or {}))
