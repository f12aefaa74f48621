"""Sealing moves rows from the hot table into Parquet files: the same rows, whatever happens in between."""

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from store import manifest
from store.database import Database
from store.errors import StoreError
from store.manifest import DAY_MS
from store.merge import merge
from store.retention import retain
from store.samples import FOLDER, count, samples
from store.schema import ROW_COLUMNS
from store.seal import seal
from store.segment import Segment
from store.settings import StoreSettings
from tests.store.building import HOUR, MINUTE, NOW, T0, gpu, hold, hours, segment, steady, store, told

AT_ONCE = StoreSettings(seal_after_s=0, merge_after_s=0)
STEPS = ("before the file", "before the list", "before the commit", "after the commit")


def fill(database: Database, *, from_ms: int = T0, hours_long: int = 3, seq: int = 0, node: str = "n1") -> None:
    """A run that holds one of two GPUs."""
    end_ms = from_ms + hours_long * HOUR
    rows = [each for device in (0, 1) for each in steady(from_ms, end_ms, device, 0 if device == 0 else None, MINUTE)]
    readings = [each | {"util_pct": 10 * (number % 90), "power_w": 3000 + number} for number, each in enumerate(rows)]
    devices = [gpu(f"{node}-{number}") for number in (0, 1)]
    held = hold(f"{100 + seq}", from_ms, end_ms, devices=(0,))
    store(database, segment(readings, node=node, seq=seq, devices=devices, holdings=[held]))


def everything(database: Database) -> list[dict[str, Any]]:
    with database.cursor() as cursor, samples(cursor, 0, NOW):
        return cursor.arrow("SELECT * FROM samples ORDER BY ALL").to_pylist()


def listed(database: Database) -> list[Path]:
    with database.cursor() as cursor:
        return [database.directory / FOLDER / each.file for each in manifest.files(cursor)]


def hot(database: Database) -> int:
    with database.cursor() as cursor:
        return int(cursor.scalar("SELECT count(*) FROM hot"))


def test_sealed_rows_are_the_same_rows(database: Database) -> None:
    fill(database)
    before = everything(database)
    assert seal(database, AT_ONCE, NOW) == len(before) == 360
    assert hot(database) == 0
    assert everything(database) == before
    with database.cursor() as cursor:
        assert count(cursor) == 360


def test_any_parquet_tool_reads_a_file_without_a_lock(database: Database) -> None:
    fill(database)
    seal(database, AT_ONCE, NOW)
    [file] = listed(database)
    found = pq.read_table(file, partitioning=None)
    assert tuple(found.column_names) == (*ROW_COLUMNS, "util_pct", "power_w")  # what no row has takes no place
    places = list(zip(*(found[name].to_pylist() for name in ("node_key", "gpu_key", "ts_ms")), strict=True))
    assert places == sorted(places)
    assert "2026-11-23" in str(file)


def test_hours_that_are_not_over_stay_hot(database: Database) -> None:
    fill(database, hours_long=3)
    assert seal(database, StoreSettings(seal_after_s=3600), NOW) == 240
    assert hot(database) == 120
    assert seal(database, StoreSettings(seal_after_s=3600), NOW) == 0


def test_late_rows_get_a_file_of_their_own_and_the_day_becomes_one(database: Database) -> None:
    fill(database, from_ms=T0 + 2 * HOUR)
    seal(database, AT_ONCE, NOW)
    fill(database, from_ms=T0, hours_long=1, seq=1)
    fill(database, from_ms=T0 + 24 * HOUR, hours_long=1, seq=2)
    seal(database, AT_ONCE, NOW)
    before, told_hours = everything(database), hours(database)
    old = listed(database)
    assert len(old) == 3  # two of the first day, one of the next

    assert merge(database, AT_ONCE, NOW) == 480
    assert everything(database) == before
    assert hours(database) == told_hours
    assert len(listed(database)) == 2
    assert merge(database, AT_ONCE, NOW) == 0

    assert sum(path.exists() for path in old) == 1


