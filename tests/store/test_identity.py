"""Holdings and accounting become runs: each execution once, whatever comes first."""

from collections.abc import Iterable
from itertools import permutations
from typing import Any

import pytest

from store.database import Database
from store.segment import Segment
from tests.store.building import HOUR, MINUTE, SECOND, T0, empty_store, gpu, hold, hours, segment, steady, store, told

BUSY = {"util_pct": 900}


def runs(
    database: Database, fields: str = "job_id, start_ms - $1, end_ms - $1, state, db_index"
) -> list[tuple[Any, ...]]:
    with database.cursor() as cursor:
        return cursor.tuples(f"SELECT {fields} FROM run WHERE $1 > 0 ORDER BY start_ms, job_id", [T0])


def allocations(database: Database) -> list[tuple[Any, ...]]:
    with database.cursor() as cursor:
        return cursor.tuples(
            "SELECT g.uuid, a.start_ms - $1, a.end_ms - $1, a.source "
            "FROM allocation a JOIN gpu g USING (gpu_key) ORDER BY 2, 1",
            [T0],
        )


def held(seq: int, *holdings: Any, to_ms: int, node: str = "n1", uuid: str = "GPU-0") -> Segment:
    """A segment of the minute before ``to_ms`` whose first holding the GPU worked for."""
    rows = steady(to_ms - MINUTE, to_ms, 0, 0 if holdings else None, **BUSY)
    return segment(rows, seq=seq, holdings=holdings, node=node, devices=[gpu(uuid)])


def told_by(*rows: Any, seq: int = 0, at_ms: int = T0 + 10 * HOUR) -> Segment:
    return segment(node="ctl", seq=seq, devices=[], accounting=rows, first_ms=at_ms, last_ms=at_ms)


def in_any_order(tmp_path: Any, *segments: Segment) -> Iterable[Database]:
    """A store for each order in which the segments may come one by one, and one for all as a batch."""
    ways = [[[one] for one in order] for order in permutations(segments)]
    for number, batches in enumerate([*ways, [list(reversed(segments))]]):
        with empty_store(tmp_path / str(number)) as database:
            for batch in batches:
                store(database, *batch)
            yield database


def test_holding_and_accounting_are_one_run_in_any_order(tmp_path: Any) -> None:
    segments = [
        held(1, hold(start_ms=T0 + 3_200), to_ms=T0 + 2 * MINUTE),
        held(2, hold(start_ms=T0 + 3_200, end_ms=T0 + 3 * MINUTE - 700), to_ms=T0 + 3 * MINUTE),
        told_by(told(start_ms=T0 + SECOND, end_ms=T0 + 3 * MINUTE - 2 * SECOND)),
    ]
    for database in in_any_order(tmp_path, *segments):
        assert runs(database) == [("100", SECOND, 3 * MINUTE - 2 * SECOND, "COMPLETED", 1000)]
        assert allocations(database) == [("GPU-0", SECOND, 3 * MINUTE - 2 * SECOND, "hook")]
        assert sum(each["held_ms"] for each in hours(database)) == 3 * MINUTE - 3 * SECOND


def test_a_requeued_job_has_two_runs_in_any_order(tmp_path: Any) -> None:
    """Its first node dies, so nobody sees the first run end."""
    second = T0 + 30 * MINUTE
    segments = [
        held(1, hold(), to_ms=T0 + 2 * MINUTE),
        held(
            2, hold(start_ms=second, restart=1, end_ms=second + MINUTE), to_ms=second + MINUTE, node="n2", uuid="GPU-2"
        ),
        told_by(
            told(db_index=1, end_ms=T0 + 10 * MINUTE, state="NODE_FAIL"),
            told(db_index=2, start_ms=second, end_ms=second + MINUTE),
        ),
    ]
    for database in in_any_order(tmp_path, *segments):
        assert runs(database) == [
            ("100", 0, 10 * MINUTE, "NODE_FAIL", 1),
            ("100", 30 * MINUTE, 31 * MINUTE, "COMPLETED", 2),
        ]
        assert runs(database, "restart, $1 - $1") == [(0, 0), (1, 0)]
        assert allocations(database) == [("GPU-0", 0, 10 * MINUTE, "hook"), ("GPU-2", 30 * MINUTE, 31 * MINUTE, "hook")]


