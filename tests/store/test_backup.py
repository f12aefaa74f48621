"""A backup is as the store was at one moment, holds every acknowledged segment, and comes back or is refused."""

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from store import tokens
from store.backup import back_up
from store.copies import MANIFEST, Manifest, read_manifest
from store.database import FILE_NAME, Database
from store.errors import StoreBusy, StoreError
from store.inbox import Inbox
from store.ingest import ingest
from store.manifest import remove_unlisted
from store.merge import merge
from store.restore import restore
from store.samples import samples
from store.seal import seal
from store.segment import Segment
from store.settings import StoreSettings
from tests.store.building import HOUR, MINUTE, NOW, T0, empty_store, gpu, hold, hours, packed, segment, steady, store

AT_ONCE = StoreSettings(seal_after_s=0, merge_after_s=0)


def told(seq: int, hour: int = 0) -> Segment:
    from_ms = T0 + hour * HOUR
    rows = steady(from_ms, from_ms + HOUR, 0, 0, MINUTE, util_pct=100 + seq)
    return segment(rows, seq=seq, holdings=[hold(str(100 + seq), from_ms, from_ms + HOUR)])


def contents(database: Database) -> dict[str, Any]:
    """Every row of every table, and every raw row wherever it lies."""
    with database.cursor() as cursor:
        names = [name for (name,) in cursor.tuples("SELECT table_name FROM duckdb_tables() WHERE NOT internal")]
        found: dict[str, Any] = {name: cursor.arrow(f"SELECT * FROM {name} ORDER BY ALL").to_pylist() for name in names}
        with samples(cursor, 0, NOW):
            found["samples"] = cursor.arrow("SELECT * FROM samples ORDER BY ALL").to_pylist()
    return found


def raw(database: Database) -> list[Any]:
    rows: list[Any] = contents(database)["samples"]
    return rows


@pytest.fixture
def filled(database: Database) -> Database:
    """Sealed hours, hot ones, people's acts and a token."""
    store(database, told(0), told(1, 1))
    seal(database, AT_ONCE, NOW)
    store(database, told(2, 2))
    with database.cursor() as cursor:
        tokens.create(cursor, "nodes", NOW)
        cursor.execute("INSERT INTO act VALUES (1, 'ann', 'taken', 'x', 'good')")
    return database


def saved(database: Database, target: Path) -> Manifest:
    return back_up(database, target, NOW, "0.1.0")


@pytest.mark.parametrize("at_rest", [False, True], ids=["while it runs", "at rest"])
def test_what_is_restored_is_what_was_backed_up(filled: Database, tmp_path: Path, *, at_rest: bool) -> None:
    before = contents(filled)
    if at_rest:
        filled.close()
        with Database.open(filled.directory, read_only=True) as reader:
            made = saved(reader, tmp_path / "backup")
    else:
        made = saved(filled, tmp_path / "backup")
    assert made.rows == {name: len(rows) for name, rows in before.items() if name != "samples"}
    assert made.raw_rows == 120
    assert not (filled.directory / "copying").exists()
    assert restore(tmp_path / "backup", tmp_path / "new", NOW) == made
    with Database.open(tmp_path / "new") as restored:
        assert contents(restored) == before
        # Keys go on where they were, and what is delivered again is known.
        store(restored, told(0), told(3, 3))
        assert len(raw(restored)) == len(before["samples"]) + 60
        assert len({row["run_key"] for row in contents(restored)["run"]}) == 4
    assert not any("restor" in path.name for path in (tmp_path / "new").iterdir())


def test_the_backup_holds_what_was_acknowledged_and_not_stored(filled: Database, tmp_path: Path) -> None:
    inbox = Inbox(filled.directory / "inbox")
    inbox.append_many(packed(told(7, 7), told(8, 8)))
    saved(filled, tmp_path / "backup")
    inbox.close()
    restore(tmp_path / "backup", tmp_path / "new", NOW)
    with Database.open(tmp_path / "new") as restored:
        found = Inbox(tmp_path / "new" / "inbox")
        batch = found.take()
        assert ingest(restored, batch.entries, NOW).rows == 120
        found.done(batch)
        found.close()
        assert len(raw(restored)) == 300


