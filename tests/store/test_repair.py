"""Rows that were sealed as nobody's get the run that is told later, as if it had been told in time."""

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from store import manifest
from store.database import Database
from store.merge import merge
from store.rollup import roll_up
from store.samples import samples
from store.seal import seal
from store.segment import Segment
from store.settings import StoreSettings
from tests.store.building import HOUR, MINUTE, NOW, T0, empty_store, gpu, hold, hours, named, segment, steady, store
from tests.store.test_identity import told, told_by
from tests.store.test_live_runs import live, node, polled
from tests.store.test_seal import ENDING, STEPS

AT_ONCE = StoreSettings(seal_after_s=0, merge_after_s=0)
NEXT_DAY = T0 + 30 * HOUR
DEVICES = (gpu("GPU-0", position=0),)


def nobodys(seq: int = 1, from_ms: int = T0, to_ms: int = T0 + HOUR, **stored: int) -> Segment:
    rows = steady(from_ms, to_ms, step_ms=MINUTE, util_pct=0, mem_used_mib=0, **stored)
    return segment(rows, seq=seq, devices=DEVICES)


def over(node_name: str = "n9") -> Segment:
    """Data of a later day, so that the first is over."""
    return segment(node=node_name, seq=99, devices=(), first_ms=NEXT_DAY, last_ms=NEXT_DAY)


def seal_and_merge(database: Database) -> int:
    seal(database, AT_ONCE, NOW)
    rows = merge(database, AT_ONCE, NOW)
    while roll_up(database):
        pass
    return rows


def of_rows(database: Database) -> list[dict[str, Any]]:
    """Every row with names in the place of keys."""
    with database.cursor() as cursor, samples(cursor, 0, NOW):
        found = cursor.arrow("""
            SELECT s.* EXCLUDE (node_key, gpu_key, run_key), g.uuid, r.job_id_raw
            FROM samples s JOIN gpu g USING (gpu_key) LEFT JOIN run r USING (run_key) ORDER BY ALL""")
    return found.to_pylist()


def whose(database: Database) -> list[tuple[str | None, int]]:
    counts: dict[str | None, int] = {}
    for row in of_rows(database):
        counts[row["job_id_raw"]] = counts.get(row["job_id_raw"], 0) + 1
    return sorted(counts.items(), key=lambda pair: pair[0] or "")


def ended(minute: int) -> Any:
    return live(T0 + 10 * MINUTE, state="COMPLETING", end_ms=T0 + minute * MINUTE)


@pytest.mark.parametrize("merged_before", [False, True])
def test_a_poll_that_comes_after_sealing_gives_the_same_as_one_in_time(tmp_path: Path, merged_before: bool) -> None:
    words = (polled(T0 + 20 * MINUTE, live(T0 + 10 * MINUTE)), polled(T0 + 41 * MINUTE, ended(40), whole=True))
    in_time, late = (empty_store(tmp_path / name) for name in ("first", "second"))
    store(in_time, node(0), nobodys(), *words, over())
    store(late, node(0), nobodys(), over())
    seal(late, AT_ONCE, NOW)
    if merged_before:
        seal_and_merge(late)
    store(late, *words)
    assert whose(late) == [(None, 60)]
    for database in (in_time, late):
        seal_and_merge(database)
    assert whose(late) == [(None, 30), ("100", 30)]
    assert of_rows(late) == of_rows(in_time)
    assert hours(late) == hours(in_time)
    assert named(late, "gpu_minute") == named(in_time, "gpu_minute")
    [held] = [each for each in hours(late) if each["run"]]
    assert (held["held_ms"], held["idle_ms"], held["unknown_ms"]) == (30 * MINUTE, 30 * MINUTE, 0)
    with late.cursor() as cursor:
        assert cursor.scalar("SELECT count(*) FROM dirty_run") > 0
    # Nothing is left to do, and nothing is written a second time.
    assert merge(late, AT_ONCE, NOW) == 0


def test_a_run_that_began_before_its_first_process_gets_the_rows_before_it(database: Database) -> None:
    rows = steady(T0 + 30 * MINUTE, T0 + HOUR, 0, 0, MINUTE, util_pct=900)
    seen = hold(start_ms=T0 + 30 * MINUTE, source="cgroup")
    store(database, nobodys(0, to_ms=T0 + 30 * MINUTE), segment(rows, seq=1, devices=DEVICES, holdings=[seen]), over())
    seal_and_merge(database)
    assert whose(database) == [(None, 30), ("100", 30)]
    store(database, told_by(told(start_ms=T0 + 10 * MINUTE + 1, end_ms=T0 + HOUR), seq=3))
    assert seal_and_merge(database) == 60
    # The row in which it began is not wholly its own: the node said that nobody had the GPU.
    assert whose(database) == [(None, 11), ("100", 49)]


def test_what_two_runs_could_have_stays_nobodys(database: Database) -> None:
    store(database, node(0), nobodys(), over())
    seal(database, AT_ONCE, NOW)
    both = [live(T0 + 10 * MINUTE), live(T0 + 10 * MINUTE, job_id_raw="101", job_id="101")]
    store(database, polled(T0 + 20 * MINUTE, *both))
    seal_and_merge(database)
    assert whose(database) == [(None, 60)]


def test_rows_are_taken_back_where_their_node_tells_another_time(database: Database) -> None:
    store(database, node(0), nobodys(), polled(T0 + 20 * MINUTE, live()), over())
    seal_and_merge(database)
    assert whose(database) == [("100", 60)]
    hook = hold(end_ms=T0 + 50 * MINUTE)
    store(database, segment(seq=2, devices=DEVICES, holdings=[hook], first_ms=T0 + 40 * MINUTE, last_ms=T0 + HOUR))
    assert whose(database) == [("100", 60)]
    seal_and_merge(database)
    assert whose(database) == [(None, 10), ("100", 50)]
    assert sum(each["rows"] for each in hours(database) if each["run"]) == 50


@pytest.mark.parametrize("step", STEPS)
def test_a_kill_at_any_step_of_a_repair_changes_nothing_or_all(tmp_path: Path, step: str) -> None:
    with Database.open(tmp_path) as database:
        store(database, node(0), nobodys(), over())
        seal(database, AT_ONCE, NOW)
        store(database, polled(T0 + 20 * MINUTE, live(T0 + 10 * MINUTE)))
    ended = subprocess.run([sys.executable, "-c", ENDING, str(tmp_path), "merge", step], check=False)
    assert ended.returncode == -signal.SIGKILL
    with Database.open(tmp_path) as database:
        with database.cursor() as cursor:
            manifest.remove_unlisted(cursor)
        assert whose(database) == ([(None, 10), ("100", 50)] if step == "after the commit" else [(None, 60)])
        seal_and_merge(database)
        assert whose(database) == [(None, 10), ("100", 50)]
        assert sum(each["rows"] for each in hours(database) if each["run"]) == 50


def test_a_change_of_other_days_writes_nothing(database: Database) -> None:
    store(database, node(0), nobodys(), over())
    seal_and_merge(database)
    store(database, polled(NEXT_DAY + MINUTE, live(NEXT_DAY)))
    with database.cursor() as cursor:
        assert cursor.tuples("FROM repair_day") == []
