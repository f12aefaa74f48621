"""Notes that administrators pin to a moment: maintenance, a policy, a deadline. Charts show them at their time."""

from typing import Final

import msgspec

from store.database import Cursor

KINDS: Final = ("maintenance", "policy", "deadline")
MOST_CHARACTERS: Final = 200


class BadNote(ValueError):
    """What cannot be a note, or a number that none has; the message is one sentence with the next step."""


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """A note; ``until_ms`` is None where it is of a moment."""

    note_id: int
    at_ms: int
    until_ms: int | None
    kind: str
    text: str
    who: str
    made_ms: int


def add(cursor: Cursor, *, at_ms: int, until_ms: int | None, kind: str, text: str, who: str, now_ms: int) -> int:
    """Pins a note and returns its number; raises BadNote where it says nothing or ends before it begins."""
    said = " ".join(text.split())
    if not said or len(said) > MOST_CHARACTERS:
        raise BadNote(f"A note has 1 to {MOST_CHARACTERS} characters; this one has {len(said)}.")
    if kind not in KINDS:
        raise BadNote(f"A note is of the kind {', '.join(KINDS)}, not {kind[:40]!r}.")
    if until_ms is not None and until_ms <= at_ms:
        raise BadNote("A note ends after it begins; look at --at and --until.")
    with cursor.transaction():
        number = int(cursor.scalar("SELECT nextval('note_ids')"))
        cursor.execute(
            "INSERT INTO note VALUES ($1, $2, $3, $4, $5, $6, $7)", [number, at_ms, until_ms, kind, said, who, now_ms]
        )
    return number


def remove(cursor: Cursor, number: int) -> None:
    """Takes a note away; raises BadNote where there is none of that number."""
    if not cursor.execute("DELETE FROM note WHERE note_id = $1", [number]):
        raise BadNote(f"There is no note {number}; `gpuledger note list` shows those there are.")


def listed(cursor: Cursor) -> list[Note]:
    """Returns every note, the newest moment first."""
    return cursor.rows("SELECT * FROM note ORDER BY at_ms DESC, note_id", None, Note)
