"""What polls say of live runs: one run with what hooks and accounting say, its end, and its suspensions."""

from typing import Any

import pytest

from store.database import Database
from store.segment import LiveRun, NodeGpus, QueuePoll, Segment
from tests.store.building import HOUR, MINUTE, SECOND, T0, empty_store, gpu, hold, hours, segment, steady, store
from tests.store.test_identity import held, in_any_order, runs, told, told_by


def live(start_ms: int = T0, **more: Any) -> LiveRun:
    fixed = {
        "cluster": "c1", "job_id_raw": "100", "job_id": "100", "state": "RUNNING", "restart": 0, "user": "ann",
        "account": "physics", "partition": "gpu", "alloc_gpus": 1, "req_gpus": 1, "places": (NodeGpus("n1", (0,)),),
    }  # fmt: skip
    return LiveRun(start_ms=start_ms, **{**fixed, **more})


def suspended(at_ms: int, ran_s: int, **more: Any) -> LiveRun:
    return live(state="SUSPENDED", turned_ms=at_ms, ran_s=ran_s, **more)


def polled(at_ms: int, *listed: LiveRun, whole: bool = False) -> Segment:
    poll = QueuePoll(at_ms=at_ms, until_ms=at_ms + MINUTE, runs=listed, whole=whole)
    minute = (at_ms - T0) // SECOND
    return segment(node="ctl", seq=minute, devices=[], queue=[poll], first_ms=at_ms, last_ms=at_ms)


def suspensions(database: Database) -> list[tuple[Any, ...]]:
    with database.cursor() as cursor:
        return cursor.tuples("SELECT start_ms - $1, end_ms - $1 FROM suspension ORDER BY 1", [T0])


def times(database: Database, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[f"{name}_ms"] for name in names) for row in hours(database) if row["run"]]


def test_a_run_that_only_polls_tell_is_counted_without_place_and_ends_when_none_lists_it(tmp_path: Any) -> None:
    segments = [
        polled(T0 + MINUTE, live(alloc_gpus=2)),
        polled(T0 + 11 * MINUTE, live(alloc_gpus=2), whole=True),
        polled(T0 + 21 * MINUTE, whole=True),
    ]
    for database in in_any_order(tmp_path, *segments):
        assert runs(database) == [("100", 0, 11 * MINUTE, "ENDED", None)]
        assert runs(database, 'user_name, account, "partition", alloc_gpus, req_gpus') == [
            ("ann", "physics", "gpu", 2, 1)
        ]
        assert times(database, "held", "unknown") == [(22 * MINUTE, 22 * MINUTE)]


def test_a_poll_of_what_is_new_ends_nothing(database: Database) -> None:
    store(database, polled(T0 + MINUTE, live()), polled(T0 + 20 * MINUTE))
    assert runs(database) == [("100", 0, None, "RUNNING", None)]
    assert times(database, "held") == [(20 * MINUTE,)]


def test_a_run_that_was_left_out_and_is_listed_again_goes_on(database: Database) -> None:
    store(database, polled(T0 + MINUTE, live()), polled(T0 + 10 * MINUTE, whole=True))
    store(database, polled(T0 + 20 * MINUTE, live(), whole=True))
    assert runs(database) == [("100", 0, None, "RUNNING", None)]


def test_a_completing_run_says_its_end(tmp_path: Any) -> None:
    over = live(state="COMPLETING", end_ms=T0 + 5 * MINUTE)
    segments = [polled(T0 + MINUTE, live()), polled(T0 + 6 * MINUTE, over), polled(T0 + 11 * MINUTE, whole=True)]
    for database in in_any_order(tmp_path, *segments):
        assert runs(database) == [("100", 0, 5 * MINUTE, "ENDED", None)]


def test_hook_poll_and_accounting_are_one_run(tmp_path: Any) -> None:
    segments = [
        held(1, hold(start_ms=T0 + 2 * SECOND), to_ms=T0 + 2 * MINUTE),
        polled(T0 + 2 * MINUTE, live(name="train", qos="high"), whole=True),
        told_by(told(end_ms=T0 + 3 * MINUTE, qos="normal")),
    ]
    for database in in_any_order(tmp_path, *segments):
        assert runs(database) == [("100", 0, 3 * MINUTE, "COMPLETED", 1000)]
        assert runs(database, "name, qos, restart") == [("train", "normal", 0)]
        assert times(database, "held", "active", "unknown") == [(3 * MINUTE, MINUTE, 2 * MINUTE)]


