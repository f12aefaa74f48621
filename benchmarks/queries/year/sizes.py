"""Size of the synthetic year, and the keys that its tables share."""

from typing import Final

import msgspec

from store.columns import HOUR_MS

END_MS: Final = 1_796_049_150_000
"""Where the data ends: 2026-11-30 14:32:30 UTC, a Monday. Fixed, so that a kept store stays the same."""
DAY_MS: Final = 24 * HOUR_MS
CLUSTER: Final = "hpc"
INTERVAL_MS: Final = 10_000
RAW_RUN_MS: Final = 7 * HOUR_MS
SEALED_FROM_MS: Final = (END_MS // HOUR_MS - 17) * HOUR_MS
"""Raw rows are kept from here: of one run of 8 GPUs that is sealed, and of one that is hot."""
HOT_FROM_MS: Final = (END_MS // HOUR_MS - 7) * HOUR_MS


class YearSizes(msgspec.Struct, frozen=True, kw_only=True):
    """Of the cluster, its history and what of it is kept finely. Whole nodes of 8 GPUs, at least 8 nodes."""

    nodes: int = 125
    gpus: int = 8
    days: int = 365
    runs: int = 3_000_000
    users: int = 300
    accounts: int = 40
    minute_days: int = 7
    raw: bool = True
    footprints: bool = True

    @property
    def start_ms(self) -> int:
        """Where the data begins: a full hour."""
        return END_MS // HOUR_MS * HOUR_MS - self.days * DAY_MS
