"""What jobs did on the cores, summed by minute: cut exactly, in any order, once however often it arrives."""

import random
from typing import Any

import msgspec
import pytest

from store.database import Database
from store.ingest import ingest
from store.segment import Column, Segment, Table, decode, encode
from tests.store.building import HOUR, MINUTE, NOW, SECOND, T0, hold, host, hosts, segment, steady, store, told


def sent(*rows: Any, seq: int = 0, **more: Any) -> Segment:
    fixed = {"holdings": [hold()], "first_ms": T0, "last_ms": T0 + 2 * MINUTE}
    return segment(seq=seq, hosts=hosts(*rows), **{**fixed, **more})


def minutes(database: Database) -> list[tuple[Any, ...]]:
    """Minute, job, measured time, CPU time and most memory."""
    with database.cursor() as cursor:
        return cursor.tuples(f"""
            SELECT (minute_ms - {T0}) // {MINUTE}, job_id_raw, sum(span_ms)::BIGINT, sum(m.cpu_ms)::BIGINT,
                max(mem_max_mib)
            FROM host_minute m JOIN run USING (run_key) GROUP BY ALL ORDER BY ALL""")


def test_a_segment_carries_them() -> None:
    one = sent(host(T0 + 10 * SECOND, 8000, mem_mib=512), host(T0 + 20 * SECOND, 0))
    assert decode(encode(one)) == one


def test_rows_are_cut_at_minutes_and_their_parts_add_up(database: Database) -> None:
    store(database, sent(host(T0 + 57 * SECOND, 57_000, 0, 57 * SECOND), host(T0 + 67 * SECOND, 9_999, mem_mib=900)))
    assert minutes(database) == [(0, "100", 60_000, 57_000 + 2999, 900), (1, "100", 7000, 7000, 900)]


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_segments_does_not_matter_and_none_counts_twice(database: Database, seed: int) -> None:
    segments = [
        sent(
            *(host(T0 + (k * 6 + n) * 10_000, 1000 * n + k) for n in range(1, 7)),
            seq=k, first_ms=T0 + k * MINUTE, last_ms=T0 + (k + 1) * MINUTE,
        )
        for k in range(5)
    ]  # fmt: skip
    random.Random(seed).shuffle(segments)
    for each in segments:
        store(database, each)
        store(database, each)
    assert minutes(database) == [(k, "100", 60_000, 21_000 + 6 * k, None) for k in range(5)]


def test_two_jobs_and_two_runs_that_turn_out_to_be_one(database: Database) -> None:
    both = [hold("100"), hold("200")]
    store(database, sent(host(T0 + 10_000, 5000), host(T0 + 10_000, 7000, 1), holdings=both))
    assert minutes(database) == [(0, "100", 10_000, 5000, None), (0, "200", 10_000, 7000, None)]
    late = T0 + HOUR
    rows = steady(late, late + MINUTE, 0, 0, util_pct=500)
    store(database, segment(rows, seq=1, holdings=[hold("100", late)], hosts=hosts(host(late + 10_000, 1))))
    store(database, segment(seq=2, accounting=[told("100", T0, T0 + 2 * HOUR)], first_ms=late, last_ms=late + MINUTE))
    assert [(minute, job) for minute, job, *_ in minutes(database)] == [(0, "100"), (0, "200"), (60, "100")]


def test_rows_that_cannot_be_are_left_out_and_the_others_stay(database: Database) -> None:
    store(
        database,
        sent(
            host(T0 + 10_000, 5000),
            host(NOW + HOUR, 5000),
            host(1000, 500, 0, 500),
            host(T0 + 20_000, 4_000_000_000),
            host(T0 + 30_000, 5, 0, 0),
            host(T0 + 40_000, 5, 0, 3_600_000),
        ),
    )
    assert minutes(database) == [(0, "100", 10_000, 5000, None)]


def test_a_hold_that_cannot_be_takes_its_rows_with_it(database: Database) -> None:
    both = [hold("no job id!"), hold("200")]
    store(database, sent(host(T0 + 10_000, 5000), host(T0 + 10_000, 7000, 1), holdings=both))
    assert minutes(database) == [(0, "200", 10_000, 7000, None)]


@pytest.mark.parametrize(
    ("table", "why"),
    [
        (hosts(host(T0 + 10_000, 5, 3)), "holding that it does not list"),
        (Table(1, {}), "no complete column ts_ms"),
        (Table(1, {"ts_ms": Column("i8", b"1234")}), "does not hold 1 values"),
    ],
)
def test_a_table_that_is_broken_is_refused(database: Database, table: Table, why: str) -> None:
    broken = msgspec.structs.replace(sent(), hosts=table)
    ingest(database, [(broken.name, encode(broken))], NOW)
    with database.cursor() as cursor:
        [(reason,)] = cursor.tuples("SELECT reason FROM quarantine")
    assert why in reason


def test_an_older_node_sends_none(database: Database) -> None:
    content = msgspec.msgpack.decode(msgspec.msgpack.encode(sent()))
    content.pop("hosts", None)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(content), type=Segment).hosts == Table()
