"""A backup of a data directory, made while the hub goes on: as it was at one moment, with every acknowledged segment.

The inbox is copied before the database: a segment that is acknowledged and no longer in the inbox is in the database,
and one that is in both is stored once, by its name. Writers wait while the file of the database is copied on its own
disk, and for nothing else; readers and those who deliver do not wait. The sealed files that it lists are kept by a
second name for as long as the rest takes, since merging and retention go on.
"""

import contextlib
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from store import migrations, minutes
from store.aside import keep_sealed, working
from store.connection import SEALED_FOLDER
from store.copies import CopiedFile, Manifest, check_rows, copy, finish, link, refuse_without_room
from store.database import FILE_NAME, Cursor, Database
from store.dirty import as_of_ms
from store.errors import StoreError
from store.samples import MAX_TIME_MS

Step = Callable[[str], None]
"""Hears what is done next; what it raises ends the backup, which then is not whole."""
_ASIDE: Final = ("inbox", "quarantine")


class _State(msgspec.Struct, frozen=True):
    """What the database holds at one moment."""

    rows: dict[str, int]
    sealed: list[str]
    raw_rows: int
    data_to_ms: int
    schema_version: int


def back_up(database: Database, target: Path, now_ms: int, version: str, step: Step = lambda _: None) -> Manifest:
    """Makes a backup in ``target``, which is empty or does not exist, and returns what it holds.

    Raises StoreError where the directory is in use, has no room or cannot be written.
    """
    data = database.directory
    try:
        _refuse_target(target, data)
        target.mkdir(mode=0o700, parents=True, exist_ok=True)
        size = sum(file.stat().st_size for file in data.glob(f"{FILE_NAME}*"))
        for folder in (data, target):
            refuse_without_room(folder, size)
        step("inbox")
        files = dict(_aside(data, target))
        with working(database) as place:
            step("database")
            with database.readers.reading():
                state = _copy_database(database, place)
            step("its copy")
            files |= {file.name: copy(file, target, file.name) for file in place.glob(f"{FILE_NAME}*")}
            for name in state.sealed:
                step(f"sealed file {name}")
                path = f"{SEALED_FOLDER}/{name}"
                files[path] = link(place / path, target, path)
        files |= dict(_aside(data, target, known=frozenset(files)))
        whole = Manifest(
            version=version,
            schema_version=state.schema_version,
            made_ms=now_ms,
            data_to_ms=state.data_to_ms,
            synthetic=database.synthetic,
            rows=state.rows,
            raw_rows=state.raw_rows,
            files=list(files.values()),
        )
        finish(target, whole)
    except OSError as error:
        raise StoreError(
            f"The backup in {target} is not whole ({error.strerror or error}: {error.filename or target}); "
            "remove it and make another."
        ) from error
    return whole


def _refuse_target(target: Path, data: Path) -> None:
    if target.resolve() == data.resolve() or target.resolve().is_relative_to(data.resolve()):
        raise StoreError(f"{target} lies in the data directory, with which it would be lost; name another directory.")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise StoreError(f"{target} is not empty; name a directory that is, or does not exist.")


def _aside(data: Path, target: Path, known: frozenset[str] = frozenset()) -> Iterator[tuple[str, CopiedFile]]:
    """Copies the inbox, and what could not be read; of what is copied already only the rest."""
    names = [f"{folder}/{file.name}" for folder in _ASIDE for file in sorted((data / folder).glob("[!.]*"))]
    for path in [*names, *(["demo.json"] if (data / "demo.json").exists() else [])]:
        # Its segments may have been stored since, and the file with them: the database then has them.
        with contextlib.suppress(FileNotFoundError):
            if path not in known:
                yield path, copy(data / path, target, path)


def _copy_database(database: Database, place: Path) -> _State:
    """Copies the file and its log as they lie there, while nobody writes: as a kill at that moment would leave them.

    Segments are acknowledged all the while, they wait in the inbox. Looking at a copy costs a fraction of what writing
    its rows anew does (COPY FROM DATABASE), and leaves the cores to the hub.
    """
    with database.cursor() as cursor, database.writer, cursor.snapshot():
        state = _state(cursor, place)
        files = [file for file in database.directory.glob(f"{FILE_NAME}*") if file.is_file()]
        # Another process reads them: were they opened and closed here, DuckDB's lock on its file would be gone (POSIX).
        done = subprocess.run(
            ["cp", "--reflink=auto", "--", *files, place], capture_output=True, text=True, check=False
        )
    if done.returncode:
        raise StoreError(
            f"The database could not be copied ({done.stderr.strip()}); mend that and make another backup."
        )
    check_rows(place, state.rows)
    return state


def _state(cursor: Cursor, place: Path) -> _State:
    """Returns what the transaction sees, and gives the files that it lists a second name."""
    own = "SELECT table_name FROM duckdb_tables() WHERE database_name = current_database() AND NOT internal"
    tables = sorted(name for (name,) in cursor.tuples(own))
    listed = keep_sealed(cursor, place, 0, MAX_TIME_MS)
    return _State(
        rows={name: cursor.scalar(f'SELECT count(*) FROM "{name}"') for name in tables},  # noqa: S608 - our tables
        sealed=[each.file for each in listed] + [each.file for each in minutes.files(cursor, 0, MAX_TIME_MS)],
        raw_rows=sum(each.rows for each in listed),
        data_to_ms=as_of_ms(cursor),
        schema_version=migrations.version(cursor),
    )
