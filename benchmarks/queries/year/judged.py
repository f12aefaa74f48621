"""Footprints, findings and recommendations of the year's runs, about as often as real clusters have them."""

from typing import Final

from analytics.family import FAMILY_SQL
from benchmarks.queries.year.rollups import MIX
from benchmarks.queries.year.sizes import CLUSTER, DAY_MS, END_MS
from store.columns import HOUR_MS
from store.database import Cursor

# In the order in which runs ended: a footprint is made when its run is over.
_RUNS: Final = f"""
    INSERT INTO footprint_run BY NAME
    SELECT run.run_key, start_ms, e AS end_ms, run.end_ms IS NOT NULL AS finished, alloc_gpus AS gpus,
        alloc_gpus AS gpus_seen, if(dice % 100 < 8, 0, alloc_gpus) AS gpus_active, req_gpus AS gpus_requested,
        if(dice % 100 < 8, 0, alloc_gpus) AS gpus_peak, h AS held_ms, c AS covered_ms, c / h AS coverage,
        0.9 AS watched_ratio, (c // 10000 // alloc_gpus)::INTEGER AS min_rows, mix[1] * c // 1000 AS active_ms,
        mix[2] * c // 1000 AS low_ms, mix[3] * c // 1000 AS idle_held_ms,
        c - mix[1] * c // 1000 - mix[2] * c // 1000 - mix[3] * c // 1000 AS idle_ms, h - c AS unknown_ms,
        mix[5] / 10.0 AS util_mean_pct, least(100, mix[5] / 9.0) AS util_p95_pct,
        if(node % 2 = 0, mix[5] * 0.07, NULL) AS sm_mean_pct, (500 + dice % 76000) / 81559 AS mem_max_ratio,
        (500 + dice % 76000)::DOUBLE * alloc_gpus AS mem_sum_max_mib, 0.2 + mix[5] / 1500 AS power_mean_ratio,
        300.0 * h / 1000 AS energy_j, 30000 AS leading_idle_ms, 5000 AS trailing_idle_ms,
        if(run.end_ms IS NULL AND dice % 100 < 8, e - start_ms, 0) AS recent_idle_ms, 60000 AS idle_together_ms,
        e AS last_row_ms, 0.1 AS spatial_imbalance, 0.2 AS temporal_imbalance, 4.0 AS busy_cores,
        0.4 AS cpu_efficiency, 'cgroup' AS cpu_source, {FAMILY_SQL} AS family, TRUE AS judged
    FROM (
        SELECT *, alloc_gpus * (e - start_ms) AS h, alloc_gpus * (e - start_ms) * 995 // 1000 AS c, {MIX} AS mix,
            if(node % 2 = 0, 'H100', 'A100') AS model
        FROM (SELECT *, coalesce(end_ms, {END_MS}) AS e, hash(run_key) AS dice,
            TRY_CAST(right(regexp_extract(node_list, '[0-9]+'), 1) AS INTEGER) AS node FROM run)) AS run
    WHERE h > 0 ORDER BY e, run.run_key"""

_GPUS: Final = """
    INSERT INTO footprint_gpu BY NAME
    SELECT a.run_key, a.gpu_key, a.node_key, p.start_ms, p.end_ms, p.end_ms - p.start_ms AS held_ms, p.min_rows AS rows,
        5 * p.min_rows AS readings, p.covered_ms // p.gpus AS covered_ms, p.covered_ms // p.gpus AS watched_ms,
        12000 AS longest_gap_ms, TRUE AS gaps_closed, p.active_ms // p.gpus AS active_ms, p.low_ms // p.gpus AS low_ms,
        p.idle_held_ms // p.gpus AS idle_held_ms, p.idle_ms // p.gpus AS idle_ms, p.unknown_ms // p.gpus AS unknown_ms,
        0 AS parked_ms, p.active_ms // p.gpus AS busy_ms, p.util_mean_pct, p.util_mean_pct AS util_p50_pct,
        p.util_p95_pct, 100.0 AS util_max_pct, 40000.0 AS mem_mean_mib, 41000.0 AS mem_max_mib, 300.0 AS power_mean_w,
        p.energy_j / p.gpus AS energy_j, FALSE AS energy_estimated, 30000 AS leading_idle_ms, 5000 AS trailing_idle_ms,
        60000 AS longest_idle_ms, 3 AS idle_stretches, 0 AS throttled_ms
    FROM footprint_run p JOIN allocation a ON a.run_key = p.run_key ORDER BY p.end_ms, a.run_key, a.gpu_key"""