def test_a_reused_id_is_another_run(database: Database) -> None:
    store(database, held(1, hold(end_ms=T0 + MINUTE), to_ms=T0 + MINUTE))
    store(database, held(2, hold(start_ms=T0 + 9 * HOUR), to_ms=T0 + 9 * HOUR + MINUTE))
    assert [(start, end) for _, start, end, *_ in runs(database)] == [(0, MINUTE), (9 * HOUR, None)]


def test_a_job_on_two_nodes_is_one_run_and_ends_with_the_last(tmp_path: Any) -> None:
    segments = [
        held(1, hold(end_ms=T0 + 2 * MINUTE), to_ms=T0 + 2 * MINUTE),
        held(1, hold(start_ms=T0 + 4 * SECOND), to_ms=T0 + 2 * MINUTE, node="n2", uuid="GPU-2"),
        held(2, hold(start_ms=T0 + 4 * SECOND, end_ms=T0 + 3 * MINUTE), to_ms=T0 + 3 * MINUTE, node="n2", uuid="GPU-2"),
    ]
    for database in in_any_order(tmp_path, *segments):
        assert runs(database) == [("100", 0, 3 * MINUTE, "ENDED", None)]
        assert allocations(database) == [("GPU-0", 0, 2 * MINUTE, "hook"), ("GPU-2", 4 * SECOND, 3 * MINUTE, "hook")]


def test_two_sights_with_a_gap_between_are_joined_by_what_spans_both(tmp_path: Any) -> None:
    """One node saw the run early, another, without hooks, late; accounting says that it is one run."""
    late = T0 + 5 * HOUR
    segments = [
        held(1, hold(), to_ms=T0 + MINUTE),
        held(1, hold(start_ms=late, source="cgroup"), to_ms=late + MINUTE, node="n2", uuid="GPU-2"),
        told_by(told(end_ms=T0 + 6 * HOUR, alloc_gpus=2)),
    ]
    for database in in_any_order(tmp_path, *segments):
        assert runs(database) == [("100", 0, 6 * HOUR, "COMPLETED", 1000)]
        assert allocations(database) == [("GPU-0", 0, 6 * HOUR, "hook"), ("GPU-2", 0, 6 * HOUR, "cgroup")]
        with database.cursor() as cursor:
            assert cursor.scalar("SELECT count(DISTINCT run_key) FROM hot") == 1
        assert sum(each["held_ms"] for each in hours(database)) == 12 * HOUR


def test_the_pieces_of_a_resized_job_are_one_run(tmp_path: Any) -> None:
    """Slurm ends a row as RESIZING at each change of size and begins another one with an index of its own."""
    first = told(db_index=1, end_ms=T0 + 10 * MINUTE, state="RESIZING", alloc_gpus=2)
    second = told(db_index=2, start_ms=T0 + 10 * MINUTE, end_ms=T0 + 20 * MINUTE, state="RESIZING", alloc_gpus=4)
    last = told(db_index=3, start_ms=T0 + 20 * MINUTE, end_ms=T0 + 30 * MINUTE, alloc_gpus=1)
    segments = [
        held(1, hold(end_ms=T0 + 30 * MINUTE), to_ms=T0 + 30 * MINUTE),
        told_by(first, last, seq=1),
        told_by(second, first, seq=2),
    ]
    for database in in_any_order(tmp_path, *segments):
        assert runs(database) == [("100", 0, 30 * MINUTE, "COMPLETED", 3)]
        assert allocations(database) == [("GPU-0", 0, 30 * MINUTE, "hook")]
        assert sum(each["held_ms"] for each in hours(database)) == 30 * MINUTE


