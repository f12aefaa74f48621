"""Memory for what is being received: what does not fit in is refused at once, so that many bodies cannot fill it."""

import contextlib
from collections.abc import Iterator
from typing import Final

from store.errors import Overloaded

IN_FLIGHT_BYTES: Final = 256 << 20
"""Segments of 10,000 nodes that deliver in the same second, or 8 of the largest."""


class Room:
    """Hands out shares of some bytes. For one event loop, hence without a lock."""

    def __init__(self, most_bytes: int = IN_FLIGHT_BYTES) -> None:
        self._most_bytes = most_bytes
        self._free_bytes = most_bytes

    @contextlib.contextmanager
    def share(self) -> Iterator["Share"]:
        """Lends a share for as long as the block lasts."""
        share = Share(self)
        try:
            yield share
        finally:
            self._free_bytes += share.held_bytes

    def lend(self, size: int) -> None:
        """Raises Overloaded where so much is not free."""
        if size > self._free_bytes:
            raise Overloaded(self._most_bytes)
        self._free_bytes -= size


class Share:
    """What one request holds."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self.held_bytes = 0

    def hold(self, size: int) -> None:
        """Holds ``size`` bytes in all from now on, where it is not more already; raises Overloaded."""
        more = max(0, size - self.held_bytes)
        self._room.lend(more)
        self.held_bytes += more
