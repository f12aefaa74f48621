"""Tables of the rollups by GPU and run: their columns and types follow from the catalogue."""

from typing import Final

from store.catalog import METRICS, Kind, Metric

SQL_TYPE: Final = {
    "u1": "UTINYINT", "u2": "USMALLINT", "u4": "UINTEGER", "i2": "SMALLINT", "i4": "INTEGER", "i8": "BIGINT",
}  # fmt: skip
BUCKET_MS: Final = {"gpu_hour": 3_600_000, "gpu_minute": 60_000}


def rollup_columns(metric: Metric, table: str = "gpu_hour") -> tuple[str, ...]:
    """Returns the columns of a metric in ``gpu_hour`` or ``gpu_minute`` as DDL, as narrow as its range allows.

    Half of what the write-ahead log holds are these. Times are signed, since they are subtracted; who multiplies casts.
    GAUGE: ``<name>_sum`` (stored value x ms), ``<name>_ms`` (time with a reading), ``<name>_max``. DELTA:
    ``<name>_sum``. COUNT: ``<name>_max``. FLAGS: ``<name>_ms`` (time with any bit set), ``<name>_seen`` (bits seen).
    """
    name = metric.name
    match metric.kind:
        case Kind.GAUGE:
            total = _type_of(metric.low * metric.per_unit, metric.high * metric.per_unit, BUCKET_MS[table])
            return (f"{name}_sum {total}", f"{name}_ms INTEGER", f"{name}_max {SQL_TYPE[metric.dtype]}")
        case Kind.DELTA:
            return (f"{name}_sum BIGINT",)
        case Kind.COUNT:
            return (f"{name}_max {SQL_TYPE[metric.dtype]}",)
        case Kind.FLAGS:
            return (f"{name}_ms INTEGER", f"{name}_seen {SQL_TYPE[metric.dtype]}")


def _type_of(low: float, high: float, bucket_ms: int) -> str:
    """Returns the narrowest type of a value x ms summed over a bucket."""
    largest = max(abs(low), abs(high)) * bucket_ms
    if largest < 2**31:
        return "INTEGER"
    return "UINTEGER" if low >= 0 and largest < 2**32 else "BIGINT"


def rollup_table(name: str, bucket: str) -> str:
    """Returns the DDL of ``gpu_hour`` or ``gpu_minute``."""
    metrics = ", ".join(column for metric in METRICS for column in rollup_columns(metric, name))
    # run_key is NULL for time that no run held. held_ms = active + low + idle_held + idle + unknown, exactly. Beside it
    # and no part of it is suspended_ms (NULL: none). Where run_key is NULL held_ms is 0 and stray_ms says how much of
    # the covered time was work without a holder. held, suspended and unknown are wide: many GPUs may be UNPLACED.
    return f"""CREATE TABLE {name} (
        {bucket} BIGINT NOT NULL, node_key INTEGER NOT NULL, gpu_key INTEGER NOT NULL, run_key INTEGER,
        rows UINTEGER NOT NULL, held_ms BIGINT NOT NULL, suspended_ms BIGINT, covered_ms INTEGER NOT NULL,
        active_ms INTEGER NOT NULL, low_ms INTEGER NOT NULL, idle_held_ms INTEGER NOT NULL, idle_ms INTEGER NOT NULL,
        unknown_ms BIGINT NOT NULL, unmeasurable_ms INTEGER NOT NULL,
        stray_ms INTEGER NOT NULL, parked_ms INTEGER NOT NULL,
        {metrics})"""
