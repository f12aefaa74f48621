"""Segments that were put aside, by reason, and taken in again: a later version may read what an earlier one did not."""

from typing import Final

import msgspec

from store.database import Database
from store.ingest import ingest
from store.quarantine import FOLDER, file_name


class Aside(msgspec.Struct, frozen=True, kw_only=True):
    """Segments that were put aside for one reason. ``kept``: those whose bytes are there, to be tried again.

    The others are stored but for a part, or came when their time had gone.
    """

    reason: str
    segments: int
    kept: int
    newest_ms: int


class Tried(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the segments that were tried again; ``reasons`` are those of the refused ones."""

    stored: int
    refused: int
    rows: int
    reasons: list[str]


_REFUSED_ANEW: Final = "SELECT reason FROM quarantine WHERE name = $1 ORDER BY received_ms DESC LIMIT 1"
_OLD_REASONS: Final = """
    DELETE FROM quarantine WHERE name = $name AND received_ms < $now_ms
        AND EXISTS (FROM quarantine WHERE name = $name AND received_ms = $now_ms)"""


def aside(database: Database) -> list[Aside]:
    """Returns what is put aside, most segments first."""
    kept = {file.name for file in (database.directory / FOLDER).glob("*.seg")}
    found: dict[str, list[tuple[str, int]]] = {}
    with database.cursor() as cursor:
        for name, received_ms, reason in cursor.tuples("SELECT name, received_ms, reason FROM quarantine"):
            found.setdefault(reason, []).append((name, received_ms))
    listed = [
        Aside(
            reason=reason,
            segments=len(rows),
            kept=sum(file_name(name) in kept for name, _ in rows),
            newest_ms=max(received_ms for _, received_ms in rows),
        )
        for reason, rows in found.items()
    ]
    return sorted(listed, key=lambda each: (-each.segments, each.reason))


def try_again(database: Database, now_ms: int) -> Tried:
    """Takes in again what is put aside; what is refused again stays, with the reason of today.

    A segment is off the list once its rows are stored, so an end at any moment loses none and doubles none.
    """
    stored = rows = 0
    reasons: dict[str, int] = {}
    with database.cursor() as cursor:
        names = {file_name(name): name for (name,) in cursor.tuples("SELECT DISTINCT name FROM quarantine")}
        for file in sorted((database.directory / FOLDER).glob("*.seg")):
            name = names.get(file.name, file.stem)
            result = ingest(database, [(name, file.read_bytes())], now_ms)
            if result.quarantined:
                cursor.execute(_OLD_REASONS, {"name": name, "now_ms": now_ms})
                reason = str(cursor.scalar(_REFUSED_ANEW, [name]))
                reasons[reason] = reasons.get(reason, 0) + 1
                continue
            stored, rows = stored + 1, rows + result.rows
            with cursor.transaction():
                cursor.execute("DELETE FROM quarantine WHERE name = $1", [name])
            file.unlink(missing_ok=True)
    return Tried(stored=stored, refused=sum(reasons.values()), rows=rows, reasons=sorted(reasons))