def test_a_day_to_which_rows_still_come_is_not_merged(database: Database) -> None:
    fill(database)
    seal(database, AT_ONCE, NOW)
    fill(database, from_ms=T0 + 4 * HOUR, hours_long=1, seq=1)
    fill(database, from_ms=T0 + 24 * HOUR, hours_long=1, seq=2)
    seal(database, AT_ONCE, NOW)
    waiting = StoreSettings(seal_after_s=0, merge_after_s=3600)
    assert merge(database, waiting, NOW + 3599_000) == 0
    assert merge(database, waiting, NOW + 3600_000) == 480


def test_late_rows_change_the_hours_that_are_sealed(database: Database) -> None:
    fill(database)
    seal(database, AT_ONCE, NOW)
    held = [each for each in hours(database) if each["run"]]
    assert {each["active_ms"] + each["low_ms"] + each["idle_ms"] for each in held} == {HOUR}
    store(database, segment(steady(T0, T0 + HOUR, 1, None, MINUTE), node="n1", seq=9, devices=[gpu("a"), gpu("b")]))
    assert [each for each in hours(database) if each["run"]] == held
    assert len([each for each in hours(database) if each["gpu"] == "b"]) == 1


def two_sights(database: Database) -> Segment:
    """One node saw a run early, another one late: two runs, until the segment returned says that they are one."""
    late = T0 + 5 * HOUR
    early = steady(T0, T0 + HOUR, 0, 0, MINUTE)
    store(database, segment(early, holdings=[hold()]))
    found = hold(start_ms=late, source="cgroup")
    rows = steady(late, late + HOUR, 0, 0, MINUTE)
    store(database, segment(rows, node="n2", devices=[gpu("GPU-2")], holdings=[found]))
    assert len(runs(database)) == 2
    spans_both = [told(end_ms=T0 + 6 * HOUR, alloc_gpus=2)]
    return segment(node="ctl", devices=(), accounting=spans_both, first_ms=T0 + 6 * HOUR)


def runs(database: Database) -> set[int]:
    with database.cursor() as cursor:
        return {key for (key,) in cursor.tuples("SELECT run_key FROM run")}


def in_files(database: Database) -> set[int | None]:
    keys: set[int | None] = set()
    for file in listed(database):
        keys.update(pq.read_table(file, partitioning=None)["run_key"].to_pylist())
    return keys


def test_a_run_found_to_be_another_after_sealing_keeps_its_rows(database: Database) -> None:
    both = two_sights(database)
    seal(database, AT_ONCE, NOW)
    store(database, both)
    [run_key] = runs(database)
    assert in_files(database) != {run_key}
    assert {each["run_key"] for each in everything(database)} == {run_key}
    assert sum(each["held_ms"] for each in hours(database)) == 12 * HOUR

    store(database, segment(steady(T0 + 3 * HOUR, T0 + 4 * HOUR, 0, None, MINUTE), seq=1))
    store(database, segment(node="n1", seq=2, first_ms=T0 + 30 * HOUR, last_ms=T0 + 30 * HOUR))
    seal(database, AT_ONCE, NOW)
    assert merge(database, AT_ONCE, NOW) == 180
    assert in_files(database) == {run_key}  # also what came as nobody's while the run held the GPU


def test_rows_that_change_while_they_are_written_stay_hot_as_they_are_then(database: Database) -> None:
    both = two_sights(database)

    def between(step: str) -> None:
        if step == "before the list":
            store(database, both)

    rows = hot(database)
    assert seal(database, AT_ONCE, NOW, between) == 0
    assert hot(database) == rows
    assert listed(database) == list((database.directory / FOLDER).glob("day=*/*")) == []
    assert seal(database, AT_ONCE, NOW) == rows
    assert in_files(database) == runs(database)


def test_a_file_of_an_earlier_version_lacks_the_newest_metric(database: Database) -> None:
    fill(database)
    seal(database, AT_ONCE, NOW)
    [file] = listed(database)
    pq.write_table(pq.read_table(file, partitioning=None).drop_columns("power_w"), file)
    with database.cursor() as cursor:
        cursor.execute("UPDATE sealed SET columns = $1", [",".join((*ROW_COLUMNS, "util_pct"))])
    fill(database, from_ms=T0 + 3 * HOUR, hours_long=1, seq=1)
    assert sum(each["power_w"] is None for each in everything(database)) == 360
    assert len(everything(database)) == 480
    store(database, segment(node="n1", seq=2, first_ms=T0 + 30 * HOUR, last_ms=T0 + 30 * HOUR))
    seal(database, AT_ONCE, NOW)
    assert merge(database, AT_ONCE, NOW) == 480
    assert len(everything(database)) == 480


