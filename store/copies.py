"""Files of a backup: copied and on disk, each with its checksum, and the list of them that makes a backup whole."""

import contextlib
import errno
import hashlib
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import duckdb
import msgspec

from store.connection import SEALED_FOLDER, connect, sentence
from store.database import FILE_NAME
from store.errors import StoreError
from store.parquet import sync_folder
from store.settings import StoreSettings

MANIFEST: Final = "backup.json"
"""Written last: a directory without it is no whole backup."""
FORMAT: Final = 1
OWN: Final = (FILE_NAME, f"{FILE_NAME}.wal", SEALED_FOLDER, "inbox", "quarantine", "demo.json")
"""What the store has in a data directory; all else there, such as a node's spool, is not its own."""
_PIECE: Final = 1 << 20


class CopiedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of a backup; ``path`` is from its directory on, with slashes."""

    path: str
    bytes: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What a whole backup holds. ``rows`` are those of every table, ``raw_rows`` those of all sealed files."""

    format: int = FORMAT
    version: str
    schema_version: int
    made_ms: int
    data_to_ms: int
    synthetic: bool
    rows: dict[str, int]
    raw_rows: int
    files: list[CopiedFile]

    @property
    def bytes(self) -> int:
        """Size of all files."""
        return sum(file.bytes for file in self.files)


def copy(source: Path, root: Path, path: str) -> CopiedFile:
    """Copies a file to ``root``/``path``, on disk when this returns; raises OSError."""
    target = root / path
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    digest, size = hashlib.sha256(), 0
    with source.open("rb") as read, target.open("wb") as written:
        os.fchmod(written.fileno(), 0o600)
        while piece := read.read(_PIECE):
            digest.update(piece)
            size += len(piece)
            written.write(piece)
        written.flush()
        os.fsync(written.fileno())
    return CopiedFile(path=path, bytes=size, sha256=digest.hexdigest())


def link(source: Path, root: Path, path: str) -> CopiedFile:
    """As :func:`copy` for a file that never changes: one more name for it where that can be, which takes no room."""
    target = root / path
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not second_name(source, target):
        return copy(source, root, path)
    return CopiedFile(path=path, bytes=target.stat().st_size, sha256=checksum(target))


def second_name(source: Path, target: Path) -> bool:
    """Gives a file one more name; False where it cannot have one there, as on another file system."""
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno not in {errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP}:
            raise
        return False
    return True


def checksum(file: Path) -> str:
    """Returns the SHA-256 of a file's content."""
    with file.open("rb") as read:
        return hashlib.file_digest(read, "sha256").hexdigest()


def sync_tree(root: Path) -> None:
    """Puts the names in a directory, and in those within it, on disk."""
    for folder, _, _ in os.walk(root):
        sync_folder(Path(folder))


def finish(root: Path, manifest: Manifest) -> None:
    """Makes a backup whole: its list is on disk, after everything that it lists."""
    sync_tree(root)
    part = root / f"{MANIFEST}.part"
    with part.open("wb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(manifest)))
        file.flush()
        os.fsync(file.fileno())
    part.rename(root / MANIFEST)
    sync_folder(root)


def read_manifest(root: Path) -> Manifest:
    """Returns what a backup says it holds; raises StoreError where it is not whole, or not of a known format."""
    try:
        found = msgspec.json.decode((root / MANIFEST).read_bytes(), type=Manifest)
    except FileNotFoundError as error:
        raise StoreError(
            f"{root} holds no whole backup: {MANIFEST} is missing, so it was interrupted, or is none; "
            "name another directory."
        ) from error
    except (OSError, msgspec.DecodeError) as error:
        raise StoreError(f"{root / MANIFEST} cannot be read ({error}); name another backup.") from error
    if found.format != FORMAT:
        raise StoreError(f"{root} is a backup of a later kind; restore it with GPU Ledger {found.version} or later.")
    return found


def check_rows(folder: Path, rows: Mapping[str, int]) -> None:
    """Opens a copied database and counts; raises StoreError where it cannot be read or a table has other rows."""
    try:
        with contextlib.closing(connect(folder / FILE_NAME, read_only=True, settings=StoreSettings())) as connection:
            for table, wanted in rows.items():
                [(found,)] = connection.execute(f'SELECT count(*) FROM "{table}"').fetchall()  # noqa: S608 - listed
                if found != wanted:
                    raise StoreError(f"The copy of table {table} has {found} rows and not {wanted}; make another.")
    except duckdb.Error as error:
        raise sentence(error, folder) from error


def refuse_without_room(folder: Path, needed: int, kept_free: int = 64 << 20) -> None:
    """Raises StoreError where ``folder`` has no room for so many bytes."""
    free = shutil.disk_usage(folder).free
    if free < needed + kept_free:
        raise StoreError(
            f"{folder} has {free >> 20} MiB free and {(needed + kept_free) >> 20} MiB are needed; "
            "free some space, or name another directory."
        )
