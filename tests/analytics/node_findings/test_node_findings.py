"""What administrators are told of nodes, and when nothing is said: unknown is no fault."""

from pathlib import Path

import pytest

import analytics.node_findings
from analytics.model import Viewer, Window
from analytics.node_findings import NODE_RULES
from analytics.queries.node_findings import NodeFinding, node_findings
from store.database import Cursor
from tests.factories.ledger import DAY, HOUR, MINUTE, T0, Ledger

NOTHING = dict.fromkeys(
    (
        *("rows", "held_ms", "covered_ms", "active_ms", "low_ms", "idle_held_ms", "idle_ms", "unknown_ms"),
        *("unmeasurable_ms", "stray_ms", "parked_ms"),
    ),
    0,
)
WEEK = Window(start_ms=T0, end_ms=T0 + 7 * DAY)


def found(cur: Cursor, rule: str, window: Window = WEEK) -> list[NodeFinding]:
    return [each for each in node_findings(cur, Viewer(), window) if each.rule == rule]


def test_one_file_each() -> None:
    files = {file.stem for file in Path(analytics.node_findings.__file__).parent.glob("*.py")}
    assert {rule.id for rule in NODE_RULES} == files - {"__init__", "registry"}
    assert all(rule.find.__doc__ for rule in NODE_RULES)


@pytest.mark.parametrize("viewer", [Viewer(kind="user", user="ann"), Viewer(kind="account", accounts=("physics",))])
def test_they_are_the_administrators_alone(cur: Cursor, ledger: Ledger, viewer: Viewer) -> None:
    node = ledger.node("a", last_ms=T0 + DAY)
    ledger.put("event", node_key=node, ts_ms=T0 + HOUR, kind="order_disputed", detail="")
    ledger.save(cur)
    assert len(node_findings(cur, Viewer(), WEEK)) == 1
    assert node_findings(cur, viewer, WEEK) == []


class TestSilentNode:
    """Four GPUs, three hours known to Slurm as up; rows in the first of them."""

    def seen(self, cur: Cursor, ledger: Ledger, standing: str = "up", *, words: bool = True) -> list[NodeFinding]:
        node = ledger.node("a", first_ms=T0, last_ms=T0 + HOUR, interval_ms=10_000)
        gpus = [ledger.gpu(node) for _ in range(4)]
        ledger.gpu(ledger.node("b", first_ms=T0, last_ms=T0 + 3 * HOUR))
        ledger.hour(gpus[0], None, T0, active=0)
        ledger.tables["gpu_hour"][-1]["rows"] = 360
        for hour in range(3 if words else 0):
            ledger.word("a", T0 + hour * HOUR, standing=standing, gpus=4)
        ledger.save(cur)
        return found(cur, "silent_node")

    def test_no_rows_while_slurm_has_it_up(self, cur: Cursor, ledger: Ledger) -> None:
        (one,) = self.seen(cur, ledger)
        assert (one.node, one.start_ms, one.end_ms, one.gpu_h) == ("a", T0 + HOUR, T0 + 3 * HOUR, 8)
        assert one.sentence == "It sent nothing for 2 h while Slurm had it up."

    def test_what_is_down_may_be_silent(self, cur: Cursor, ledger: Ledger) -> None:
        assert self.seen(cur, ledger, "offline") == []

    def test_without_slurms_word_nothing_is_said(self, cur: Cursor, ledger: Ledger) -> None:
        assert self.seen(cur, ledger, words=False) == []


class TestStrayProcess:
    def seen(
        self, cur: Cursor, ledger: Ledger, *, minutes: float = 30, held: int | None = None, taken: bool = False
    ) -> list[NodeFinding]:
        gpu = ledger.gpu(ledger.node("a", last_ms=T0 + DAY))
        if held is not None:
            run = ledger.run(start_ms=T0 - HOUR, end_ms=T0 + held * MINUTE)
            ledger.hold(run, gpu)
        if taken:
            ledger.put("spare_hour", hour_ms=T0, node_key=1, gpu_key=gpu, kind="taken", units=1)
        process = {"pid": 7, "name": "python", "uid": 1001, "mem_max_mib": 2048, "processes": 1}
        ledger.put("process", gpu_key=gpu, first_ms=T0, last_ms=T0 + round(minutes * MINUTE), **process)
        ledger.save(cur)
        return found(cur, "stray_process")

    @pytest.mark.parametrize(("told", "count"), [(False, 0), (True, 1)])
    def test_where_a_job_could_not_be_placed_slurms_word_on_the_node_decides(
        self, cur: Cursor, ledger: Ledger, told: bool, count: int
    ) -> None:
        ledger.put("gpu_hour", hour_ms=T0, node_key=0, gpu_key=0, run_key=ledger.run(alloc_gpus=1), **NOTHING)
        if told:
            ledger.word("a", T0)
        assert len(self.seen(cur, ledger)) == count

    def test_a_program_that_no_job_stands_behind(self, cur: Cursor, ledger: Ledger) -> None:
        (one,) = self.seen(cur, ledger)
        assert (one.node, one.gpu) == ("a", 0)
        assert one.sentence == "python of user id 1001 was there for 30 min without a job, with 2.0 GiB."

    @pytest.mark.parametrize(
        ("more", "why"),
        [
            ({"minutes": 9}, "a short look, such as nvidia-smi"),
            ({"held": 30}, "a job held the GPU: whose it is may be unknown"),
            ({"held": 15}, "the end of a job takes its time"),
            ({"taken": True}, "Slurm counts a GPU in use that nobody could place"),
        ],
    )
    def test_others_are_not(self, cur: Cursor, ledger: Ledger, more: dict[str, int], why: str) -> None:
        assert self.seen(cur, ledger, **more) == [], why