def test_what_cannot_be_written_stays_hot_and_is_said(database: Database) -> None:
    fill(database)
    (database.directory / FOLDER).write_text("in the way")
    with pytest.raises(StoreError, match="cannot be sealed"):
        seal(database, AT_ONCE, NOW)
    assert hot(database) == 360
    (database.directory / FOLDER).unlink()
    assert seal(database, AT_ONCE, NOW) == 360


ENDING = """
import os, signal, sys
from pathlib import Path
from store.database import Database
from store.merge import merge
from store.seal import seal
from store.settings import StoreSettings

def step(name):
    if name == sys.argv[3]:
        os.kill(os.getpid(), signal.SIGKILL)

with Database.open(Path(sys.argv[1])) as database:
    {"seal": seal, "merge": merge}[sys.argv[2]](database, StoreSettings(seal_after_s=0, merge_after_s=0), 2**50, step)
"""


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("work", ["seal", "merge"])
def test_a_kill_at_any_step_loses_and_doubles_nothing(tmp_path: Path, work: str, step: str) -> None:
    with Database.open(tmp_path) as database:
        fill(database)
        if work == "merge":
            seal(database, AT_ONCE, NOW)
            fill(database, from_ms=T0 + 3 * HOUR, hours_long=1, seq=1)
            fill(database, from_ms=T0 + 24 * HOUR, hours_long=1, seq=2)
            seal(database, AT_ONCE, NOW)
        before, told_hours = everything(database), hours(database)
    ended = subprocess.run([sys.executable, "-c", ENDING, str(tmp_path), work, step], check=False)
    assert ended.returncode == -signal.SIGKILL
    with Database.open(tmp_path) as database:
        with database.cursor() as cursor:
            manifest.remove_unlisted(cursor)
        assert everything(database) == before
        on_disk = sorted((tmp_path / FOLDER).glob("day=*/*"))
        assert on_disk == sorted(listed(database))
        seal(database, AT_ONCE, NOW)
        merge(database, AT_ONCE, NOW)
        assert everything(database) == before
        assert hours(database) == told_hours


def test_raw_rows_go_by_the_day_and_hours_stay(database: Database) -> None:
    fill(database)
    fill(database, from_ms=T0 + 20 * DAY_MS, seq=1)
    seal(database, AT_ONCE, NOW)
    [old, kept] = listed(database)
    told_hours = hours(database)
    now_ms = T0 + 21 * DAY_MS
    assert retain(database, StoreSettings(raw_days=10), now_ms) == 360
    assert retain(database, StoreSettings(raw_days=10), now_ms) == 0
    assert len(everything(database)) == 360
    assert (old.exists(), kept.exists()) == (False, True)
    assert not old.parent.exists()

    # What comes for those days now is put aside with the reason, and nothing is computed from rows that are gone.
    late = segment(steady(T0, T0 + HOUR, 1, None, MINUTE), seq=7, devices=[gpu("n1-0"), gpu("n1-1")])
    result = store(database, late, now_ms=now_ms)
    assert (result.segments, result.quarantined) == (0, 1)
    with database.cursor() as cursor:
        assert "store.raw_days" in cursor.scalar("SELECT reason FROM quarantine")
        cursor.execute("INSERT INTO dirty_hour VALUES ($1, 1, 99, $1, $2)", [T0, T0 + HOUR])
    store(database)
    assert hours(database) == told_hours


RETENTION_STEPS = ("before the list", "before the commit", "before the files go", "after the files went")
_RETAINING = """
import os, signal, sys
from pathlib import Path
from store.database import Database
from store.retention import retain
from store.settings import StoreSettings

def step(name):
    if name == sys.argv[3]:
        os.kill(os.getpid(), signal.SIGKILL)

with Database.open(Path(sys.argv[1])) as database:
    retain(database, StoreSettings(raw_days=10), int(sys.argv[2]), step)
"""