def test_an_execution_after_a_requeue_is_another_run(database: Database) -> None:
    store(database, polled(T0 + MINUTE, live()), polled(T0 + 11 * MINUTE, live(T0 + 5 * MINUTE, restart=1), whole=True))
    assert runs(database, "start_ms - $1, end_ms - $1, restart") == [
        (0, MINUTE, 0),
        (5 * MINUTE, None, 1),
    ]


def test_a_poll_does_not_end_what_a_node_or_accounting_tells(database: Database) -> None:
    store(database, polled(T0 + MINUTE, live()), held(1, hold(), to_ms=T0 + 2 * MINUTE))
    store(database, polled(T0 + 11 * MINUTE, whole=True))
    assert runs(database) == [("100", 0, None, "RUNNING", None)]
    store(database, told_by(told(), seq=1), polled(T0 + 12 * MINUTE, whole=True))
    assert runs(database) == [("100", 0, None, "RUNNING", 1000)]


def test_suspended_time_is_not_held(tmp_path: Any) -> None:
    rows = steady(T0, T0 + 10 * MINUTE, 0, 0, util_pct=900) + steady(T0 + 10 * MINUTE, T0 + HOUR, 0, 0, util_pct=0)
    segments = [
        segment(rows, holdings=[hold(end_ms=T0 + HOUR)]),
        polled(T0 + 11 * MINUTE, suspended(T0 + 10 * MINUTE + 30 * SECOND, 630)),
        polled(T0 + 41 * MINUTE, live(turned_ms=T0 + 40 * MINUTE + 30 * SECOND, ran_s=630)),
    ]
    for database in in_any_order(tmp_path, *segments):
        assert suspensions(database) == [(630 * SECOND, 2430 * SECOND)]
        assert times(database, "held", "suspended", "active", "idle", "unknown", "covered") == [
            (30 * MINUTE, 30 * MINUTE, 10 * MINUTE, 20 * MINUTE, 0, 30 * MINUTE)
        ]
        assert [row["stray_ms"] for row in hours(database)] == [0]


def test_a_suspension_that_lasts_reaches_as_far_as_the_data(database: Database) -> None:
    store(database, held(1, hold(), to_ms=T0 + 5 * MINUTE), polled(T0 + 5 * MINUTE, suspended(T0 + 4 * MINUTE, 240)))
    assert runs(database) == [("100", 0, None, "SUSPENDED", None)]
    store(database, held(2, hold(), to_ms=T0 + 9 * MINUTE))
    assert times(database, "held", "suspended") == [(4 * MINUTE, 5 * MINUTE)]


def test_a_suspension_whose_begin_no_poll_saw_follows_from_its_end(database: Database) -> None:
    store(database, polled(T0 + 30 * MINUTE, live(turned_ms=T0 + 20 * MINUTE, ran_s=300)))
    assert suspensions(database) == [(5 * MINUTE, 20 * MINUTE)]


def test_suspensions_follow_each_other(tmp_path: Any) -> None:
    segments = [
        polled(T0 + 10 * MINUTE, live(turned_ms=T0 + 10 * MINUTE, ran_s=300)),
        polled(T0 + 20 * MINUTE, suspended(T0 + 20 * MINUTE, 900)),
        polled(T0 + 50 * MINUTE, live(turned_ms=T0 + 50 * MINUTE, ran_s=1500)),
    ]
    for database in in_any_order(tmp_path, *segments):
        # 5 min, then some time before minute 30 of running; what is not known of the second is taken of the third.
        assert suspensions(database) == [
            (5 * MINUTE, 10 * MINUTE),
            (20 * MINUTE, 20 * MINUTE),
            (30 * MINUTE, 50 * MINUTE),
        ]
        assert times(database, "held", "suspended") == [(25 * MINUTE, 25 * MINUTE)]


