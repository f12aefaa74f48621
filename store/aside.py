"""A place apart for whoever reads for long: sealed files there have a second name, which merging does not take away."""

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from store import manifest
from store.connection import COPY_FOLDER, SEALED_FOLDER
from store.copies import second_name
from store.database import Cursor, Database
from store.errors import StoreError
from store.manifest import SealedFile


@contextlib.contextmanager
def working(database: Database) -> Iterator[Path]:
    """Makes DIR/copying, for one backup or export at a time, and removes it; raises StoreError where one is made."""
    if not database.copier.acquire(blocking=False):
        raise StoreError("A backup or an export is being made; make this one when that is done.")
    folder = database.directory / COPY_FOLDER
    try:
        remove_working(database.directory)
        (folder / SEALED_FOLDER).mkdir(mode=0o700, parents=True)
        yield folder
    finally:
        remove_working(database.directory)
        database.copier.release()


def remove_working(data: Path) -> None:
    """Removes the place apart, as a crash leaves it; nobody must be at work there."""
    shutil.rmtree(data / COPY_FOLDER, ignore_errors=True)


def keep_sealed(cursor: Cursor, folder: Path, from_ms: int, to_ms: int) -> list[SealedFile]:
    """Gives the files with rows in (from_ms, to_ms] a second name in ``folder``; call it in a transaction's beginning.

    What the transaction sees of the list then stays readable for as long as it lasts.
    """
    listed = [each for each in manifest.files(cursor) if each.to_ms > from_ms and each.from_ms <= to_ms]
    for each in listed:
        source, name = cursor.database.directory / SEALED_FOLDER / each.file, folder / SEALED_FOLDER / each.file
        name.parent.mkdir(exist_ok=True)
        if not second_name(source, name):
            shutil.copyfile(source, name)
    return listed
