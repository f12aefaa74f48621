"""Time in which a GPU looks busy and does next to nothing: temp table ``hollow``, per GPU of a run.

Utilization is the share of time in which a kernel ran, however small: a collective that spins for a lost peer, or a
stream of tiny kernels, reads 100 %. Counters of the SMs and of memory traffic tell it from work; where the device has
none, its power does, against what the same GPU drew at rest with a context in the same run.
"""

from typing import Final

from analytics.footprint.pieces import UTILIZATION_SCALE
from analytics.settings import FootprintSettings
from store.catalog import BY_NAME

_SM: Final = BY_NAME["sm_active_pct"].per_unit
_DRAM: Final = BY_NAME["dram_active_pct"].per_unit
_TENSOR: Final = BY_NAME["tensor_active_pct"].per_unit
_MEM_UTIL: Final = BY_NAME["mem_util_pct"].per_unit
_POWER: Final = BY_NAME["power_w"].per_unit
_WORKS: Final = 0.5
"""Share of the power limit that no GPU draws at rest: from there on it works, whatever it draws at rest."""


def make_hollow(settings: FootprintSettings) -> str:
    """Returns the statement. Times in ms; ``unsaid_ms`` is busy time of which neither counters nor power say enough."""
    busy = round(settings.hollow_util_pct * UTILIZATION_SCALE)
    at_rest = round(settings.hollow_sm_pct * UTILIZATION_SCALE)  # video engines at work are no appearance
    no_traffic = f"dram_active_pct < {round(settings.hollow_dram_pct * _DRAM):d}"
    counted = f"{no_traffic} AND (sm_active_pct < {round(settings.hollow_sm_pct * _SM):d} OR {_waits(settings)})"
    quiet, power_w = f"mem_util_pct <= {round(settings.hollow_mem_util_pct * _MEM_UTIL):d}", f"power_w / {_POWER:d}.0"
    drawn = f"{power_w} < rest_w + {settings.hollow_power_ratio!r}::DOUBLE * (gpu.power_limit_w - rest_w)"
    gap_ms, stretch_ms = round(settings.gap_s * 1000), round(settings.stretch_s * 1000)
    return f"""
    CREATE OR REPLACE TEMP TABLE hollow AS
    WITH resting AS (
        SELECT *, kind = 1 AND processes > 0 AS rests, lag(rests) OVER (
            PARTITION BY run_key, gpu_key ORDER BY from_ms) AS rested
        FROM piece),
    rest AS (
        SELECT run_key, gpu_key, count(sm_active_pct) > 0 AND count(dram_active_pct) > 0 AS counted,
               -- the row in which the context came still holds power without one
               sum(power_w::BIGINT * ms) FILTER (rests AND rested)::BIGINT / {_POWER:d}.0
                   / sum(ms) FILTER (rests AND rested AND power_w IS NOT NULL)::BIGINT AS rest_w
        FROM resting GROUP BY run_key, gpu_key),
    together AS (SELECT run_key, count(DISTINCT gpu_key) AS gpus FROM hold GROUP BY run_key),
    looks AS (
        SELECT piece.*, counted, rest_w, CASE WHEN counted THEN {counted} ELSE {quiet} AND {drawn} END AS is_hollow,
               NOT counted AND {quiet} AND {drawn} IS NULL
                   AND coalesce({power_w} < {_WORKS!r}::DOUBLE * gpu.power_limit_w, TRUE) AS is_unsaid
        FROM piece JOIN rest USING (run_key, gpu_key) JOIN gpu USING (gpu_key) JOIN together USING (run_key)
        WHERE kind = 2 AND util_pct >= {busy:d} AND coalesce(engines, 0) < {at_rest:d}),
    spans AS (
        SELECT *, sum(coalesce(from_ms - before_ms > {gap_ms:d}, FALSE)::INTEGER)
                  OVER (PARTITION BY run_key, gpu_key ORDER BY from_ms ROWS UNBOUNDED PRECEDING) AS number
        FROM (SELECT *, lag(to_ms) OVER (PARTITION BY run_key, gpu_key ORDER BY from_ms) AS before_ms
              FROM looks WHERE is_hollow)),
    stretches AS (
        SELECT run_key, gpu_key, min(from_ms) AS from_ms, max(to_ms) AS to_ms, sum(ms)::BIGINT AS ms,
               sum(sm_active_pct::BIGINT * ms)::BIGINT AS sm_ms, sum(power_w::BIGINT * ms)::BIGINT AS power_ms
        FROM spans GROUP BY run_key, gpu_key, number HAVING sum(ms) >= {stretch_ms:d})
    SELECT run_key, gpu_key, coalesce(sum(stretches.ms), 0)::BIGINT AS hollow_ms,
           coalesce(max(stretches.ms), 0)::BIGINT AS hollow_longest_ms,
           min(from_ms) AS hollow_from_ms, max(to_ms) AS hollow_to_ms,
           sum(sm_ms)::BIGINT / {_SM:d}.0 / sum(stretches.ms)::BIGINT AS hollow_sm_pct,
           sum(power_ms)::BIGINT / {_POWER:d}.0 / sum(stretches.ms)::BIGINT AS hollow_power_w,
           any_value(rest_w) AS rest_power_w, any_value(unsaid.ms) AS hollow_unsaid_ms
    FROM rest LEFT JOIN stretches USING (run_key, gpu_key) LEFT JOIN (
        SELECT run_key, gpu_key, sum(ms)::BIGINT AS ms FROM looks WHERE is_unsaid
        GROUP BY run_key, gpu_key) AS unsaid USING (run_key, gpu_key)
    GROUP BY run_key, gpu_key"""  # noqa: S608 - fragments of our own


def _waits(settings: FootprintSettings) -> str:
    """Returns the condition on a piece of a run of several GPUs that spins for the others; NULL where it is not known.

    Kernels of a collective keep more processors than a tenth busy, and neither compute nor move anything. What goes
    over links that a GPU does not have is nothing.
    """
    sent = (
        "pcie_rx_mib + pcie_tx_mib + coalesce(nvlink_rx_mib + nvlink_tx_mib, CASE WHEN nvlink_mib_s IS NULL THEN 0 END)"
    )
    carried = "2 * (pcie_mib_s + coalesce(nvlink_mib_s, 0)) * ms / 1000.0"
    return (
        f"gpus > 1 AND sm_active_pct < {round(settings.hollow_wait_sm_pct * _SM):d} "
        f"AND tensor_active_pct < {round(settings.hollow_wait_tensor_pct * _TENSOR):d} "
        f"AND {sent} < {settings.hollow_wait_link_ratio!r}::DOUBLE * {carried}"
    )