def test_a_resized_job_that_runs_on_has_no_end(database: Database) -> None:
    first = told(db_index=1, end_ms=T0 + 10 * MINUTE, state="RESIZING")
    store(database, told_by(first))
    assert runs(database) == [("100", 0, 10 * MINUTE, "RESIZING", 1)]
    store(database, told_by(told(db_index=2, start_ms=T0 + 10 * MINUTE), seq=1))
    assert runs(database) == [("100", 0, None, "RUNNING", 2)]


def test_accounting_sent_again_changes_nothing(database: Database) -> None:
    row = told(end_ms=T0 + HOUR)
    store(database, told_by(row))
    with database.cursor() as cursor:
        cursor.execute("DELETE FROM dirty_run")
    store(database, told_by(row, seq=1))
    assert len(runs(database)) == 1


def test_running_rows_update_and_an_old_one_does_not_undo(tmp_path: Any) -> None:
    segments = [
        told_by(told(state="RUNNING", name="a"), seq=0, at_ms=T0 + MINUTE),
        told_by(told(state="RUNNING", name="b", elapsed_s=120), seq=1, at_ms=T0 + 2 * MINUTE),
        told_by(told(end_ms=T0 + 3 * MINUTE, state="TIMEOUT", name="c"), seq=2, at_ms=T0 + 4 * MINUTE),
    ]
    for database in in_any_order(tmp_path, *segments):
        assert runs(database, "name, state, end_ms - $1") == [("c", "TIMEOUT", 3 * MINUTE)]


def test_what_never_ran_is_no_run(database: Database) -> None:
    never = told("1", start_ms=None, end_ms=T0 + HOUR, state="CANCELLED by 0")
    no_gpu = told("2", end_ms=T0 + HOUR, alloc_gpus=0)
    not_counted = told("3", end_ms=T0 + HOUR, alloc_gpus=None)
    store(database, told_by(never, no_gpu, not_counted))
    assert runs(database) == []


def test_accounting_without_gpu_counts_describes_a_run_that_a_node_saw(database: Database) -> None:
    """AccountingStorageTRES without gres/gpu: sacct knows the job and no GPU of it."""
    store(database, held(1, hold(user=None, uid=1001), to_ms=T0 + MINUTE))
    store(database, told_by(told(end_ms=T0 + MINUTE, alloc_gpus=None, has_batch_step=False, timelimit_s=60, cpu_s=1.5)))
    found = runs(database, "user_name, uid, account, state, interactive, timelimit_ms, cpu_ms, $1 - $1")
    assert found == [("ann", 1001, "physics", "COMPLETED", True, 60_000, 1500, 0)]


@pytest.mark.parametrize(("has_batch_step", "interactive"), [(True, False), (False, True), (None, None)])
def test_interactive_is_a_job_without_a_batch_step(database: Database, has_batch_step: Any, interactive: Any) -> None:
    store(database, told_by(told(end_ms=T0 + HOUR, has_batch_step=has_batch_step)))
    assert runs(database, "interactive, $1 - $1") == [(interactive, 0)]


def test_array_tasks_and_node_lists(database: Database) -> None:
    store(database, told_by(told("7", end_ms=T0 + HOUR, job_id="5_2", nodes=("n1", "n2", "n3", "x9"))))
    assert runs(database, "job_id, job_id_raw, nodes, node_list, $1 - $1") == [("5_2", "7", 4, "n[1-3],x9", 0)]


def test_a_node_that_sees_the_end_ends_the_run_before_accounting_does(database: Database) -> None:
    store(database, told_by(told(state="RUNNING"), at_ms=T0 + MINUTE))
    store(database, held(1, hold(end_ms=T0 + 2 * MINUTE), to_ms=T0 + 2 * MINUTE))
    assert runs(database) == [("100", 0, 2 * MINUTE, "ENDED", 1000)]