# Runs of a quarter of an hour and more are judged: what does nothing has a finding, and some of what does little.
_FINDINGS: Final = """
    INSERT INTO finding BY NAME
    SELECT nextval('finding_ids') AS finding_id, run_key, rule, 1 AS rule_version, start_ms, end_ms,
        idle_held_ms + idle_ms AS gpu_ms, 'high' AS confidence, coverage, title, title || '.' AS sentence,
        'Release the GPU when it is not needed.' AS fix, '{"idle_h": 1.5, "gpus": 1}' AS numbers,
        '{"idle_s": 3600}' AS thresholds, end_ms + 60000 AS found_ms, if(run_key % 50 = 0, end_ms, NULL) AS closed_ms
    FROM (
        SELECT p.*, unnest(CASE WHEN hash(run_key) % 100 < 8 THEN ['gpu_never_used'] WHEN hash(run_key) % 100 < 18
                THEN ['low_utilization'] WHEN hash(run_key) % 100 < 24 THEN ['idle_tail', 'memory_parked']
                ELSE [] END) AS rule,
            CASE WHEN hash(run_key) % 100 < 8 THEN 'GPU never used' ELSE 'Little use of the GPU' END AS title
        FROM footprint_run p WHERE end_ms - start_ms >= 900000)
    ORDER BY end_ms, run_key"""

_HOURS: Final = f"""
    INSERT INTO finding_hour
    SELECT run_key, rule, hour * {HOUR_MS}, gpu_ms // parts + if(hour = first, gpu_ms % parts, 0)
    FROM (SELECT run_key, rule, gpu_ms, start_ms // {HOUR_MS} AS first,
            (end_ms - 1) // {HOUR_MS} - start_ms // {HOUR_MS} + 1 AS parts,
            unnest(range(start_ms // {HOUR_MS}, (end_ms - 1) // {HOUR_MS} + 1)) AS hour
        FROM finding ORDER BY finding_id)"""

_UNJUDGED: Final = """
    INSERT INTO unjudged
    SELECT run_key, 'hollow', 'No reading of tensor cores.', held_ms FROM footprint_run
    WHERE end_ms - start_ms >= 900000 AND hash(run_key) % 100 >= 95 ORDER BY end_ms"""

_RECOMMENDED: Final = f"""
    INSERT INTO recommendation BY NAME
    SELECT md5(family || kind) AS recommendation_id, *, '8 GPUs' AS current, '4 GPUs' AS proposed,
        '#SBATCH --gpus=8' AS before_lines, '#SBATCH --gpus=4' AS after_lines, 'Starts sooner.' AS gain,
        40.0 * runs AS energy_j_week, 'high' AS confidence, FALSE AS provisional, 0 AS would_have_failed,
        if(runs < 5, 'fewer than 5 runs', NULL) AS missing, {END_MS} AS made_ms, 1209600000 AS over_ms
    FROM (
        SELECT p.family, list_extract(['fewer_gpus', 'release', 'time_limit'], 1 + (hash(p.family) % 3)::INT) AS kind,
            '{CLUSTER}' AS cluster, any_value(r.user_name) AS user_name, any_value(r.account) AS account,
            any_value(r."partition") AS "partition", any_value(r.name) AS name, sum(p.idle_ms)::BIGINT AS gpu_ms_week,
            count(*)::INTEGER AS runs, count(*)::INTEGER AS submissions, count(*)::INTEGER AS family_runs,
            to_json(list(p.run_key ORDER BY p.run_key DESC)[:50])::VARCHAR AS run_keys, max(p.end_ms) AS last_run_ms
        FROM footprint_run p JOIN run r ON r.run_key = p.run_key
        WHERE p.end_ms > {END_MS} - {60 * DAY_MS} AND r."partition" <> 'short' GROUP BY p.family
        HAVING hash(p.family) % 3 = 0)"""

_ACTS: Final = """
    INSERT INTO act SELECT made_ms, 'hub', 'notified', recommendation_id, '' FROM recommendation
    WHERE hash(recommendation_id) % 4 = 0"""


def judge(cursor: Cursor) -> None:
    """Fills what the analysis makes of runs."""
    for statement in (_RUNS, _GPUS, _FINDINGS, _HOURS, _UNJUDGED, _RECOMMENDED, _ACTS):
        cursor.execute(statement)
