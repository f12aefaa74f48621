"""Minutes that are a week old lie in files, and readers, late data and retention see one relation."""

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from store import manifest
from store.backup import back_up
from store.database import Database
from store.errors import StoreError
from store.manifest import DAY_MS
from store.minutes import minutes
from store.retention import retain
from store.samples import FOLDER, MAX_TIME_MS
from store.seal_minutes import seal_minutes
from store.settings import StoreSettings
from tests.store.building import HOUR, MINUTE, T0, empty_store, gpu, hold, hours, segment, steady, store

SETTINGS = StoreSettings(minute_seal_days=7)
NOW = T0 + 9 * DAY_MS
STEPS = ("before the file", "before the list", "before the commit", "after the commit")


def fill(database: Database, days: int = 9) -> None:
    """Two nodes, an hour a day, one run a day."""
    segments = []
    for day in range(days):
        from_ms = T0 + day * DAY_MS
        for node in ("n1", "n2"):
            rows = steady(from_ms, from_ms + HOUR, 0, 0, MINUTE, util_pct=500, power_w=3000 + day)
            held = hold(f"{100 + day}", from_ms, from_ms + HOUR)
            segments.append(segment(rows, node=node, seq=day, devices=[gpu(f"GPU-{node}")], holdings=[held]))
    store(database, *segments)


def late(node: str = "n1", seq: int = 50) -> Any:
    """An hour of the first day that comes when its minutes are sealed."""
    rows = steady(T0 + 2 * HOUR, T0 + 3 * HOUR, 0, None, MINUTE, util_pct=100)
    return segment(rows, node=node, seq=seq, devices=[gpu(f"GPU-{node}")])


def everything(database: Database, from_ms: int = 0, to_ms: int = MAX_TIME_MS) -> list[dict[str, Any]]:
    """Every minute with names in the place of keys."""
    with database.cursor() as cursor, minutes(cursor, from_ms, to_ms):
        found = cursor.arrow(
            """
            SELECT m.* EXCLUDE (node_key, gpu_key, run_key), g.uuid, r.job_id_raw FROM minutes m
                LEFT JOIN gpu g USING (gpu_key) LEFT JOIN run r USING (run_key)
            WHERE minute_ms >= $1 AND minute_ms < $2 ORDER BY ALL""",
            [from_ms, to_ms],
        )
    return found.to_pylist()


def in_table(database: Database) -> int:
    with database.cursor() as cursor:
        return int(cursor.scalar("SELECT count(*) FROM gpu_minute"))


def listed(database: Database) -> list[Path]:
    with database.cursor() as cursor:
        names = cursor.tuples("SELECT file FROM sealed_minute ORDER BY file")
    return [database.directory / FOLDER / name for (name,) in names]


def on_disk(database: Database) -> list[Path]:
    return sorted((database.directory / FOLDER).glob("day=*/*"))


def test_sealed_minutes_are_the_same_minutes(database: Database) -> None:
    fill(database)
    before = everything(database)
    assert len(before) == in_table(database) == 9 * 120
    assert seal_minutes(database, SETTINGS, NOW) == 2 * 120 - 120  # of 9 days, one is older than a week before today
    assert in_table(database) == 8 * 120
    assert everything(database) == before
    assert everything(database, T0, T0 + DAY_MS) == before[:120]
    assert everything(database, T0 + 8 * DAY_MS, NOW) == before[-120:]
    assert seal_minutes(database, SETTINGS, NOW) == 0
    assert on_disk(database) == listed(database)