def test_sessions_end_where_they_were_last_seen(database: Database) -> None:
    def seen(seq: int, to_ms: int, *holdings: Any) -> None:
        rows = steady(to_ms - MINUTE, to_ms, 0, 0 if holdings else None, **BUSY)
        store(database, segment(rows, seq=seq, node="pc", slurm=False, holdings=holdings, cluster="pc"))

    session = hold("s-1", kind="session", cluster="pc", source="process")
    seen(1, T0 + MINUTE, session)
    assert runs(database) == [("s-1", 0, None, "RUNNING", None)]
    assert allocations(database) == [("GPU-0", 0, MINUTE, "process")]
    seen(2, T0 + 2 * MINUTE, session)
    assert allocations(database) == [("GPU-0", 0, 2 * MINUTE, "process")]
    # The agent was killed and knows nothing of it any more.
    other = hold("s-2", start_ms=T0 + HOUR, kind="session", cluster="pc", source="process")
    seen(3, T0 + HOUR + MINUTE, other)
    found = [(job, end) for job, _, end, *_ in runs(database)]
    assert found == [("s-1", 2 * MINUTE), ("s-2", None)]
    assert sum(each["held_ms"] for each in hours(database)) == 3 * MINUTE


def test_the_wait_after_the_last_process_of_a_session_is_nobodys(tmp_path: Any) -> None:
    """The agent lists it as lasting until nobody came back, then tells when its last process was seen."""
    session = hold("s-1", kind="session", cluster="pc", source="process")
    told_end = hold("s-1", kind="session", cluster="pc", source="process", end_ms=T0 + MINUTE)
    segments = [
        segment(
            steady(T0 + seq * MINUTE, T0 + (seq + 1) * MINUTE, 0, 0 if listed else None, **BUSY),
            seq=seq,
            node="pc",
            slurm=False,
            holdings=listed,
            cluster="pc",
        )
        for seq, listed in enumerate([(session,), (session,), (told_end,)])
    ]
    for database in in_any_order(tmp_path, *segments):
        assert runs(database) == [("s-1", 0, MINUTE, "ENDED", None)]
        assert allocations(database) == [("GPU-0", 0, MINUTE, "process")]
        assert sum(each["held_ms"] for each in hours(database)) == MINUTE


@pytest.mark.parametrize(("alloc_gpus", "is_shared"), [(None, True), (1, False)])
def test_what_may_be_a_shard_is_one_unless_accounting_counts_a_gpu(
    tmp_path: Any, alloc_gpus: int | None, is_shared: bool
) -> None:
    """AllocTRES of a job with shards or MPS has no gres/gpu."""
    segments = [
        held(1, hold(may_share=True), to_ms=T0 + 2 * MINUTE),
        told_by(told(start_ms=T0, end_ms=T0 + 2 * MINUTE, alloc_gpus=alloc_gpus)),
    ]
    for database in in_any_order(tmp_path, *segments):
        assert runs(database, "job_id, shared") == [("100", is_shared)]


def test_a_run_seen_to_share_shares_whatever_accounting_counts(tmp_path: Any) -> None:
    segments = [
        held(1, hold(shared=True, may_share=True), to_ms=T0 + 2 * MINUTE),
        told_by(told(start_ms=T0, end_ms=T0 + 2 * MINUTE)),
    ]
    for database in in_any_order(tmp_path, *segments):
        assert runs(database, "job_id, shared") == [("100", True)]


def test_the_best_source_of_a_hold_is_kept(tmp_path: Any) -> None:
    segments = [held(seq, hold(source=source), to_ms=T0 + seq * MINUTE) for seq, source in ((1, "cgroup"), (2, "hook"))]
    for database in in_any_order(tmp_path, *segments):
        assert [source for *_, source in allocations(database)] == ["hook"]
