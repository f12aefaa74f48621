"""What Slurm and the nodes told about themselves over the year: inventory, queue, deliveries, logs, events."""

from typing import Final

from benchmarks.queries.year.sizes import CLUSTER, DAY_MS, END_MS, YearSizes
from store.columns import HOUR_MS
from store.database import Cursor

_STATES: Final = f"""
    INSERT INTO node_state BY NAME
    SELECT '{CLUSTER}' AS cluster, n.name, hour * {HOUR_MS} + 40000 AS at_ms,
        if(off, 'DOWN', 'MIXED') AS state, if(off, 'DRAIN', '') AS flags, if(off, 'offline', 'up') AS standing,
        $gpus AS gpus, 840 * $gpus AS gpu_units, 'gpu' AS gpu_type, if(off, 0, $gpus) AS gpus_used, 128 AS cpus,
        64 AS cpus_used, 1048576 AS mem_mib, 524288 AS mem_used_mib, 'single,node' AS partitions,
        if(off, 'maintenance', NULL) AS reason, if(off, hour * {HOUR_MS}, NULL) AS reason_ms, '24.05.4' AS version
    FROM (SELECT *, (hour // 24) % $nodes + 1 = node_key AS off
        FROM (SELECT unnest(range($start // {HOUR_MS}, {END_MS} // {HOUR_MS})) AS hour), node) AS n
    ORDER BY hour, node_key"""

_POLLS: Final = f"""
    INSERT INTO queue_poll
    SELECT 1, '{CLUSTER}', at_ms, at_ms + 180000, TRUE, 800
    FROM (SELECT unnest(range($start, {END_MS}, 60000)) AS at_ms)"""

_PENDING: Final = f"""
    INSERT INTO queue_pending
    SELECT 1, at_ms, p, NULL, w, (1 + hash(at_ms, p, w) % 40)::INTEGER, (1 + hash(at_ms, p) % 160)::INTEGER
    FROM (SELECT unnest(range($start, {END_MS}, 60000)) AS at_ms),
        (SELECT unnest(['single', 'node', 'multi']) AS p), (SELECT unnest(['hardware', 'limit']) AS w)
    WHERE w = 'hardware' OR p = 'single' ORDER BY at_ms"""

_ARRIVALS: Final = f"""
    INSERT INTO arrival BY NAME
    SELECT minute * 60000 AS minute_ms, $nodes AS segments, 48 * $nodes AS rows, 0 AS late
    FROM (SELECT unnest(range($start // 60000, {END_MS} // 60000)) AS minute)"""

_PROBES: Final = f"""
    INSERT INTO probe_log BY NAME
    SELECT node_key, probe, {END_MS} - 20000 AS at_ms, 4.0 AS duration_ms, TRUE AS ok, 8 AS rows, 100000 AS runs,
        '' AS error
    FROM node, (SELECT unnest(['gpus', 'processes', 'hosts', 'holdings']) AS probe)
    UNION ALL
    SELECT 1, 'accounting', {END_MS} - 40000, 900.0, TRUE, 30, 100000, ''"""

_JOBS: Final = f"""
    INSERT INTO job_log
    SELECT job, at_ms, 40.0, TRUE, 12, '' FROM (
        SELECT unnest(range({END_MS} - {14 * DAY_MS}, {END_MS}, 60000)) AS at_ms),
        (SELECT unnest(['rollup', 'seal', 'judge', 'footprints']) AS job) ORDER BY at_ms"""

_REASONS: Final = """
    INSERT INTO null_reason
    SELECT gpu_key, metric, 'not_supported', first_ms, last_ms
    FROM gpu, (SELECT unnest(['nvlink_rx_mib', 'nvlink_tx_mib', 'enc_pct', 'sm_active_pct']) AS metric)
    WHERE metric <> 'sm_active_pct' OR node_key % 2 = 1"""

_EVENTS: Final = f"""
    INSERT INTO event
    SELECT 1 + (hash(hour) % $nodes)::INTEGER, NULL, hour * {HOUR_MS}, 'agent_started', ''
    FROM (SELECT unnest(range($start // {HOUR_MS}, {END_MS} // {HOUR_MS})) AS hour)"""

# Names of programs are kept for two months (store/processes.py), cores for as long as minutes.
_PROCESSES: Final = f"""
    INSERT INTO process
    SELECT gpu_key, run_key, 4000 + run_key % 20000, 'python3', 20000, start_ms + 5000, coalesce(end_ms, {END_MS}),
        40000, 1
    FROM allocation WHERE start_ms > {END_MS} - {60 * DAY_MS} ORDER BY start_ms"""

_CORES: Final = f"""
    INSERT INTO host_minute
    SELECT minute * 60000, node_key, run_key, 60000, 200000, 30000
    FROM (SELECT DISTINCT run_key, node_key, unnest(range(greatest(start_ms, $low) // 60000,
            coalesce(end_ms, {END_MS}) // 60000)) AS minute
        FROM allocation WHERE coalesce(end_ms, {END_MS}) > $low) ORDER BY minute, node_key"""

_USAGE: Final = f"""
    INSERT INTO slurm_usage
    SELECT cluster, account, day * {DAY_MS}, (held_ms // 1000)::BIGINT, {END_MS} FROM (
        SELECT k.cluster, k.account, h.hour_ms // {DAY_MS} AS day, sum(h.held_ms) AS held_ms
        FROM holder_hour h JOIN holder k ON k.holder_key = h.holder_key WHERE k.held
            AND h.hour_ms < {END_MS} // {DAY_MS} * {DAY_MS} GROUP BY ALL)"""

_DRIVERS: Final = "INSERT INTO node_driver SELECT node_key, driver_version, first_ms FROM node"


def tell(cursor: Cursor, sizes: YearSizes) -> None:
    """Fills inventory, queue, logs, events, processes and cores."""
    start = {"start": sizes.start_ms}
    cursor.execute(_STATES, start | {"gpus": sizes.gpus, "nodes": sizes.nodes})
    cursor.execute(_POLLS, start)
    cursor.execute(_PENDING, start)
    cursor.execute(_ARRIVALS, start | {"nodes": sizes.nodes})
    cursor.execute(_EVENTS, start | {"nodes": sizes.nodes})
    cursor.execute(_CORES, {"low": END_MS - sizes.minute_days * DAY_MS})
    for statement in (_PROBES, _JOBS, _REASONS, _PROCESSES, _USAGE, _DRIVERS):
        cursor.execute(statement)