@pytest.mark.parametrize("step", RETENTION_STEPS)
def test_a_kill_at_any_step_of_retention_leaves_a_day_whole_or_gone(tmp_path: Path, step: str) -> None:
    with Database.open(tmp_path) as database:
        fill(database)
        fill(database, from_ms=T0 + 20 * DAY_MS, seq=1)
        seal(database, AT_ONCE, NOW)
        told_hours = hours(database)
    ended = subprocess.run([sys.executable, "-c", _RETAINING, str(tmp_path), str(T0 + 21 * DAY_MS), step], check=False)
    assert ended.returncode == -signal.SIGKILL
    with Database.open(tmp_path) as database:
        with database.cursor() as cursor:
            manifest.remove_unlisted(cursor)
        assert len(everything(database)) == (720 if step.startswith("before the list") or "commit" in step else 360)
        assert sorted((tmp_path / FOLDER).glob("day=*/*")) == sorted(listed(database))
        retain(database, StoreSettings(raw_days=10), T0 + 21 * DAY_MS)
        assert len(everything(database)) == 360
        assert len(list((tmp_path / FOLDER).glob("day=*"))) == 1
        assert hours(database) == told_hours


def test_a_day_that_is_dropped_stays_readable_for_who_began_before_and_goes_then(database: Database) -> None:
    fill(database)
    fill(database, from_ms=T0 + 20 * DAY_MS, seq=1)
    seal(database, AT_ONCE, NOW)
    [old, _] = listed(database)
    with database.cursor() as cursor, samples(cursor, 0, NOW):
        assert retain(database, StoreSettings(raw_days=10), T0 + 21 * DAY_MS) == 360
        with database.cursor() as later, samples(later, 0, NOW):
            assert later.scalar("SELECT count(*) FROM samples") == 360
        assert old.exists()
        assert cursor.scalar("SELECT count(*) FROM samples") == 720
        assert cursor.scalar("SELECT count(util_pct) FROM samples") == 720
    seal(database, AT_ONCE, NOW)
    assert not old.exists()


def test_a_file_that_somebody_took_away_is_said_and_nothing_is_counted_without_it(database: Database) -> None:
    fill(database)
    seal(database, AT_ONCE, NOW)
    [file] = listed(database)
    file.unlink()
    with (
        database.cursor() as cursor,
        pytest.raises(StoreError, match="cannot be read") as said,
        samples(cursor, 0, NOW),
    ):
        cursor.scalar("SELECT sum(util_pct) FROM samples")
    assert file.name in str(said.value)
    assert "restore" in str(said.value)


def test_minutes_and_hours_go_by_their_age(database: Database) -> None:
    fill(database)
    fill(database, from_ms=T0 + 20 * DAY_MS, hours_long=1, seq=1)
    with database.cursor() as cursor:
        cores = "INSERT INTO host_minute SELECT $1 + day * $2, 1, 1, 60000, 60000, NULL FROM range(21) AS days(day)"
        cursor.execute(cores, [T0, DAY_MS])
    retain(database, StoreSettings(raw_days=1, minute_days=2, hour_days=30), T0 + 21 * DAY_MS)
    with database.cursor() as cursor:
        assert cursor.scalar("SELECT min(minute_ms) FROM gpu_minute") == T0 + 20 * DAY_MS
        assert cursor.scalar("SELECT min(minute_ms) FROM host_minute") == T0 + 18 * DAY_MS
        assert cursor.scalar("SELECT min(hour_ms) FROM gpu_hour") == T0
        for table in ("node_hour", "holder_hour"):
            assert cursor.scalar(f"SELECT min(hour_ms) FROM {table}") == T0
    retain(database, StoreSettings(raw_days=1, minute_days=2, hour_days=3), T0 + 21 * DAY_MS)
    with database.cursor() as cursor:
        for table in ("gpu_hour", "node_hour", "holder_hour"):
            assert cursor.scalar(f"SELECT min(hour_ms) FROM {table}") == T0 + 20 * DAY_MS
        for table in ("node_day", "holder_day"):
            assert cursor.scalar(f"SELECT min(day_ms) FROM {table}") >= T0 + 19 * DAY_MS


def test_a_clock_that_was_ahead_makes_nothing_old(database: Database) -> None:
    fill(database)
    with database.cursor() as cursor:
        cursor.execute("UPDATE node SET last_ms = $1", [T0 + 400 * DAY_MS])
    assert retain(database, StoreSettings(), T0 + 3 * HOUR) == 0
    assert len(everything(database)) == 360