def test_accounting_closes_a_suspension_whose_end_no_poll_saw(tmp_path: Any) -> None:
    segments = [
        polled(T0 + 6 * MINUTE, suspended(T0 + 5 * MINUTE, 300)),
        told_by(told(end_ms=T0 + HOUR, suspended_s=1200)),
    ]
    for database in in_any_order(tmp_path, *segments):
        assert suspensions(database) == [(5 * MINUTE, 25 * MINUTE)]
        assert times(database, "held", "suspended") == [(40 * MINUTE, 20 * MINUTE)]


def test_a_suspended_run_of_several_gpus_without_place(database: Database) -> None:
    store(database, polled(T0 + 10 * MINUTE, suspended(T0 + 4 * MINUTE, 240, alloc_gpus=3)))
    assert times(database, "held", "suspended") == [(12 * MINUTE, 18 * MINUTE)]


@pytest.mark.parametrize(
    "odd",
    [
        live(job_id_raw="../1"),
        live(start_ms=1000),
        live(alloc_gpus=2**40),
        live(restart=-1),
        live(turned_ms=T0 + 400 * 24 * HOUR, ran_s=5),
        live(turned_ms=T0, ran_s=2**40),
        live(places=(NodeGpus("n 1", (0,)),)),
    ],
    ids=lambda _: None,
)
def test_a_live_run_that_cannot_be_is_passed_over_and_told(database: Database, odd: LiveRun) -> None:
    assert store(database, polled(T0 + MINUTE, odd, live(job_id_raw="7", job_id="7"))).quarantined == 0
    assert runs(database, "job_id") == [("7",)]
    with database.cursor() as cursor:
        [(reason,)] = cursor.tuples("SELECT reason FROM quarantine")
    assert reason.startswith("live run passed over: job ")


def test_two_gpus_of_one_node(database: Database) -> None:
    devices = [gpu("GPU-0"), gpu("GPU-1")]
    rows = [each for device in range(2) for each in steady(T0, T0 + 10 * MINUTE, device, 0, util_pct=0)]
    store(
        database,
        segment(rows, devices=devices, holdings=[hold(devices=range(2))]),
        polled(T0 + 6 * MINUTE, live(alloc_gpus=2, turned_ms=T0 + 5 * MINUTE, ran_s=180)),
    )
    assert times(database, "held", "suspended", "idle") == [(8 * MINUTE, 2 * MINUTE, 8 * MINUTE)] * 2


def node(*positions: int | None, at_ms: int = T0, node: str = "n1", **more: Any) -> Segment:
    """The first segment of a node whose GPUs have these places in Slurm's list."""
    devices = [gpu(f"GPU-{at}", index=at, position=position) for at, position in enumerate(positions)]
    return segment(node=node, devices=devices, first_ms=at_ms, last_ms=at_ms, **more)


def placed(database: Database) -> list[tuple[Any, ...]]:
    with database.cursor() as cursor:
        return cursor.tuples(
            "SELECT g.uuid, a.source, a.start_ms - $1, a.end_ms - $1 FROM allocation a JOIN gpu g USING (gpu_key) "
            "ORDER BY ALL",
            [T0],
        )


def test_an_idle_allocation_that_no_hook_tells_is_placed_by_slurms_own_order(tmp_path: Any) -> None:
    devices = [gpu("GPU-0", position=1), gpu("GPU-1", position=0)]
    rows = [each for device in range(2) for each in steady(T0, T0 + 10 * MINUTE, device, util_pct=0, mem_used_mib=0)]
    segments = [
        segment(rows, seq=1, devices=devices),
        polled(T0 + 2 * MINUTE, live(T0 + MINUTE)),
        polled(T0 + 6 * MINUTE, live(T0 + MINUTE, state="COMPLETING", end_ms=T0 + 5 * MINUTE), whole=True),
    ]
    store(database := empty_store(tmp_path / "first"), node(1, 0), *segments)
    expected = hours(database)
    for other in in_any_order(tmp_path, *segments):
        # The node's list has to be known before a poll can be understood; the next whole poll makes it good.
        store(other, polled(T0 + 7 * MINUTE, live(T0 + MINUTE, state="COMPLETING", end_ms=T0 + 5 * MINUTE), whole=True))
        assert placed(other) == [("GPU-1", "poll", MINUTE, 5 * MINUTE)]
        assert times(other, "held", "idle", "unknown") == [(4 * MINUTE, 4 * MINUTE, 0)]
    assert [row for row in expected if row["run"]] == [row for row in hours(database) if row["run"]]


