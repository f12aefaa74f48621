"""One row a run and GPU: table ``footprint_gpu``."""

from typing import Final

from analytics.clocks import BRAKES, SLOWDOWNS, Slowdown
from analytics.footprint.pieces import TRAFFIC, UTILIZATION_SCALE
from store.catalog import BY_NAME

_ACTIVITIES: Final = ("tensor", "dram")
_SM: Final = BY_NAME["sm_active_pct"].per_unit
_MEMORY: Final = BY_NAME["mem_used_mib"].per_unit
_POWER: Final = BY_NAME["power_w"].per_unit


def _mean(column: str, per_unit: int, condition: str = "TRUE") -> str:
    """Time-weighted over the pieces that have the reading; sums are integers, so their order does not matter."""
    having = f"{column} IS NOT NULL AND {condition}"
    return f"sum({column}::BIGINT * ms) FILTER ({having})::BIGINT / {per_unit:d}.0 / sum(ms) FILTER ({having})::BIGINT"


def _activity(short: str) -> str:
    """Mean and percentile of one of the hardware's counters."""
    metric = BY_NAME[f"{short}_active_pct"]
    return (
        f"{_mean(metric.name, metric.per_unit)} AS {short}_mean_pct, "
        f"quantile_cont({metric.name}::INTEGER, 0.95) / {metric.per_unit:d}.0 AS {short}_p95_pct"
    )


def _slowed(slowdown: Slowdown) -> str:
    """Time with this reason; NULL where the driver never told any."""
    holds = f"event_reasons & {slowdown.any_of:d} <> 0 AND event_reasons & {slowdown.none_of:d} = 0"
    time = f"coalesce(sum(ms) FILTER ({holds}), 0)::BIGINT"
    return f"CASE WHEN count(event_reasons) > 0 THEN {time} END AS {slowdown.id}_ms"


# Percentiles are linear between rows (type 7). Where more than a twentieth of the covered time had no usable energy
# difference the sum rests on power readings there and is marked estimated; without either the energy is unknown.
MAKE_FIGURES: Final = f"""
CREATE OR REPLACE TEMP TABLE figure AS
SELECT run_key, gpu_key,
       count(*) FILTER (kind > 0)::INTEGER AS rows, coalesce(sum(util_readings), 0)::BIGINT AS readings,
       coalesce(sum(ms) FILTER (kind > 0), 0)::BIGINT AS covered_ms,
       sum(watched_ms) FILTER (kind > 0)::BIGINT AS watched_ms,
       coalesce(sum(ms) FILTER (state = 'active'), 0)::BIGINT AS active_ms,
       coalesce(sum(ms) FILTER (state = 'low'), 0)::BIGINT AS low_ms,
       coalesce(sum(ms) FILTER (state = 'idle_held'), 0)::BIGINT AS idle_held_ms,
       coalesce(sum(ms) FILTER (state = 'idle'), 0)::BIGINT AS idle_ms,
       coalesce(sum(ms) FILTER (parked), 0)::BIGINT AS parked_ms,
       coalesce(sum(busy_ms), 0)::BIGINT AS busy_ms,
       {_mean("util", UTILIZATION_SCALE)} AS util_mean_pct,
       quantile_cont(util, [0.5, 0.95]) AS util_quantiles, max(util) / {UTILIZATION_SCALE:d}.0 AS util_max_pct,
       {_mean("sm_active_pct", _SM)} AS sm_mean_pct,
       quantile_cont(sm_active_pct::INTEGER, 0.95) / {_SM:d}.0 AS sm_p95_pct,
       {", ".join(map(_activity, _ACTIVITIES))},
       {", ".join(f"round(sum({metric}))::BIGINT AS {metric}" for metric in TRAFFIC)},
       quantile_cont(engines, 0.95) / {UTILIZATION_SCALE:d}.0 AS engine_p95_pct,
       {_mean("mem_used_mib", _MEMORY)} AS mem_mean_mib,
       quantile_cont(mem_used_mib, 0.99) / {_MEMORY:d}.0 AS mem_p99_mib,
       max(mem_used_mib) / {_MEMORY:d}.0 AS mem_max_mib,
       {_mean("power_w", _POWER)} AS power_mean_w,
       quantile_cont(power_w::INTEGER, 0.95) / {_POWER:d}.0 AS power_p95_w, max(power_w) / {_POWER:d}.0 AS power_max_w,
       -- mW x ms / 1000 = mJ x 1/1000: power in 1/{_POWER:d} W times ms gives 1/{_POWER:d} mJ
       sum(coalesce(energy_mj, power_w::BIGINT * ms // {_POWER:d}))::BIGINT / 1000.0 AS energy_j,
       coalesce(sum(ms) FILTER (energy_mj IS NULL), 0) * 20 > sum(ms) AS energy_estimated,
       coalesce(sum(ms) FILTER (event_reasons & {BRAKES:d} <> 0), 0)::BIGINT AS throttled_ms,
       {", ".join(map(_slowed, SLOWDOWNS))}
FROM piece GROUP BY run_key, gpu_key"""  # noqa: S608 - fragments of our own

