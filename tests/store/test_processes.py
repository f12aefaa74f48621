"""Processes of many segments become lives, in whatever order they come; the table stays small."""

import random
from typing import Any

import pytest

from store.database import Database
from store.processes import GAP_MS, KEPT_MS, MOST
from store.segment import ProcessSeen, Segment, decode, encode
from tests.store.building import HOUR, MINUTE, NOW, T0, gpu, hold, segment, steady, store, told


def seen(pid: int = 7, from_ms: int = T0, to_ms: int | None = None, **more: Any) -> ProcessSeen:
    fixed = {"device": 0, "name": "python", "uid": 1001, "mem_max_mib": 100, "holding": 0}
    return ProcessSeen(pid=pid, from_ms=from_ms, to_ms=from_ms if to_ms is None else to_ms, **{**fixed, **more})


def minute(number: int, *processes: ProcessSeen, **more: Any) -> Segment:
    start_ms = T0 + number * MINUTE
    return segment(
        steady(start_ms, start_ms + MINUTE, 0, 0, util_pct=500),
        seq=number,
        holdings=[hold()],
        processes=processes,
        **more,
    )


def lives(database: Database, columns: str = "pid, first_ms, last_ms") -> list[tuple[Any, ...]]:
    with database.cursor() as cursor:
        return cursor.tuples(f"SELECT {columns} FROM process ORDER BY pid, first_ms")


def test_a_segment_carries_them() -> None:
    sent = minute(0, seen(), seen(0, count=12, name="", uid=None, mem_max_mib=None))
    assert decode(encode(sent)) == sent


@pytest.mark.parametrize("seed", range(3))
def test_what_segments_tell_of_a_process_is_one_life_in_any_order(database: Database, seed: int) -> None:
    away = GAP_MS // MINUTE + 2
    segments = [
        minute(0, seen(7, T0 + 20_000, T0 + MINUTE, mem_max_mib=100), seen(8, T0 + MINUTE, uid=None, name="")),
        minute(1, seen(7, T0 + 70_000, T0 + 2 * MINUTE, mem_max_mib=900, name="python3")),
        minute(2, seen(7, T0 + 130_000, uid=None, name="", mem_max_mib=None)),
        minute(2 + away, seen(7, T0 + (2 + away) * MINUTE + 30_000, name="again")),
    ]
    random.Random(seed).shuffle(segments)
    for each in segments:
        store(database, each)
        store(database, each)  # delivered twice
    assert lives(
        database, "pid, name, uid, first_ms - 1795392000000, last_ms - 1795392000000, mem_max_mib, processes"
    ) == [
        (7, "python3", 1001, 20_000, 130_000, 900, 1),
        (7, "again", 1001, (2 + away) * MINUTE + 30_000, (2 + away) * MINUTE + 30_000, 100, 1),
        (8, "", None, MINUTE, MINUTE, 100, 1),
    ]


def test_a_process_belongs_to_the_run_of_its_hold(database: Database) -> None:
    first, second = hold("100", T0, T0 + MINUTE), hold("200", T0 + MINUTE, T0 + 2 * MINUTE)
    held = [seen(7, T0 + 1000, holding=0), seen(7, T0 + 90_000, holding=1), seen(9, T0 + 2000, holding=None, device=1)]
    devices = [gpu("GPU-0"), gpu("GPU-1")]
    store(database, segment(last_ms=T0 + 2 * MINUTE, devices=devices, holdings=[first, second], processes=held))
    found = lives(database, "pid, (SELECT job_id_raw FROM run r WHERE r.run_key = process.run_key)")
    assert found == [(7, "100"), (7, "200"), (9, None)]


def test_two_runs_that_turn_out_to_be_one_share_their_processes(database: Database) -> None:
    store(database, minute(0, seen(7)))
    late = T0 + HOUR
    apart = segment(
        steady(late, late + MINUTE, 0, 0, util_pct=500),
        seq=1, holdings=[hold("100", late)], processes=[seen(8, late)],
    )  # fmt: skip
    store(database, apart)
    store(database, segment(seq=2, accounting=[told("100", T0, T0 + 2 * HOUR)], first_ms=late, last_ms=late + MINUTE))
    found = lives(database, "pid, run_key")
    assert [pid for pid, _ in found] == [7, 8]
    assert len({run_key for _, run_key in found}) == 1


def test_the_oldest_beyond_the_bound_are_only_counted(database: Database) -> None:
    each, minutes = MOST // 4, 5
    for number in range(minutes):
        began_ms = T0 + number * MINUTE
        batch = [seen(1 + number * each + place, began_ms + place) for place in range(each)]
        store(database, minute(number, *batch, seen(0, began_ms, name="", uid=None, count=5 + number % 2)))
    first, *rows = lives(database, "pid, processes, first_ms")
    assert first == (0, 6 + each, T0)
    assert [pid for pid, *_ in rows] == list(range(1 + each, 1 + minutes * each))


def test_what_ended_long_ago_goes(database: Database) -> None:
    store(database, segment(processes=[seen(7, holding=None)], last_ms=T0 + MINUTE))
    later = T0 + KEPT_MS + HOUR
    store(
        database, segment(seq=1, processes=[seen(8, later, holding=None)], first_ms=later, last_ms=later), now_ms=later
    )
    assert lives(database, "pid") == [(8,)]


@pytest.mark.parametrize(
    "odd",
    [
        seen(device=1), seen(device=-1), seen(holding=1), seen(holding=-1), seen(-1), seen(2**40), seen(uid=2**40),
        seen(uid=-1), seen(count=0), seen(count=2**40), seen(from_ms=5), seen(from_ms=NOW * 2),
        seen(from_ms=T0 + 5, to_ms=T0),
    ],
)  # fmt: skip
def test_what_cannot_be_is_left_out_and_the_rest_stays(database: Database, odd: ProcessSeen) -> None:
    assert store(database, minute(0, odd, seen(8))).quarantined == 0
    assert lives(database, "pid") == [(8,)]


def test_odd_names_and_sizes(database: Database) -> None:
    store(database, minute(0, seen(name="<b>\x00\n" + "x" * 500, mem_max_mib=2**60)))
    [(name, size)] = lives(database, "name, mem_max_mib")
    assert (len(name), name[:5], size) == (64, "<b>\x00\n", None)