def test_rows_that_come_while_it_lasts_are_the_runs(database: Database) -> None:
    devices = [gpu("GPU-0", position=0)]
    store(database, node(0), polled(T0 + MINUTE, live()))
    for minute in range(1, 4):
        rows = steady(T0 + (minute - 1) * MINUTE, T0 + minute * MINUTE, util_pct=0)
        store(database, segment(rows, seq=minute, devices=devices))
    assert times(database, "held", "idle") == [(3 * MINUTE, 3 * MINUTE)]
    # It is over, and what comes then is nobody's.
    store(database, polled(T0 + 3 * MINUTE, live(state="COMPLETING", end_ms=T0 + 3 * MINUTE)))
    store(database, segment(steady(T0 + 3 * MINUTE, T0 + 4 * MINUTE, util_pct=0), seq=4, devices=devices))
    assert times(database, "held", "idle") == [(3 * MINUTE, 3 * MINUTE)]
    with database.cursor() as cursor:
        assert cursor.scalar("SELECT count(*) FROM hot WHERE run_key IS NULL") == 6


@pytest.mark.parametrize(
    ("known", "positions", "found"),
    [
        ((0, 1), (1,), ["GPU-1"]),
        ((None, None), (1,), []),
        ((None, None), (0, 1), ["GPU-0", "GPU-1"]),
        ((0, None), (1,), []),
        ((0, 1), (7,), []),
        ((0, 1), None, []),
    ],
)
def test_a_gpu_is_placed_only_without_doubt(
    database: Database, known: tuple[int | None, ...], positions: tuple[int, ...] | None, found: list[str]
) -> None:
    store(database, node(*known))
    gpus = len(positions or (0,))
    store(database, polled(T0 + MINUTE, live(alloc_gpus=gpus, places=(NodeGpus("n1", positions),))))
    assert [uuid for uuid, *_ in placed(database)] == found
    assert sum(held for (held,) in times(database, "held")) == gpus * MINUTE


def test_a_hook_outranks_the_poll_in_any_order_and_the_disagreement_is_noted(tmp_path: Any) -> None:
    devices = [gpu("GPU-0", position=0), gpu("GPU-1", position=1)]
    rows = steady(T0, T0 + 2 * MINUTE, 1, 0, util_pct=900)
    segments = [
        segment(rows, seq=1, devices=devices, holdings=[hold(devices=[1])]),
        polled(T0 + MINUTE, live(), whole=True),
        polled(T0 + 2 * MINUTE, live(), whole=True),
    ]
    for database in in_any_order(tmp_path, *segments):
        store(database, polled(T0 + 3 * MINUTE, live(), whole=True))
        assert placed(database) == [("GPU-1", "hook", 0, None)]
        with database.cursor() as cursor:
            assert cursor.tuples("SELECT kind, detail, count(*) FROM event GROUP BY ALL") == [
                ("sources_disagree", "the queue says that job 100 has it, its node says another one", 1)
            ]


def test_a_poll_adds_the_gpus_on_which_no_process_was_seen(database: Database) -> None:
    devices = [gpu("GPU-0", position=0), gpu("GPU-1", position=1)]
    rows = [each for device in range(2) for each in steady(T0, T0 + 2 * MINUTE, device, util_pct=0)]
    seen = hold(devices=[0], source="cgroup")
    told_rows = [each | {"holding": 0} if each["device"] == 0 else each for each in rows]
    store(database, segment(told_rows, devices=devices, holdings=[seen]))
    store(database, polled(T0 + 2 * MINUTE, live(alloc_gpus=2, places=(NodeGpus("n1", (0, 1)),))))
    assert placed(database) == [("GPU-0", "cgroup", 0, None), ("GPU-1", "poll", 0, None)]
    assert times(database, "held", "unknown") == [(2 * MINUTE, 0)] * 2
