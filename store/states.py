"""The state of a GPU during a row, as one SQL expression for rollups and footprints (definitions, section 2)."""

from typing import Final

from store.catalog import METRICS
from store.settings import StateSettings

_DEFAULTS: Final = StateSettings()
# Rows of a GPU in time. Of two that end together one takes the time, whatever the order they came in: the longer, then
# the one that saw more. That is kind: after a clock was set back, idleness must not hide the work of the same moment.
ROW_ORDER: Final = (
    "ts_ms, span_ms DESC, util_pct DESC NULLS LAST, mem_used_mib DESC NULLS LAST, power_w DESC NULLS LAST"
)
_SCALE: Final = max(metric.per_unit for metric in METRICS if metric.is_utilization)

# Utilization in 1/_SCALE percent: the largest of the catalogue's utilizations. Without a reading of the GPU itself it
# is unknown: an encoder's zero says nothing about the GPU (a MIG instance has an encoder reading and no utilization).
# greatest() passes over NULLs.
UTILIZATION_SQL: Final = "CASE WHEN util_pct IS NOT NULL THEN greatest({}) END".format(
    ", ".join(f"{metric.name}::INTEGER * {_SCALE // metric.per_unit}" for metric in METRICS if metric.is_utilization)
)


def state_sql(settings: StateSettings = _DEFAULTS) -> str:
    """Returns a CASE over columns of ``samples`` and ``mem_total_mib`` of the GPU, which the query has to join.

    Its value is 'active', 'low', 'idle_held', 'idle' or 'unknown'. Memory that cannot be compared counts as empty; a
    baseline that is not known counts as zero, since the driver's own reserve is not part of ``mem_used_mib``.
    """
    active, low = round(settings.active_pct * _SCALE), round(settings.low_pct * _SCALE)
    # least() passes over NULL: a GPU of unknown size has the fixed margin.
    margin = f"least(mem_total_mib * {settings.memory_margin_ratio!r}::DOUBLE, {settings.memory_margin_mib:d})"
    return (
        f"CASE WHEN util_pct IS NULL THEN 'unknown' "
        f"WHEN {UTILIZATION_SQL} >= {active:d} THEN 'active' "
        f"WHEN {UTILIZATION_SQL} >= {low:d} THEN 'low' "
        f"WHEN mem_used_mib > coalesce(baseline_mib, 0) + {margin} OR processes > 0 THEN 'idle_held' "
        f"ELSE 'idle' END"
    )


def parked_sql(settings: StateSettings = _DEFAULTS) -> str:
    """Returns a condition: the row holds so much memory that, being idle, it counts as parked. NULL where unknown."""
    return f"mem_used_mib >= mem_total_mib * {settings.parked_ratio!r}::DOUBLE"


STATE_SQL: Final = state_sql()
"""The expression with the default thresholds."""
