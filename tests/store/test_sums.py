"""Sums by node and holder, hour and day: what GPUs add up to, whatever came when and however runs are described."""

import datetime as dt
from zoneinfo import ZoneInfo

import pytest

from store.database import Database
from store.ingest import ingest
from store.rollup import roll_up
from store.schema_sums import SUMMED
from tests.store.building import (
    HOUR,
    MINUTE,
    T0,
    gpu,
    hold,
    inventory,
    packed,
    segment,
    steady,
    store,
    told,
    word,
)
from tests.store.summing import check, stored, totals

DAY = 24 * HOUR
BUSY = {"util_pct": 900, "power_w": 4000, "sm_active_pct": 300}


def rolled(database: Database, zone: str = "UTC") -> None:
    while roll_up(database, zone=zone):
        pass


def a_day(database: Database, from_ms: int, hours: int, zone: str) -> None:
    """One GPU, held all the time, busy; another one on the same node that nobody holds."""
    to_ms = from_ms + hours * HOUR
    rows = [*steady(from_ms, to_ms, 0, 0, 5 * MINUTE, **BUSY), *steady(from_ms, to_ms, 1, None, 5 * MINUTE, util_pct=0)]
    holdings = [hold(start_ms=from_ms, end_ms=to_ms)]
    ingest(database, packed(segment(rows, holdings=holdings, devices=[gpu("GPU-0"), gpu("GPU-1")])), to_ms)
    rolled(database, zone)


def test_sums_of_holders_and_nodes(database: Database) -> None:
    rows = [*steady(T0, T0 + 2 * HOUR, 0, 0, MINUTE, **BUSY), *steady(T0, T0 + HOUR, 1, None, MINUTE, util_pct=0)]
    devices = [gpu("GPU-0"), gpu("GPU-1"), gpu("MIG-0", slices=2, slices_of=7, model="H100 MIG", parent_uuid="GPU-1")]
    held = [hold("100", T0, T0 + HOUR), hold("101", T0, T0 + 30 * MINUTE, devices=(2,), user="bob")]
    store(
        database,
        segment(rows, holdings=held, devices=devices),
        segment(steady(T0, T0 + HOUR, energy_j=977), node="n2", devices=[gpu("GPU-2")]),
        segment(node="ctl", devices=[], accounting=[told("102", T0, T0 + HOUR, alloc_gpus=3)], first_ms=T0, last_ms=T0),
        inventory(word("n1", T0, "DOWN", gpus=2), word("n1", T0 + 30 * MINUTE, gpus=2), seq=1),
    )
    check(database)
    with database.cursor() as cursor:
        found = totals(cursor, "holder_day")
        assert found == totals(cursor, "node_day") == totals(cursor, "holder_hour") == totals(cursor, "node_hour")
    assert found["held_ms"] == HOUR + 30 * MINUTE + 3 * HOUR
    assert found["offline_units"] > 0


def test_computing_again_changes_nothing(database: Database) -> None:
    a_day(database, T0, 30, "UTC")
    with database.cursor() as cursor:
        before = {name: stored(cursor, name) for name in ("node_hour", "holder_hour", "node_day", "holder_day")}
        cursor.execute("INSERT INTO dirty_sum SELECT DISTINCT hour_ms, node_key, 0 FROM gpu_hour")
        cursor.execute(
            f"INSERT INTO dirty_hour SELECT DISTINCT hour_ms, node_key, 0, hour_ms, hour_ms + {HOUR} FROM gpu_hour"
        )
    rolled(database)
    with database.cursor() as cursor:
        assert {name: stored(cursor, name) for name in before} == before


