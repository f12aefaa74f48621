"""Deliveries that the hub refused: a node with a wrong token is otherwise seen by nobody but itself."""

import threading
from collections import defaultdict
from collections.abc import Mapping
from typing import Final

KEPT_MS: Final = 10 * 60_000
"""A refused node tries again once a minute; what it does not do for this long is over."""
MAX_SOURCES: Final = 1000
"""Anybody may knock; beyond this many a source is one of the others."""
SHOWN: Final = 5
REASONS: Final[Mapping[int, str]] = {
    400: "not a whole segment",
    401: "without a good token",
    408: "too slow",
    409: "synthetic where real data is, or the reverse",
    413: "too large",
    503: "for which there was no room",
}
NO_ROOM: Final = 503


class TurnedAway:
    """Counts refusals by reason and source; may be used by several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: dict[tuple[int, str], list[tuple[int, int]]] = {}
        self._no_room = ""

    def count(self, status: int, source: str, now_ms: int, said: str = "") -> None:
        """Counts one delivery and what it was told; a status that REASONS does not have says nothing of deliveries."""
        if status not in REASONS:
            return
        with self._lock:
            if status == NO_ROOM:
                self._no_room = said
            self._forget(now_ms)
            if (status, source) not in self._seen and len(self._seen) >= MAX_SOURCES:
                source = "others"
            minutes = self._seen.setdefault((status, source), [])
            minute_ms = now_ms - now_ms % 60_000
            if minutes and minutes[-1][0] == minute_ms:
                minutes[-1] = (minute_ms, minutes[-1][1] + 1)
            else:
                minutes.append((minute_ms, 1))

    def sentence(self, now_ms: int) -> str:
        """Returns what was refused in the last 10 minutes, by reason and from where; empty where nothing was."""
        with self._lock:
            self._forget(now_ms)
            by_reason: dict[int, list[tuple[str, int]]] = defaultdict(list)
            for (status, source), minutes in self._seen.items():
                by_reason[status].append((source, sum(count for _, count in minutes)))
        parts = [_part(status, sources) for status, sources in sorted(by_reason.items())]
        if not parts:
            return ""
        # What a node is refused for is to be seen there, and no room here.
        if by_reason.keys() - {NO_ROOM}:
            parts.append("run `gpuledger doctor` there")
        if NO_ROOM in by_reason:
            parts.append(self._no_room.rstrip("."))
        return f"Deliveries were refused in the last {KEPT_MS // 60_000} min: {'; '.join(parts)}."

    def _forget(self, now_ms: int) -> None:
        since_ms = now_ms - KEPT_MS
        for key, minutes in list(self._seen.items()):
            while minutes and minutes[0][0] < since_ms:
                del minutes[0]
            if not minutes:
                del self._seen[key]


def _part(status: int, sources: list[tuple[str, int]]) -> str:
    names = sorted(name for name, _ in sources)
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{sum(count for _, count in sources)} {REASONS[status]} ({status}) from {', '.join(names[:SHOWN])}{more}"