def test_nothing_waits_and_nothing_is_lost_while_a_backup_is_made(filled: Database, tmp_path: Path) -> None:
    """Ingest, sealing, merging and sweeping go on at every step; what was there before the backup is in it."""
    before = {(row["node_key"], row["ts_ms"]) for row in raw(filled)}
    seqs = iter(range(10, 1000))
    rows_at_copy: list[int] = []

    def meanwhile(step: str) -> None:
        def work() -> None:
            store(filled, told(seq := next(seqs), seq))
            seal(filled, AT_ONCE, NOW)
            merge(filled, AT_ONCE, NOW + HOUR)
            seal(filled, AT_ONCE, NOW + HOUR)  # sweeps what merging replaced

        thread = threading.Thread(target=work)
        thread.start()
        thread.join(60)
        assert not thread.is_alive(), step
        if step == "database":
            rows_at_copy.append(len(raw(filled)))

    back_up(filled, tmp_path / "backup", NOW, "0.1.0", meanwhile)
    restore(tmp_path / "backup", tmp_path / "new", NOW)
    with Database.open(tmp_path / "new") as restored:
        assert remove_unlisted_none(restored)
        found = raw(restored)
        assert before <= {(row["node_key"], row["ts_ms"]) for row in found}
        assert len(found) == rows_at_copy[0]  # of one moment


def remove_unlisted_none(database: Database) -> bool:
    with database.cursor() as cursor:
        return remove_unlisted(cursor) == 0


def test_a_backup_under_load_is_of_whole_batches(filled: Database, tmp_path: Path) -> None:
    """Whatever moment it meets, a batch is in it with its rows, its hours and its name, or not at all."""
    stop = threading.Event()

    def work() -> None:
        for seq in range(10, 1000):
            if stop.is_set():
                return
            store(filled, told(seq, seq))

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for number in range(3):
            saved(filled, tmp_path / f"backup-{number}")
    finally:
        stop.set()
        thread.join()
    for number in range(3):
        restore(tmp_path / f"backup-{number}", tmp_path / f"new-{number}", NOW)
        with Database.open(tmp_path / f"new-{number}") as restored:
            found = contents(restored)
            known = len(found["run"])
            assert len(found["samples"]) == 60 * known
            store(restored, *[told(seq, seq) for seq in (0, 1, 2, 10)])
            assert len(contents(restored)["run"]) == max(known, 4)


def test_the_file_stays_locked_after_its_copy(filled: Database, tmp_path: Path) -> None:
    """A process that opens and closes a file loses its POSIX locks on it: DuckDB would let a second writer in."""
    saved(filled, tmp_path / "backup")
    opener = "import duckdb, sys; duckdb.connect(sys.argv[1])"
    other = subprocess.run(
        [sys.executable, "-c", opener, filled.directory / FILE_NAME], capture_output=True, text=True, check=False
    )
    assert other.returncode != 0
    assert "lock" in other.stderr


def test_hours_of_a_restored_store_are_those_of_the_old(filled: Database, tmp_path: Path) -> None:
    saved(filled, tmp_path / "backup")
    restore(tmp_path / "backup", tmp_path / "new", NOW)
    with Database.open(tmp_path / "new") as restored:
        assert hours(restored) == hours(filled)


def test_an_interrupted_backup_is_recognised(filled: Database, tmp_path: Path) -> None:
    class Stopped(Exception):
        pass

    def stop(step: str) -> None:
        if step.startswith("sealed"):
            raise Stopped

    with pytest.raises(Stopped):
        back_up(filled, tmp_path / "backup", NOW, "0.1.0", stop)
    with pytest.raises(StoreError, match="no whole backup"):
        restore(tmp_path / "backup", tmp_path / "new", NOW)
    assert not (tmp_path / "new").exists()
    with pytest.raises(StoreError, match="is not empty"):
        saved(filled, tmp_path / "backup")
    assert not (filled.directory / "copying").exists()


