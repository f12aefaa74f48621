"""Who may still open a sealed file: a file off the list goes when nobody reads who began before it was taken off."""

import contextlib
import threading
from collections.abc import Iterator


class Readers:
    """Numbers the readers of sealed files of one process, which owns the directory."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._next = 0
        self._active: set[int] = set()
        self._gone: dict[str, int] = {}

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """Whatever files were listed when this begins can be opened until it ends."""
        with self._guard:
            number = self._next
            self._next += 1
            self._active.add(number)
        try:
            yield
        finally:
            with self._guard:
                self._active.discard(number)

    def may_go(self, file: str) -> bool:
        """Returns whether a file that is off the list is out of everybody's sight. Ask after it was taken off."""
        with self._guard:
            moment = self._gone.setdefault(file, self._next)
            if any(number < moment for number in self._active):
                return False
            del self._gone[file]
            return True
