"""Bytes that no segment could be made of: kept beside the database with the reason, out of the way of the rest."""

import hashlib
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from store.database import Cursor
from store.errors import DiskFull

FOLDER: Final = "quarantine"
_LONGEST: Final = 240
"""Characters of a file's name before its ending: it has at most 255 bytes, and a node's name alone may have 253."""


class Refusal(msgspec.Struct, frozen=True):
    """What was refused: the name it came under, its bytes (None: they are stored, all but a part), and one sentence."""

    name: str
    data: bytes | None
    reason: str


def keep(cursor: Cursor, refused: Sequence[Refusal], received_ms: int) -> None:
    """Writes each to DIR/quarantine and its reason to the table, inside the caller's transaction.

    The files are on disk when this returns, so the inbox may forget them once the transaction is. Delivered twice, a
    segment is kept once.
    """
    directory = cursor.database.directory / FOLDER
    for refusal in refused:
        if refusal.data is not None:
            _write(directory, file_name(refusal.name), refusal.data)
        cursor.execute(
            "INSERT INTO quarantine SELECT $1, $2, $3 "
            "WHERE NOT EXISTS (FROM quarantine WHERE name = $1 AND reason = $3)",
            [refusal.name, received_ms, refusal.reason],
        )


def file_name(name: str) -> str:
    """Returns the name of the file of a segment that is put aside, one that no other has."""
    plain = re.sub(r"[^A-Za-z0-9._~-]", "_", name)
    if not plain or plain != name or len(plain) > _LONGEST:
        plain = f"{plain[: _LONGEST - 17]}-{hashlib.sha256(name.encode()).hexdigest()[:16]}"
    return f"{plain}.seg"


def _write(directory: Path, name: str, data: bytes) -> None:
    try:
        directory.mkdir(mode=0o700, exist_ok=True)
        with (directory / f".{name}.tmp").open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        (directory / f".{name}.tmp").rename(directory / name)
    except OSError as error:
        raise DiskFull(directory, error.strerror or str(error)) from error
