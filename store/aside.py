"""A place apart for whoever reads for long: sealed files there have a second name, which merging does not take away."""

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from store import manifest, minutes
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
    """Gives the files with rows or minutes in (from_ms, to_ms] a second name in ``folder``; returns those of rows.

    Call it in a transaction's beginning: what the transaction sees of the list stays readable for as long as it lasts.
    """
    listed = [each for each in manifest.files(cursor) if each.to_ms > from_ms and each.from_ms <= to_ms]
    names = [each.file for each in listed] + [each.file for each in minutes.files(cursor, from_ms, to_ms)]
    for file in names:
        source, name = cursor.database.directory / SEALED_FOLDER / file, folder / SEALED_FOLDER / file
        name.parent.mkdir(exist_ok=True)
        if not second_name(source, name):
            shutil.copyfile(source, name)
    return listed
