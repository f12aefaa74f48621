"""What of the synthetic cluster can be chosen."""

import msgspec

WHOLE_MINUTE_S = 60


class DemoSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Size, length and seed of a synthetic cluster. Raises ValueError with one sentence on a value that cannot be."""

    nodes: int = 16
    gpus: int = 8
    days: int = 14
    interval_s: int = 30
    seed: int = 1

    def __post_init__(self) -> None:
        for name, low, high in (("nodes", 1, 2000), ("gpus", 1, 16), ("days", 1, 400), ("seed", 0, 2**31 - 1)):
            value = getattr(self, name)
            if not low <= value <= high:
                raise ValueError(f"demo: {name} must be between {low} and {high}, not {value}")
        if self.interval_s < 5 or WHOLE_MINUTE_S % self.interval_s:
            raise ValueError(f"demo: interval must be 5, 6, 10, 12, 15, 20, 30 or 60 seconds, not {self.interval_s}")
