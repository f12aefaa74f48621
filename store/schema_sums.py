"""Tables of the rollups that are coarser than a GPU and an hour: by node and by holder, by the hour and by the day.

Every figure that pages add up over GPUs and runs is a column here, so a year is read from thousands of rows and not
from millions. Sums are BIGINT: an uncast SUM is a HUGEINT column, which reads 20 to 75 times slower. Times are plain
milliseconds: readers weigh them by ``gpu_class.weight``, exactly as they weigh those of single GPUs.
"""

from typing import Final

SPARE_UNITS: Final = ("releasing_units", "offline_units", "taken_units", "reserved_units", "stranded_units")
"""Time that nobody could have held, by why (store/spare.py), in WHOLE x ms: already weighed."""

SUMMED: Final = (
    *("held_ms", "suspended_ms", "active_ms", "low_ms", "idle_held_ms", "idle_ms", "unknown_ms", "unmeasurable_ms"),
    *("parked_ms", "util_pct_sum", "util_pct_ms", "sm_active_pct_sum", "sm_active_pct_ms"),
    "power_only_ms",  # time with a power reading on GPU-hours without any SM activity
    "stray_ms",
    "unheld_ms",  # watched while nobody held it, and not stray
    *SPARE_UNITS,
    "over_units",  # WHOLE x ms that devices were used for beyond the length of the bucket
)
"""Columns that add up. Utilization, SM activity, energy and the states are of held time alone."""

_FIGURES: Final = (
    ", ".join(f"{name} BIGINT NOT NULL" for name in SUMMED)
    # 0.1 mJ, from the counter or else from power; NULL: nothing was read.
    + ", energy BIGINT, energy_estimated BOOLEAN NOT NULL"
)

_KEYS: Final = {
    "node_hour": "hour_ms BIGINT NOT NULL, node_key INTEGER NOT NULL",
    "holder_hour": "hour_ms BIGINT NOT NULL, holder_key INTEGER NOT NULL",
    "node_day": "day_ms BIGINT NOT NULL, end_ms BIGINT NOT NULL, node_key INTEGER NOT NULL",
    "holder_day": "day_ms BIGINT NOT NULL, end_ms BIGINT NOT NULL, holder_key INTEGER NOT NULL",
}

SUMS: Final[tuple[str, ...]] = (
    # Whose time it is: of a run as it is described now, or, where held is false, nobody's on the nodes of a cluster.
    """CREATE TABLE holder (holder_key INTEGER PRIMARY KEY, held BOOLEAN NOT NULL, cluster VARCHAR NOT NULL,
        user_name VARCHAR, account VARCHAR, "partition" VARCHAR)""",
    # GPUs of one model that weigh the same; placed is false for those that only accounting counts (UNPLACED).
    """CREATE TABLE gpu_class (class_key INTEGER PRIMARY KEY, placed BOOLEAN NOT NULL, model VARCHAR,
        weight BIGINT NOT NULL)""",
    # The class by which a GPU is in the sums: where it turns out to be of another, they are made anew.
    "CREATE TABLE gpu_classed (gpu_key INTEGER PRIMARY KEY, class_key INTEGER NOT NULL)",
    # Hours whose GPU rows stand and whose sums do not. node_key UNPLACED: for the holders' sake alone.
    """CREATE TABLE dirty_sum (hour_ms BIGINT NOT NULL, node_key INTEGER NOT NULL, gen BIGINT NOT NULL,
        PRIMARY KEY (hour_ms, node_key))""",
    # A day is one of the site's zone, [day_ms, end_ms) in UTC: 23, 24 or 25 hours. meta.zone says which zone.
    *(f"CREATE TABLE {name} ({keys}, class_key INTEGER NOT NULL, {_FIGURES})" for name, keys in _KEYS.items()),
)
