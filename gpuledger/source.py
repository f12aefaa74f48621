"""Whom a command asks."""

from pathlib import Path

import msgspec


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """The data directory where there is one, then the hub at ``hub`` where that is not empty."""

    data: Path | None = None
    hub: str = ""
