"""What Slurm has: kept whatever the order, and the time in which nobody held a GPU split by why."""

import itertools
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from store.database import Database
from store.ingest import ingest
from store.schema import NODE_WORD_MS, WHOLE
from store.segment import (
    AccountSeen,
    AccountUsage,
    GpuGroup,
    LiveRun,
    NodeGpus,
    NodeSeen,
    PartitionSeen,
    QueuePoll,
    ReservationSeen,
    Segment,
)
from tests.store.building import (
    HOUR,
    MINUTE,
    NOW,
    SECOND,
    T0,
    empty_store,
    gpu,
    hold,
    inventory,
    named,
    packed,
    segment,
    steady,
    store,
    word,
)
from tests.store.test_rollup_property import stored

TWO = [gpu("GPU-0"), gpu("GPU-1")]


def spare(database: Database, name: str = "spare_hour") -> dict[str, int]:
    """Units by kind, in milliseconds of a whole GPU."""
    with database.cursor() as cursor:
        rows = cursor.tuples(f"SELECT kind, CAST(sum(units) AS BIGINT) FROM {name} GROUP BY kind ORDER BY kind")
    return {kind: units // WHOLE for kind, units in rows}


def quiet() -> Segment:
    """An hour of two GPUs on which nothing happens."""
    rows = [each for device in (0, 1) for each in steady(T0, T0 + HOUR, device, step_ms=60 * SECOND, util_pct=0)]
    return segment(rows, devices=TWO)


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return empty_store(tmp_path / "store")


def test_a_drained_node_is_offline_as_long_as_it_is_said_to_be(database: Database) -> None:
    drained = word("n1", T0 + 10 * MINUTE, "IDLE", "DRAIN", gpus=2)
    store(database, quiet(), inventory(word("n1", gpus=2), drained, word("n1", T0 + 40 * MINUTE, gpus=2)))
    assert spare(database) == spare(database, "spare_minute") == {"offline": 2 * 30 * MINUTE}


def test_a_drained_node_with_a_run_is_held(database: Database) -> None:
    rows = steady(T0, T0 + HOUR, 0, 0, step_ms=60 * SECOND, util_pct=500)
    rows += steady(T0, T0 + HOUR, 1, None, step_ms=60 * SECOND, util_pct=0)
    held = segment(rows, devices=TWO, holdings=[hold(devices=[0], end_ms=T0 + 20 * MINUTE)])
    told = inventory(word("n1", T0, "MIXED", "DRAIN", gpus=2, gpus_used=1), word("n1", T0 + HOUR, gpus=2))
    store(database, held, told)
    assert spare(database) == {"offline": (40 + 60) * MINUTE}


def test_what_jobs_have_that_nobody_sees_is_neither_free_nor_stray(database: Database) -> None:
    rows = steady(T0, T0 + HOUR, 0, None, step_ms=60 * SECOND, util_pct=500)
    work = segment(rows, devices=TWO)
    told = inventory(
        word("n1", T0 + 10 * MINUTE, "MIXED", gpus=2, gpus_used=1), word("n1", T0 + 30 * MINUTE, gpus=2, gpus_used=0)
    )
    store(database, work, told)
    assert spare(database) == {"taken": 2 * 20 * MINUTE}
    (found,) = [each for each in named(database, "gpu_hour") if each["gpu"] == "GPU-0"]
    assert found["stray_ms"] == 40 * MINUTE


def test_a_job_that_has_just_ended_may_still_be_counted_by_slurm(database: Database) -> None:
    rows = steady(T0, T0 + HOUR, 0, 0, step_ms=60 * SECOND, util_pct=500)
    held = segment(rows, devices=[gpu()], holdings=[hold(end_ms=T0 + 20 * MINUTE)])
    store(database, held, inventory(word(at_ms=T0 + 29 * MINUTE, state="MIXED", gpus_used=1)))
    assert spare(database) == {}
    store(database, inventory(word(at_ms=T0 + 31 * MINUTE, state="MIXED", gpus_used=1), seq=1))
    assert spare(database) == {"taken": 29 * MINUTE}


def test_a_gpu_is_released_until_its_node_has_completed_for_ten_minutes_at_most(database: Database) -> None:
    rows = steady(T0, T0 + HOUR, 0, 0, step_ms=60 * SECOND, util_pct=500)
    rows += steady(T0, T0 + HOUR, 1, None, step_ms=60 * SECOND, util_pct=0)
    held = segment(rows, devices=TWO, holdings=[hold(devices=[0], end_ms=T0 + 20 * MINUTE)])
    told = inventory(
        word("n1", T0 + 18 * MINUTE, "MIXED", "COMPLETING", gpus=2, gpus_used=1),
        word("n1", T0 + 23 * MINUTE, "IDLE", gpus=2, gpus_used=0),
    )
    store(database, held, told)
    assert spare(database) == {"releasing": 3 * MINUTE}
    late = [word("n1", T0 + at * MINUTE, "IDLE", "COMPLETING", gpus=2) for at in (23, 40)]
    store(database, inventory(late[1], seq=1))
    store(database, inventory(word("n1", T0 + 22 * MINUTE, "IDLE", "COMPLETING", gpus=2), seq=2))
    assert spare(database) == {"releasing": 3 * MINUTE}


def test_suspended_time_is_no_spare_time(database: Database) -> None:
    run = LiveRun(
        cluster="c1", job_id_raw="100", job_id="100", state="SUSPENDED", start_ms=T0, alloc_gpus=2, ran_s=600,
        turned_ms=T0 + 10 * MINUTE, places=(NodeGpus(node="n1"),),
    )  # fmt: skip
    poll = QueuePoll(at_ms=T0 + 50 * MINUTE, until_ms=T0 + 55 * MINUTE, runs=(run,))
    rows = [each for device in (0, 1) for each in steady(T0, T0 + HOUR, device, 0, 60 * SECOND, util_pct=0)]
    held = segment(rows, devices=TWO, holdings=[hold(devices=[0, 1])])
    told = inventory(word("n1", T0, "MIXED", "DRAIN", gpus=2, gpus_used=2))
    asked = segment(node="ctl", seq=9, devices=[], queue=(poll,), first_ms=poll.at_ms, last_ms=poll.at_ms)
    store(database, held, told, asked)
    found = [each for each in named(database, "gpu_hour") if each["run"]]
    assert sum(each["suspended_ms"] or 0 for each in found) == 2 * 50 * MINUTE
    assert spare(database) == {}


def test_reserved_and_without_cores(database: Database) -> None:
    told = inventory(
        word("n1", T0, "IDLE", "RESERVED", gpus=2),
        word("n1", T0 + 20 * MINUTE, "ALLOCATED", gpus=2, gpus_used=0, cpus=16, cpus_used=16),
        word("n1", T0 + 30 * MINUTE, "MIXED", gpus=2, gpus_used=0, cpus=16, cpus_used=15, mem_mib=10, mem_used_mib=10),
        word("n1", T0 + 40 * MINUTE, "IDLE", "CLOUD", "POWERED_DOWN", gpus=2),
    )
    store(database, quiet(), told)
    assert spare(database) == {"reserved": 40 * MINUTE, "stranded": 40 * MINUTE}


def test_a_word_counts_for_75_minutes_where_no_other_follows(database: Database) -> None:
    store(database, quiet(), inventory(word("n1", T0, "DOWN", gpus=2)))
    store(database, segment(node="n2", devices=[gpu("GPU-9")], first_ms=T0, last_ms=T0 + 5 * HOUR))
    assert spare(database) == {"offline": 2 * NODE_WORD_MS}


def test_the_rest_is_kept_from_first_to_last_sight(database: Database) -> None:
    def reading(at_ms: int, seq: int) -> Segment:
        return inventory(
            at_ms=at_ms,
            seq=seq,
            partitions=(PartitionSeen(name="gpu", nodes=("n1", "n2"), max_time_s=60),),
            reservations=(ReservationSeen(name="r", start_ms=T0, end_ms=T0 + HOUR, nodes=("n1",), flags=("MAINT",)),),
            accounts=(AccountSeen(cluster="c1", name="physics", parent="root"), AccountSeen(cluster="c1", name="root")),
            calls=4,
        )

    store(database, reading(T0 + MINUTE, 1), reading(T0, 0), reading(T0 + 2 * MINUTE, 2))
    with database.cursor() as cursor:
        assert cursor.tuples("SELECT * FROM slurm_partition") == [
            ("c1", "gpu", "n1,n2", 60_000, False, "", T0, T0 + 2 * MINUTE)
        ]
        assert cursor.tuples("SELECT name, flags, first_ms, last_ms FROM reservation") == [
            ("r", "MAINT", T0, T0 + 2 * MINUTE)
        ]
        assert cursor.tuples("SELECT name, parent, last_ms FROM account ORDER BY name") == [
            ("physics", "root", T0 + 2 * MINUTE), ("root", "", T0 + 2 * MINUTE),
        ]  # fmt: skip
        assert cursor.scalar("SELECT CAST(sum(requests) AS INTEGER) FROM slurm_request") == 12


def test_the_newest_word_on_what_an_account_used_counts(database: Database) -> None:
    def reading(at_ms: int, gpu_s: int, seq: int) -> Segment:
        used = AccountUsage(cluster="c1", account="physics", day_ms=T0, gpu_s=gpu_s)
        return inventory(at_ms=at_ms, seq=seq, usage=(used,))

    store(database, reading(T0 + HOUR, 5, 1))
    store(database, reading(T0 + 2 * HOUR, 9, 2), reading(T0, 1, 0))
    with database.cursor() as cursor:
        assert cursor.tuples("SELECT gpu_s, at_ms FROM slurm_usage") == [(9, T0 + 2 * HOUR)]


@pytest.mark.parametrize(
    ("kind", "units"), [("a100", WHOLE), ("a100_1g.5gb", WHOLE // 7), ("a30_2g.12gb", WHOLE // 2), ("3g.40gb", 360)]
)
def test_an_instance_counts_as_its_part_of_a_gpu(database: Database, kind: str, units: int) -> None:
    node = NodeSeen(name="n1", at_ms=T0, state="IDLE", gpus=(GpuGroup(type=kind, count=2),))
    store(database, inventory(node))
    with database.cursor() as cursor:
        assert cursor.tuples("SELECT gpus, gpu_units, gpu_type FROM node_state") == [(2, 2 * units, kind)]


def test_what_cannot_be_is_left_out_and_the_rest_kept(database: Database) -> None:
    odd = [
        word("../n1"), word("n2", NOW + HOUR), word("n3", gpus=5000), word("n4", state=""),
        word("n5", gpus_used=-1, cpus=1 << 60, mem_mib=-5, boot_ms=-1, reason="x" * 9999),
    ]  # fmt: skip
    bad = ReservationSeen(name="r", start_ms=T0, end_ms=T0 - 1)
    store(database, inventory(*odd, at_ms=T0, reservations=(bad,), calls=1 << 40))
    with database.cursor() as cursor:
        assert cursor.tuples("SELECT name, gpus_used, cpus, mem_mib, boot_ms, length(reason) FROM node_state") == [
            ("n5", None, None, None, None, 2000)
        ]
        assert cursor.scalar("SELECT count(*) FROM reservation") == 0


@st.composite
def stories(draw: st.DrawFn) -> list[Segment]:
    """Two nodes with jobs, and words about them and about one that nobody hears from."""
    chance = random.Random(draw(st.integers(0, 2**32)))
    segments: list[Segment] = []
    for node, seq in itertools.product(("n1", "n2"), range(3)):
        from_ms, to_ms = T0 + seq * 40 * MINUTE, T0 + seq * 40 * MINUTE + chance.randrange(5, 40) * MINUTE
        start = from_ms - chance.randrange(0, 600) * SECOND
        end = chance.choice([None, to_ms - chance.randrange(0, 300) * SECOND])
        holdings = [hold(f"{seq + 1}{node[1]}", start, end, devices=[0])] if chance.random() < 0.7 else []
        rows = steady(from_ms, to_ms, 0, 0 if holdings else None, 60 * SECOND, util_pct=chance.choice([0, 500]))
        devices = [gpu(f"GPU-{node}-0"), gpu(f"GPU-{node}-1")]
        segments.append(segment(rows, node=node, seq=seq, devices=devices, holdings=holdings))
    for seq in range(draw(st.integers(1, 6))):
        words = [
            word(
                node,
                T0 + chance.randrange(150) * MINUTE,
                chance.choice(["IDLE", "DOWN", "MIXED"]),
                *chance.choice([(), ("DRAIN",), ("RESERVED",), ("COMPLETING",)]),
                gpus=2,
                gpus_used=chance.choice([None, 0, 1, 2]),
                cpus=8,
                cpus_used=chance.choice([0, 8]),
            )
            for node in chance.sample(["n1", "n2", "n3"], 2)
        ]
        segments.append(inventory(*words, seq=seq))
    return segments


def test_of_two_words_about_one_moment_the_same_one_counts_in_any_order() -> None:
    told = [
        inventory(word("n1", T0, state, gpus=2, gpus_used=used), seq=seq)
        for seq, (state, used) in enumerate([("IDLE", None), ("MIXED", 1), ("DOWN", 0)])
    ]
    kept = set()
    for order in itertools.permutations(told):
        for pieces in ([list(order)], [[each] for each in order]):
            with stored(pieces, between=False) as database, database.cursor() as cursor:
                kept.add(tuple(cursor.tuples("SELECT state, gpus_used FROM node_state")))
    assert kept == {(("MIXED", 1),)}


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(segments=stories(), seed=st.integers(0, 2**32))
def test_it_depends_on_the_data_alone(segments: list[Segment], seed: int) -> None:
    chance = random.Random(seed)
    shuffled = [*segments, *chance.sample(segments, len(segments) // 2)]
    chance.shuffle(shuffled)
    cuts = sorted(chance.sample(range(len(shuffled) + 1), 2))
    pieces = [shuffled[: cuts[0]], shuffled[cuts[0] : cuts[1]], shuffled[cuts[1] :]]
    with stored([segments], between=False) as at_once, stored(pieces, between=True) as piecemeal:
        for table in ("spare_hour", "spare_minute", "gpu_minute"):
            assert _rows(at_once, table) == _rows(piecemeal, table)
        _nothing_is_counted_twice(at_once)


def _rows(database: Database, table: str) -> list[tuple[Any, ...]]:
    if table == "gpu_minute":
        return [tuple(each.values()) for each in named(database, table)]
    bucket = table.removeprefix("spare_")
    with database.cursor() as cursor:
        return cursor.tuples(
            f"SELECT {bucket}_ms, n.name, g.uuid, kind, units FROM {table} JOIN node n USING (node_key) "
            "JOIN gpu g USING (gpu_key) ORDER BY ALL"
        )


def _nothing_is_counted_twice(database: Database) -> None:
    with database.cursor() as cursor:
        most = cursor.scalar(f"""
            SELECT coalesce(max(ms), 0) FROM (
                SELECT minute_ms, gpu_key, sum(ms) AS ms FROM (
                    SELECT minute_ms, gpu_key, held_ms + stray_ms AS ms FROM gpu_minute WHERE gpu_key > 0
                    UNION ALL SELECT minute_ms, gpu_key, units // {WHOLE} FROM spare_minute)
                GROUP BY ALL)""")
    assert most <= MINUTE


def test_a_segment_of_before_and_one_twice_change_nothing(database: Database) -> None:
    told = inventory(word("n1", T0, "DOWN", gpus=2))
    store(database, quiet(), told)
    before = spare(database)
    store(database, told)
    assert spare(database) == before == {"offline": 2 * HOUR}
    assert packed(told)[0][0] == told.name


def test_data_from_before_a_gpus_first_sight_computes_only_that_time_anew(database: Database) -> None:
    hours = [T0 + number * HOUR for number in range(4)]
    words = [word("n1", at_ms, gpus=2) for at_ms in range(T0, T0 + 4 * HOUR, 30 * MINUTE)]
    later = [each for device in (0, 1) for each in steady(hours[2], hours[3], device, step_ms=MINUTE, util_pct=0)]
    store(database, segment(later, devices=TWO), inventory(*words))
    ingest(database, packed(segment(steady(hours[1], hours[2], 0, step_ms=MINUTE), seq=1, devices=TWO)), NOW)
    with database.cursor() as cursor:
        dirty = cursor.tuples("SELECT hour_ms FROM dirty_hour ORDER BY hour_ms")
    # The hour itself, and the quarter before it, in which its first row may begin.
    assert {hour_ms for (hour_ms,) in dirty} == {hours[0], hours[1]}