@pytest.mark.parametrize("damage", ["a bit", "shorter", "gone", "list", "elsewhere", "later"])
def test_a_damaged_backup_is_refused_before_anything_is_touched(filled: Database, tmp_path: Path, damage: str) -> None:
    made, backup = saved(filled, tmp_path / "backup"), tmp_path / "backup"
    victim = next(backup / file.path for file in made.files if file.path.endswith(".parquet"))
    data = bytearray(victim.read_bytes())
    listing = msgspec.json.decode((backup / MANIFEST).read_bytes())
    match damage:
        case "a bit":
            data[len(data) // 2] ^= 1
            victim.unlink()  # it may be another name of the store's own file
            victim.write_bytes(data)
        case "shorter":
            victim.unlink()
            victim.write_bytes(data[:-1])
        case "gone":
            victim.unlink()
        case "list":
            (backup / MANIFEST).write_bytes(b"{")
        case "elsewhere":
            listing["files"][0]["path"] = "../data/lock"
            (backup / MANIFEST).write_bytes(msgspec.json.encode(listing))
        case "later":
            listing["schema_version"] = 99
            (backup / MANIFEST).write_bytes(msgspec.json.encode(listing))
    with pytest.raises(StoreError) as refusal:
        restore(backup, tmp_path / "new", NOW)
    assert str(refusal.value).endswith(".")
    assert not (tmp_path / "new").exists()


def test_a_store_that_is_there_is_put_aside_or_left(filled: Database, tmp_path: Path) -> None:
    saved(filled, tmp_path / "backup")
    store(filled, told(5, 5))
    newer = contents(filled)
    with pytest.raises(StoreBusy):
        restore(tmp_path / "backup", filled.directory, NOW, replace=True)
    filled.close()
    (filled.directory / "spool").mkdir()
    with pytest.raises(StoreError, match="--replace"):
        restore(tmp_path / "backup", filled.directory, NOW)
    restore(tmp_path / "backup", filled.directory, NOW, replace=True)
    assert (filled.directory / "spool").exists()  # a node's, not the store's
    [aside] = filled.directory.glob("before-restore-*")
    with Database.open(filled.directory) as restored:
        assert len(raw(restored)) == 180
    with Database.open(aside) as old:
        assert contents(old) == newer


CHILD = """
import os, signal, sys
from pathlib import Path
from store.restore import restore
stop, backup, data = sys.argv[1:]
def step(name):
    if name == stop:
        os.kill(os.getpid(), signal.SIGKILL)
restore(Path(backup), Path(data), 0, replace=True, step=step)
"""


@pytest.mark.parametrize("stop", [f"copy {FILE_NAME}", "begin", "put aside raw", f"put in place {FILE_NAME}", "end"])
def test_a_kill_while_restoring_leaves_the_old_or_says_so(filled: Database, tmp_path: Path, stop: str) -> None:
    saved(filled, tmp_path / "backup")
    wanted = contents(filled)
    store(filled, told(5, 5))
    newer = contents(filled)
    filled.close()
    killed = subprocess.run([sys.executable, "-c", CHILD, stop, tmp_path / "backup", filled.directory], check=False)
    assert killed.returncode == -signal.SIGKILL
    if stop in {f"copy {FILE_NAME}", "begin"}:
        with Database.open(filled.directory) as old:
            assert contents(old) == newer
        restore(tmp_path / "backup", filled.directory, NOW, replace=True)
    else:
        with pytest.raises(StoreError, match="interrupted"):
            Database.open(filled.directory)
        restore(tmp_path / "backup", filled.directory, NOW)
    with Database.open(filled.directory) as restored:
        assert contents(restored) == wanted


def test_a_target_that_cannot_be_is_refused(filled: Database, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="lies in the data directory"):
        saved(filled, filled.directory / "backup")
    (tmp_path / "file").write_text("x")
    for target in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(StoreError):
            saved(filled, target)


@pytest.fixture
def other_disk() -> Iterator[Path]:
    """A directory on another file system, where a file cannot have a second name."""
    path = Path("/dev/shm") / f"gpuledger-{os.getpid()}"
    path.mkdir()
    yield path
    shutil.rmtree(path)


def test_a_backup_on_another_disk_is_a_copy(filled: Database, tmp_path: Path, other_disk: Path) -> None:
    made = saved(filled, other_disk / "backup")
    assert read_manifest(other_disk / "backup") == made
    restore(other_disk / "backup", tmp_path / "new", NOW)
    with Database.open(tmp_path / "new") as restored:
        assert contents(restored) == contents(filled)


def test_a_path_with_an_apostrophe(tmp_path: Path) -> None:
    with empty_store(tmp_path / "ann's") as database:
        store(database, segment(steady(T0, T0 + MINUTE), devices=[gpu()]))
        saved(database, tmp_path / "ann's backup")
    restore(tmp_path / "ann's backup", tmp_path / "bob's", NOW)
    with Database.open(tmp_path / "bob's") as restored:
        assert len(raw(restored)) == 6