class TestOrphanMemory:
    def seen(self, cur: Cursor, ledger: Ledger, **more: int) -> list[NodeFinding]:
        gpu = ledger.gpu(ledger.node("a", last_ms=T0 + DAY))
        row = {"processes_max": 0, "util_pct_max": 0, "mem_used_mib_max": 30_720, "stray_ms": HOUR} | more
        for hour in (0, 1, 5):
            ledger.hour(gpu, None, T0 + hour * HOUR)
            ledger.tables["gpu_hour"][-1].update(row)
        ledger.save(cur)
        return found(cur, "orphan_memory")

    def test_memory_with_neither_program_nor_job(self, cur: Cursor, ledger: Ledger) -> None:
        first, second = sorted(self.seen(cur, ledger), key=lambda each: each.start_ms)
        assert first.sentence == "Up to 30 GiB were in use for 2 h with no program and no job."
        assert (first.gpu, first.gpu_h, second.start_ms) == (0, 2, T0 + 5 * HOUR)

    @pytest.mark.parametrize("more", [{"processes_max": 1}, {"util_pct_max": 10}, {"stray_ms": 20 * MINUTE}])
    def test_a_program_or_work_or_a_moment_is_none(self, cur: Cursor, ledger: Ledger, more: dict[str, int]) -> None:
        assert self.seen(cur, ledger, **more) == []

    def test_whether_a_program_was_there_has_to_be_known(self, cur: Cursor, ledger: Ledger) -> None:
        assert self.seen(cur, ledger, processes_max=None) == []  # type: ignore[arg-type]


def test_a_disputed_order_is_told_once_a_node(cur: Cursor, ledger: Ledger) -> None:
    node = ledger.node("a", last_ms=T0 + DAY)
    for at_ms, detail in ((T0 + HOUR, "job 1 on GPU 2"), (T0 + 2 * HOUR, "job 3 on GPU 0"), (T0 - DAY, "before")):
        ledger.put("event", node_key=node, ts_ms=at_ms, kind="order_disputed", detail=detail)
    ledger.save(cur)
    (one,) = found(cur, "order_disputed")
    assert one.sentence == "Seen 2 times, last: job 3 on GPU 0."
    assert (one.start_ms, one.end_ms, one.gpu_h) == (T0 + HOUR, T0 + 2 * HOUR, None)


@pytest.mark.parametrize(("asked", "gpu_h"), [(1, 30), (4, None), (None, None)])
def test_gpus_that_nobody_asked_for_are_the_partitions(
    cur: Cursor, ledger: Ledger, asked: int | None, gpu_h: float | None
) -> None:
    node = ledger.node("a", last_ms=T0 + DAY)
    gpus = [ledger.gpu(node) for _ in range(4)]
    run = ledger.run(start_ms=T0, end_ms=T0 + 10 * HOUR, req_gpus=asked, alloc_gpus=4, partition="whole")
    for gpu in gpus:
        ledger.hold(run, gpu)
        for hour in range(10):
            ledger.hour(gpu, run, T0 + hour * HOUR, active=60)
    ledger.save(cur)
    rows = found(cur, "exclusive_forced")
    assert [(one.partition, one.node, one.gpu_h) for one in rows] == ([("whole", None, gpu_h)] if gpu_h else [])


@pytest.mark.parametrize(
    ("state", "event_min", "words"),
    [
        ("NODE_FAIL", None, "its node failed"),
        ("PREEMPTED", None, "of preemption"),
        ("FAILED", 5, "a GPU reported a fault"),
        ("FAILED", 15, None),
        ("FAILED", None, None),
        ("COMPLETED", 5, None),
    ],
)
def test_work_that_was_cut_off(
    cur: Cursor, ledger: Ledger, state: str, event_min: int | None, words: str | None
) -> None:
    node = ledger.node("a", last_ms=T0 + DAY)
    gpu = ledger.gpu(node)
    run = ledger.run(start_ms=T0, end_ms=T0 + 3 * HOUR, state=state)
    ledger.hold(run, gpu)
    for hour in range(3):
        ledger.hour(gpu, run, T0 + hour * HOUR, active=60)
    if event_min is not None:
        at_ms = T0 + 3 * HOUR - event_min * MINUTE
        ledger.put("event", node_key=node, gpu_key=gpu, ts_ms=at_ms, kind="xid", detail="79")
    ledger.save(cur)
    rows = [(one.node, one.gpu_h, one.sentence) for one in found(cur, "hardware_lost_hours")]
    wanted = [("a", 3, f"1 job ended because {words}; 3.0 GPU-h had been held here.")]
    assert rows == (wanted if words else [])