@pytest.mark.parametrize(("begins", "hours"), [("2026-03-29", 23), ("2026-10-25", 25), ("2026-11-24", 24)])
def test_days_are_as_long_as_the_sites_clock_says(database: Database, begins: str, hours: int) -> None:
    zone = "Europe/Berlin"
    start = int(dt.datetime.fromisoformat(begins).replace(tzinfo=ZoneInfo(zone)).timestamp()) * 1000
    a_day(database, start - 2 * HOUR, 30, zone)
    check(database, zone)
    with database.cursor() as cursor:
        days = cursor.tuples("SELECT day_ms, end_ms, held_ms FROM holder_day WHERE held_ms > 0 ORDER BY day_ms")
    assert [(end - day) // HOUR for day, end, _ in days if day == start] == [hours]
    assert [held for day, _, held in days if day == start] == [hours * HOUR]
    assert sum(held for *_, held in days) == 30 * HOUR


@pytest.mark.parametrize("zone", ["Asia/Kolkata", "Asia/Kathmandu"])
def test_a_day_that_begins_within_an_hour(database: Database, zone: str) -> None:
    a_day(database, T0, 30, zone)
    check(database, zone)
    with database.cursor() as cursor:
        assert totals(cursor, "holder_day")["held_ms"] == totals(cursor, "node_day")["held_ms"] == 30 * HOUR


def test_hours_whose_minutes_are_gone_belong_to_the_day_in_which_they_begin(database: Database) -> None:
    a_day(database, T0, 30, "UTC")
    with database.cursor() as cursor:
        cursor.execute("DELETE FROM gpu_minute")
    rolled(database, "Asia/Kolkata")
    with database.cursor() as cursor:
        days = cursor.tuples("SELECT day_ms, held_ms FROM holder_day WHERE held_ms > 0 ORDER BY day_ms")
    midnight = T0 + 18 * HOUR + 30 * MINUTE
    assert days == [(midnight - DAY, 19 * HOUR), (midnight, 11 * HOUR)]


def test_another_zone_makes_other_days(database: Database) -> None:
    a_day(database, T0, 30, "UTC")
    for zone in ("America/New_York", "Asia/Kolkata", "UTC"):
        rolled(database, zone)
        check(database, zone)


def test_a_run_that_is_described_later(database: Database) -> None:
    rows = steady(T0, T0 + 3 * HOUR, 0, 0, MINUTE, **BUSY)
    store(database, segment(rows, holdings=[hold(start_ms=T0, user=None)]))
    with database.cursor() as cursor:
        assert {key[3] for key in stored(cursor, "holder_hour")} == {None}
    described = told("100", T0, None, user="bob", account="chem", partition="gpu")
    store(database, segment(node="ctl", devices=[], accounting=[described], first_ms=T0, last_ms=T0))
    check(database)
    with database.cursor() as cursor:
        assert {key[2:7] for key in stored(cursor, "holder_day")} == {(True, "c1", "bob", "chem", "gpu")}


def test_a_gpu_whose_model_is_known_later(database: Database) -> None:
    rows = steady(T0, T0 + HOUR, 0, 0, MINUTE, **BUSY)
    store(database, segment(rows, holdings=[hold()], devices=[gpu(model=None)]))
    check(database)
    more = steady(T0 + HOUR, T0 + 2 * HOUR, 0, 0, MINUTE, **BUSY)
    store(database, segment(more, seq=1, holdings=[hold()]))
    check(database)
    with database.cursor() as cursor:
        assert {key[2] for key in stored(cursor, "node_hour")} == {gpu().model}


def test_marks_alone_are_worked_off(database: Database) -> None:
    a_day(database, T0, 3, "UTC")
    with database.cursor() as cursor:
        cursor.execute("DELETE FROM node_hour")
        cursor.execute("INSERT INTO dirty_sum SELECT DISTINCT hour_ms, node_key, 0 FROM gpu_hour")
    assert roll_up(database, limit=2) == 2
    rolled(database)
    check(database)


def test_what_is_summed_is_narrow(database: Database) -> None:
    """A HUGEINT column reads 20 to 75 times slower."""
    with database.cursor() as cursor:
        types = dict(
            cursor.tuples("""
                SELECT column_name, data_type FROM information_schema.columns
                WHERE table_name IN ('node_hour', 'holder_hour', 'node_day', 'holder_day')""")
        )
    assert {types[name] for name in SUMMED} == {"BIGINT"}
    assert set(types.values()) == {"BIGINT", "INTEGER", "BOOLEAN"}
