"""The disk fills up under sealing, merging, retention or a backup: no row is lost or doubled, and it goes on with room.

As in test_disk_full, a limit on the size of files stands for the full disk, from the named step on.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from store import manifest
from store.backup import back_up
from store.connection import COPY_FOLDER
from store.database import Database
from store.manifest import DAY_MS
from store.merge import merge
from store.minutes import files as minute_files
from store.minutes import minutes
from store.retention import retain
from store.samples import FOLDER, MAX_TIME_MS, samples
from store.seal import seal
from store.seal_minutes import seal_minutes
from store.settings import StoreSettings
from tests.store.building import HOUR, NOW, T0
from tests.store.test_seal import AT_ONCE, fill

KEEP_A_DAY = StoreSettings(raw_days=1, minute_days=1, minute_seal_days=1)

CHILD = """
import sys
from tests.store.test_disk_full_upkeep import attempts
attempts(*sys.argv[1:])
"""
SAID = {"before the file": "cannot be sealed", **dict.fromkeys(("inbox", "database"), "could not be copied")}
"""What is said where it is not that there is no room."""

LIMITS = {"before the file": 2000, "database": 1_000_000}
"""What a file may have from that step on, where it is more than nothing: the copy of the database is cut short."""


def prepare(database: Database, work: str) -> None:
    """Leaves hours to be sealed, a day of several files to be merged, or a day that has been kept long enough."""
    fill(database)
    if work == "seal":
        return
    seal(database, AT_ONCE, NOW)
    fill(database, from_ms=T0 + 3 * HOUR, hours_long=1, seq=1)
    fill(database, from_ms=T0 + 2 * DAY_MS, hours_long=1, seq=2)
    seal(database, AT_ONCE, NOW)


def attempts(directory: str, work: str, limited_from: str) -> None:
    """Does the work on a full disk and again when there is room, and says what came of it."""
    import resource

    from store.errors import StoreError

    def limit(size: int) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))

    def step(name: str) -> None:
        if name == limited_from:
            limit(LIMITS.get(name, 1))

    with Database.open(Path(directory)) as database:
        works = {
            "seal": lambda: seal(database, AT_ONCE, NOW, step),
            "merge": lambda: merge(database, AT_ONCE, NOW, step),
            "minutes": lambda: seal_minutes(database, KEEP_A_DAY, NOW, step),
            "retention": lambda: (step("delete"), retain(database, KEEP_A_DAY, T0 + 2 * DAY_MS + HOUR))[1],
            "backup": lambda: back_up(database, Path(f"{directory}-{limited_from}"), NOW, "0", step).raw_rows,
        }
        for _ in ("full", "room"):
            try:
                print(works[work]())
            except StoreError as error:
                print(type(error).__name__, error)
            limit(resource.RLIM_INFINITY)
            limited_from = "never"


def rows(database: Database) -> list[tuple[int, int, int]]:
    with database.cursor() as cursor, samples(cursor, 0, MAX_TIME_MS):
        return cursor.tuples("SELECT gpu_key, ts_ms, power_w FROM samples ORDER BY ALL")


def of_minutes(database: Database) -> list[tuple[int, ...]]:
    with database.cursor() as cursor, minutes(cursor, 0, MAX_TIME_MS):
        return cursor.tuples("SELECT minute_ms, gpu_key, run_key, rows, held_ms FROM minutes ORDER BY ALL")


def unlisted(database: Database) -> set[Path]:
    folder = database.directory / FOLDER
    with database.cursor() as cursor:
        gone = {folder / name for (name,) in cursor.tuples("SELECT file FROM sealed_gone")}
        sealed = [*manifest.files(cursor), *minute_files(cursor, 0, MAX_TIME_MS)]
        listed = {folder / each.file for each in sealed}
    return set(folder.glob("day=*/*")) - listed - gone


@pytest.mark.parametrize(
    ("work", "step"),
    [
        *(("seal", step) for step in ("before the file", "before the list", "before the commit")),
        *(("merge", step) for step in ("before the file", "before the list", "before the commit")),
        *(("minutes", step) for step in ("before the file", "before the list", "before the commit")),
        ("retention", "delete"),
        ("backup", "inbox"),
        ("backup", "database"),
    ],
)
def test_what_finds_no_room_is_done_when_there_is(tmp_path: Path, work: str, step: str) -> None:
    with Database.open(tmp_path) as database:
        prepare(database, work)
        before, minutes_before = rows(database), of_minutes(database)
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(tmp_path), work, step],
        check=False, capture_output=True, text=True, timeout=120, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    full, room = done.stdout.splitlines()
    assert SAID.get(step, "No room to write") in full
    assert int(room) > 0
    with Database.open(tmp_path) as database:
        kept = [row for row in before if row[1] > T0 + DAY_MS] if work == "retention" else before
        assert rows(database) == kept
        assert work == "retention" or of_minutes(database) == minutes_before
        assert not (tmp_path / COPY_FOLDER).exists()
        assert unlisted(database) == set()