# A GPU that Slurm counts and no node showed has no row here: what was not seen has no figures.
WRITE_GPUS: Final = f"""
INSERT INTO footprint_gpu BY NAME
SELECT hold.run_key, hold.gpu_key, hold.node_key, hold.start_ms, hold.end_ms,
       hold.end_ms - hold.start_ms - coalesce(paused_ms, 0) AS held_ms,
       coalesce(rows, 0) AS rows, coalesce(readings, 0) AS readings, coalesce(covered_ms, 0) AS covered_ms,
       coalesce(watched_ms, 0) AS watched_ms, coalesce(longest_gap_ms, 0) AS longest_gap_ms, gaps_closed,
       coalesce(active_ms, 0) AS active_ms, coalesce(low_ms, 0) AS low_ms,
       coalesce(idle_held_ms, 0) AS idle_held_ms, coalesce(idle_ms, 0) AS idle_ms,
       hold.end_ms - hold.start_ms - coalesce(paused_ms, 0) - coalesce(covered_ms, 0) AS unknown_ms,
       coalesce(parked_ms, 0) AS parked_ms, coalesce(busy_ms, 0) AS busy_ms,
       util_mean_pct, util_quantiles[1] / {UTILIZATION_SCALE:d}.0 AS util_p50_pct,
       util_quantiles[2] / {UTILIZATION_SCALE:d}.0 AS util_p95_pct, util_max_pct, sm_mean_pct, sm_p95_pct,
       engine_p95_pct,
       {", ".join(f"{short}_mean_pct, {short}_p95_pct" for short in _ACTIVITIES)}, {", ".join(TRAFFIC)},
       mem_mean_mib, mem_p99_mib, mem_max_mib, power_mean_w, power_p95_w, power_max_w,
       energy_j, CASE WHEN energy_j IS NOT NULL THEN energy_estimated OR gpu.slices < gpu.slices_of END
           AS energy_estimated,
       -- without any reading nothing is known of idleness; with readings and no such stretch it is zero
       CASE WHEN rows > 0 THEN greatest(0, coalesce(leading_to_ms - hold.start_ms, 0)) END AS leading_idle_ms,
       CASE WHEN rows > 0 AND finished THEN greatest(0, coalesce(hold.end_ms - trailing_from_ms, 0)) END
           AS trailing_idle_ms,
       longest_idle_ms, idle_stretches, first_active_ms, last_active_ms,
       hollow_ms, hollow_longest_ms, hollow_from_ms, hollow_to_ms, hollow_sm_pct, hollow_power_w, rest_power_w,
       hollow_unsaid_ms, throttled_ms,
       {", ".join(f"{slowdown.id}_ms" for slowdown in SLOWDOWNS)}
FROM hold SEMI JOIN run USING (run_key) JOIN gpu ON gpu.gpu_key = hold.gpu_key
LEFT JOIN (SELECT run_key, gpu_key, sum(end_ms - start_ms)::BIGINT AS paused_ms FROM pause GROUP BY ALL) AS paused
    ON paused.run_key = hold.run_key AND paused.gpu_key = hold.gpu_key
LEFT JOIN figure ON figure.run_key = hold.run_key AND figure.gpu_key = hold.gpu_key
LEFT JOIN stretch ON stretch.run_key = hold.run_key AND stretch.gpu_key = hold.gpu_key
LEFT JOIN hollow ON hollow.run_key = hold.run_key AND hollow.gpu_key = hold.gpu_key
LEFT JOIN gap ON gap.run_key = hold.run_key AND gap.gpu_key = hold.gpu_key"""  # noqa: S608 - fragments of our own