def test_late_data_gives_the_same_minutes_as_data_in_time(tmp_path: Path) -> None:
    in_time, too_late = (empty_store(tmp_path / name) for name in ("first", "second"))
    store(in_time, late())
    fill(in_time)
    fill(too_late)
    seal_minutes(too_late, SETTINGS, NOW)
    [old] = listed(too_late)
    store(too_late, late())
    assert everything(too_late) == everything(in_time)
    assert hours(too_late) == hours(in_time)
    # What came back gets a file of its own; the old one stays for the other node.
    assert seal_minutes(too_late, SETTINGS, NOW) == 120
    assert everything(too_late) == everything(in_time)
    assert len(listed(too_late)) == 2
    store(too_late, late("n2"))
    store(in_time, late("n2"))
    assert seal_minutes(too_late, SETTINGS, NOW) == 120
    assert everything(too_late) == everything(in_time)
    # Nothing in the old file counts any more, and it goes.
    seal_minutes(too_late, SETTINGS, NOW)
    assert not old.exists()
    assert on_disk(too_late) == listed(too_late)
    assert everything(too_late) == everything(in_time)


def test_minutes_that_change_while_they_are_written_stay_as_they_are_then(database: Database) -> None:
    fill(database)

    def between(step: str) -> None:
        if step == "before the list":
            store(database, late())

    assert seal_minutes(database, SETTINGS, NOW, between) == 0
    assert on_disk(database) == listed(database) == []
    before = everything(database)
    assert seal_minutes(database, SETTINGS, NOW) == 180
    assert everything(database) == before


def test_a_day_that_waits_to_be_computed_anew_is_left(database: Database) -> None:
    fill(database)
    with database.cursor() as cursor:
        cursor.execute("INSERT INTO dirty_hour VALUES ($1, 1, 1, $1, $2)", [T0 + HOUR, T0 + 2 * HOUR])
    assert seal_minutes(database, SETTINGS, NOW) == 0


_ENDING = """
import os, signal, sys
from pathlib import Path
from store.backup import back_up
from store.database import Database
from store.seal_minutes import seal_minutes
from store.settings import StoreSettings

def step(name):
    if name == sys.argv[3]:
        os.kill(os.getpid(), signal.SIGKILL)

with Database.open(Path(sys.argv[1])) as database:
    seal_minutes(database, StoreSettings(), int(sys.argv[2]), step)
"""


@pytest.mark.parametrize("step", STEPS)
def test_a_kill_at_any_step_loses_and_doubles_nothing(tmp_path: Path, step: str) -> None:
    with Database.open(tmp_path) as database:
        fill(database)
        before = everything(database)
    ended = subprocess.run([sys.executable, "-c", _ENDING, str(tmp_path), str(NOW), step], check=False)
    assert ended.returncode == -signal.SIGKILL
    with Database.open(tmp_path) as database:
        with database.cursor() as cursor:
            manifest.remove_unlisted(cursor)
        assert everything(database) == before
        assert on_disk(database) == listed(database)
        seal_minutes(database, SETTINGS, NOW)
        assert everything(database) == before
        assert in_table(database) == 8 * 120


def test_sealed_minutes_go_by_their_age(database: Database) -> None:
    fill(database)
    seal_minutes(database, SETTINGS, NOW)
    store(database, late())
    kept = StoreSettings(raw_days=1, minute_days=8)
    retain(database, kept, NOW)
    assert len(listed(database)) == 1
    retain(database, StoreSettings(raw_days=1, minute_days=7), NOW)
    assert listed(database) == on_disk(database) == []
    assert len(everything(database)) == 8 * 120
    with database.cursor() as cursor:
        assert cursor.tuples("FROM thawed_minute") == []


def test_what_cannot_be_written_stays_and_is_said(database: Database) -> None:
    fill(database)
    (database.directory / FOLDER).write_text("in the way")
    with pytest.raises(StoreError, match="cannot be sealed"):
        seal_minutes(database, SETTINGS, NOW)
    assert in_table(database) == 9 * 120


def test_a_backup_holds_them(database: Database, tmp_path: Path) -> None:
    fill(database)
    seal_minutes(database, SETTINGS, NOW)
    [file] = listed(database)
    back_up(database, tmp_path / "backup", NOW, "0")
    assert (tmp_path / "backup" / FOLDER / file.relative_to(database.directory / FOLDER)).stat().st_size > 0
