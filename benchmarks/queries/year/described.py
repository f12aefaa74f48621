"""Nodes, GPUs, runs and allocations of the year as SQL over the workload."""

from typing import Final

from benchmarks.queries.year.sizes import CLUSTER, END_MS, INTERVAL_MS, YearSizes
from benchmarks.queries.year.workload import PARTITIONS, Workload
from store.database import Cursor

# Half of the nodes have GPUs with profiling counters (sm_active and its like), the others have not.
MODERN: Final = "(node_key % 2 = 0)"

_NODES: Final = f"""
    INSERT INTO node BY NAME
    SELECT node_key::INTEGER AS node_key, 'gpu' || lpad(node_key::VARCHAR, 4, '0') AS name, '{CLUSTER}' AS cluster,
        TRUE AS slurm, {INTERVAL_MS} AS interval_ms, '0.1.0' AS agent_version, '570.86.15' AS driver_version,
        $start AS first_ms, {END_MS} AS last_ms, {END_MS} + 2000 AS received_ms, 40 AS skew_ms
    FROM range(1, $nodes + 1) AS n(node_key)"""

_GPUS: Final = f"""
    INSERT INTO gpu BY NAME
    SELECT gpu_key::INTEGER AS gpu_key, 'GPU-' || md5(gpu_key::VARCHAR) AS uuid, node_key::INTEGER AS node_key,
        if({MODERN}, 'NVIDIA H100 80GB HBM3', 'NVIDIA A100-SXM4-80GB') AS model,
        ((gpu_key - 1) % $gpus)::INTEGER AS idx, ((gpu_key - 1) % $gpus)::INTEGER AS minor,
        ((gpu_key - 1) % $gpus)::INTEGER AS position, 81559 AS mem_total_mib,
        if({MODERN}, 700.0, 400.0) AS power_limit_w, 1 AS slices, 1 AS slices_of, $start AS first_ms,
        {END_MS} AS last_ms
    FROM (SELECT gpu_key, (gpu_key - 1) // $gpus + 1 AS node_key FROM range(1, $nodes * $gpus + 1) AS g(gpu_key))
    """

# Bursts on lanes of single GPUs are arrays. A run is known by its first sight, so keys grow with the start.
_RUNS: Final = f"""
    INSERT INTO run BY NAME
    WITH lane_gpus AS (
        SELECT lane, count(*) AS gpus, count(DISTINCT node_key) AS nodes, min(node_key) AS first_node,
            max(node_key) AS last_node
        FROM lanes GROUP BY lane),
    told AS (
        SELECT w.*, l.*, hash(w.run_key) AS dice, w.burst % 7 AS project,
            first_value(w.run_key) OVER (PARTITION BY w.burst ORDER BY w.run_key) AS first_key,
            row_number() OVER (PARTITION BY w.burst ORDER BY w.run_key) AS task
        FROM workload w JOIN lane_gpus l ON l.lane = w.lane)
    SELECT run_key::INTEGER AS run_key, 'job' AS kind, '{CLUSTER}' AS cluster,
        (1000000 + run_key)::VARCHAR AS job_id_raw,
        if("partition" = 0, (1000000 + first_key) || '_' || task, (1000000 + run_key)::VARCHAR) AS job_id,
        0 AS restart, run_key AS db_index, 'user' || lpad("user"::VARCHAR, 3, '0') AS user_name, 20000 + "user" AS uid,
        'lab' || lpad((if("user" % 5 = 0 AND project > 3, "user" + 1, "user") % $accounts)::VARCHAR, 2, '0') AS account,
        list_extract($partitions, "partition" + 1) AS "partition", 'normal' AS qos,
        list_extract(['train', 'sweep', 'eval', 'finetune', 'infer', 'md', 'bash'], project + 1)
            || '-' || ("user" % 13) || if("partition" = 0, '-' || task, '') AS name,
        CASE WHEN end_ms > {END_MS} THEN 'RUNNING' WHEN dice % 100 < 82 THEN 'COMPLETED' WHEN dice % 100 < 92
            THEN 'FAILED' WHEN dice % 100 < 96 THEN 'TIMEOUT' ELSE 'CANCELLED by ' || (20000 + "user") END AS state,
        if(end_ms > {END_MS}, NULL, '0:0') AS exit_code, project = 6 AS interactive,
        start_ms - dice % 7200000 AS submit_ms, start_ms, if(end_ms > {END_MS}, NULL, end_ms) AS end_ms,
        0 AS suspended_ms, if(end_ms > {END_MS}, NULL, end_ms - start_ms) AS elapsed_ms,
        (1 + dice % 5) * 14400000 AS timelimit_ms, FALSE AS timelimit_unlimited, nodes::INTEGER AS nodes,
        'gpu' || if(nodes = 1, lpad(first_node::VARCHAR, 4, '0'),
            '[' || lpad(first_node::VARCHAR, 4, '0') || '-' || lpad(last_node::VARCHAR, 4, '0') || ']') AS node_list,
        gpus::INTEGER AS req_gpus, gpus::INTEGER AS alloc_gpus, (8 * gpus)::INTEGER AS alloc_cpus,
        65536 * gpus AS req_mem_mib, 20000 * gpus AS max_rss_mib, least(end_ms, {END_MS}) - start_ms AS cpu_ms,
        '/home/u/' || project AS work_dir, FALSE AS shared, least(end_ms, {END_MS}) + 60000 AS updated_ms,
        least(end_ms, {END_MS}) AS seen_ms, 0 AS polled_ms
    FROM told ORDER BY run_key"""

_ALLOCATIONS: Final = f"""
    INSERT INTO allocation
    SELECT w.run_key, l.gpu_key, l.node_key, w.start_ms, if(w.end_ms > {END_MS}, NULL, w.end_ms), 'gres'
    FROM workload w JOIN lanes l ON l.lane = w.lane ORDER BY w.run_key, l.gpu_key"""


def describe(cursor: Cursor, sizes: YearSizes, load: Workload) -> None:
    """Fills what exists: nodes, GPUs, runs, and who held which GPU."""
    span = {"start": sizes.start_ms, "nodes": sizes.nodes}
    cursor.execute(_NODES, span)
    cursor.execute(_GPUS, span | {"gpus": sizes.gpus})
    with cursor.table("workload", load.runs), cursor.table("lanes", load.lanes):
        cursor.execute(_RUNS, {"accounts": sizes.accounts, "partitions": list(PARTITIONS)})
        cursor.execute(_ALLOCATIONS)
