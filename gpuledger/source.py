"""Whom a command asks."""

import shlex
from pathlib import Path

import msgspec


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """The data directory where there is one, then the hub at ``hub`` where that is not empty."""

    data: Path | None = None
    hub: str = ""

    @property
    def option(self) -> str:
        """What a command that is printed to be copied needs to ask the same; empty where the configuration says it."""
        if self.data is None:
            return f" --hub {shlex.quote(self.hub)}"
        return "" if self.hub else f" --data {shlex.quote(str(self.data))}"
