"""[store]: limits of the database and the inbox, and the thresholds of a GPU's state."""

import msgspec


class StateSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """[store.states]: where active, low, idle and memory held begin (docs/definitions.md, section 2)."""

    active_pct: float = 25.0
    """Utilization from which a GPU is active."""
    low_pct: float = 1.0
    """Utilization from which a GPU is low; below it is idle."""
    memory_margin_mib: int = 256
    """Memory above the baseline that counts as held, where 1 % of the GPU's memory is more than this."""
    memory_margin_ratio: float = 0.01
    """Memory above the baseline that counts as held, as a share of the GPU's memory."""
    parked_ratio: float = 0.5
    """Share of the GPU's memory from which held memory of an idle GPU counts as parked."""

    def __post_init__(self) -> None:
        if not 0 < self.low_pct <= self.active_pct <= 100:
            raise ValueError("store.states: 0 < low_pct <= active_pct <= 100 is needed")
        if not (0 <= self.memory_margin_ratio <= 1 and 0 < self.parked_ratio <= 1 and self.memory_margin_mib >= 0):
            raise ValueError("store.states: ratios lie between 0 and 1, memory_margin_mib is not negative")


class StoreSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """[store]: one process owns the DuckDB file; these bound what it takes of the machine."""

    threads: int = 0
    """Threads of the database; 0 takes every core."""
    memory_limit_mib: int = 0
    """Memory the database may use before it spills to disk; 0 takes DuckDB's own limit, 80 % of the machine."""
    checkpoint_mib: int = 96
    """Size of the write-ahead log at which it is folded into the file. A start after a crash reads it again, in half a
    second at 96 MiB."""
    min_free_mib: int = 512
    """Free disk space below which segments are no longer accepted."""
    max_backlog_mib: int = 4096
    """Segments waiting in the inbox beyond which no more are accepted."""
    max_segment_mib: int = 32
    """Largest segment that is accepted."""
    sealed_dir: str = ""
    """Directory of the sealed files; empty takes raw/ in the data directory. It may lie on a network file system, where
    the database must not."""
    seal_after_s: float = 3600.0
    """Age from which raw rows leave the database for Parquet files, by full hours."""
    merge_after_s: float = 21_600.0
    """Time after the end of a day at which its files become one, when nothing has come for as long."""
    raw_days: int = 30
    """Days for which raw rows are kept."""
    minute_seal_days: int = 7
    """Days after which minutes leave the database for Parquet files, by the day."""
    minute_days: int = 180
    """Days for which minutes are kept: charts of older runs are drawn by the hour."""
    hour_days: int = 1826
    """Days for which hours, what is made of them and footprints are kept, and with them every figure of a period."""
    states: StateSettings = StateSettings()

    def __post_init__(self) -> None:
        if min(self.threads, self.memory_limit_mib, self.min_free_mib) < 0:
            raise ValueError("store: threads, memory_limit_mib and min_free_mib are not negative")
        if min(self.checkpoint_mib, self.max_backlog_mib, self.max_segment_mib) < 1:
            raise ValueError("store: checkpoint_mib, max_backlog_mib and max_segment_mib are at least 1")
        if not 1 <= self.raw_days <= self.minute_days <= self.hour_days:
            raise ValueError("store: 1 <= raw_days <= minute_days <= hour_days is needed")
        if self.minute_seal_days < 1:
            raise ValueError("store: minute_seal_days is at least 1")
        if self.seal_after_s < 0 or self.merge_after_s < 0:
            raise ValueError("store: seal_after_s and merge_after_s are not negative")
