"""One run in full, and how people name it."""

import pytest

from analytics.model import Filter, Viewer, Window
from analytics.queries.hours import hours
from analytics.queries.job import job, newest, resolve
from store.database import Cursor
from tests.factories.footprints import footprint_gpu, footprint_run
from tests.factories.ledger import DAY, HOUR, MINUTE, T0, Ledger

ADMIN = Viewer()


def run_ids(cur: Cursor, text: str, viewer: Viewer = ADMIN) -> list[int]:
    return resolve(cur, viewer, text)


@pytest.fixture
def named(cur: Cursor, ledger: Ledger) -> Cursor:
    ledger.run("123", start_ms=T0)  # 1
    ledger.run("123", start_ms=T0 + DAY, restart=1, user_name="bob")  # 2: the id wrapped, or the job was requeued
    ledger.run("123", start_ms=T0 + 2 * DAY, cluster="c2")  # 3
    ledger.run("500", job_id_raw="500", job_id="400_1", start_ms=T0 + HOUR)  # 4
    ledger.run("501", job_id_raw="501", job_id="400_12", start_ms=T0)  # 5
    ledger.run("600", job_id="600+1")  # 6
    ledger.run("s-n1-1000-0-17", kind="session", cluster="local")  # 7
    ledger.save(cur)
    return cur


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("123", [3, 2, 1]),
        (" 123 ", [3, 2, 1]),
        ("c1:123", [2, 1]),
        ("c2:123", [3]),
        ("c3:123", []),
        ("400_1", [4]),
        ("501", [5]),
        ("400", [4, 5]),
        ("600+1", [6]),
        ("600", [6]),
        ("s-n1-1000-0-17", [7]),
        ("local:s-n1-1000-0-17", [7]),
        ("%", []),
        ("4__", []),
        ("", []),
        (":", []),
        (":123", []),
        ("' OR TRUE --", []),
    ],
)
def test_what_people_type_for_a_run(named: Cursor, text: str, found: list[int]) -> None:
    assert run_ids(named, text) == found


def test_a_viewer_resolves_only_own_runs(named: Cursor) -> None:
    assert run_ids(named, "123", Viewer(kind="user", user="bob")) == [2]
    assert newest(named, ADMIN, "bob") == 2
    assert newest(named, ADMIN, "nobody") is None


@pytest.fixture
def whole(cur: Cursor, ledger: Ledger) -> Cursor:
    """Two of three GPUs placed: one works half of the time, one is idle."""
    node = ledger.node("n7")
    gpus = [ledger.gpu(node) for _ in range(2)]
    earlier = ledger.run("90", start_ms=T0 - DAY, end_ms=T0 - DAY + HOUR)
    ledger.hold(earlier, gpus[0])
    ledger.hour(gpus[0], earlier, T0 - DAY, active=30, idle=30, util_pct=40)
    start, end = T0 + 10 * MINUTE, T0 + 2 * HOUR
    accounted = {"alloc_gpus": 3, "req_gpus": 3, "db_index": 7, "elapsed_ms": end - start, "node_list": "n[7-8]"}
    run = ledger.run("100", start_ms=start, end_ms=end, timelimit_ms=DAY, alloc_cpus=16, **accounted)
    for gpu, spans in zip(gpus, ({"active": 25, "idle_held": 25}, {"idle": 50}), strict=True):
        ledger.hold(run, gpu)
        ledger.hour(gpu, run, T0, **spans, util_pct=20, mem_mib=40_000, power_w=140)
        ledger.hour(gpu, run, T0 + HOUR, active=60, util_pct=80, mem_mib=81_559, power_w=350)
    ledger.hour(0, run, T0, unknown=50)
    ledger.hour(0, run, T0 + HOUR, unknown=60)
    for key in (earlier, run):
        footprint_run(ledger, key, family="f1", gpus_active=1, leading_idle_ms=5 * MINUTE)
    footprint_gpu(ledger, run, gpus[0], util_p95_pct=99.0)
    ledger.finding(run, "gpus_unused")
    ledger.put("unjudged", run_key=run, rule="idle_head", reason="coverage is 0.6", gpu_ms=3 * HOUR)
    for ts, gpu, kind in (
        (T0, None, "too early"),
        (T0 + 6 * MINUTE, None, "agent_started"),
        (T0 + HOUR, 1, "gpu_lost"),
    ):
        ledger.put("event", node_key=node, gpu_key=gpu, ts_ms=ts, kind=kind, detail="")
    ledger.save(cur)
    return cur


def test_the_figures_are_those_of_the_hours(whole: Cursor) -> None:
    found = job(whole, ADMIN, 2)
    assert found is not None
    total = hours(whole, ADMIN, Window(start_ms=T0, end_ms=T0 + DAY), Filter(text="100"))
    assert (found.gpu_h, found.idle_gpu_h, found.active_gpu_h, found.unknown_gpu_h) == (
        *(total.held_gpu_h, total.idle_gpu_h, total.active_gpu_h, total.unknown_gpu_h),
    )
    assert found.slurm_gpu_h == pytest.approx(found.gpu_h)
    assert found.coverage == pytest.approx(2 / 3)
    assert found.mem_max_ratio == 1
    assert (found.util_mean_pct, found.power_mean_ratio) == (pytest.approx(580 / 11), pytest.approx(2800 / 7700))


def test_every_gpu_is_listed_also_one_that_no_node_showed(whole: Cursor) -> None:
    found = job(whole, ADMIN, 2)
    assert found is not None
    first, second, lost = found.gpus
    assert (first.gpu, first.active_ms, first.idle_held_ms, first.util_p95_pct) == (
        *("n7:0", 85 * MINUTE, 25 * MINUTE, 99.0),
    )
    assert (second.gpu, second.idle_ms, second.util_p95_pct, second.coverage) == ("n7:1", 50 * MINUTE, None, 1)
    assert (lost.gpu, lost.held_ms, lost.unknown_ms, lost.node, lost.util_mean_pct) == (
        *("not placed 1", 110 * MINUTE, 110 * MINUTE, None, None),
    )
    assert (found.seen_gpus, found.allocated_gpus, found.active_gpus) == (2, 3, 1)
    assert found.nodes == ["n7", "n8"]


def test_what_was_found_and_what_happened(whole: Cursor) -> None:
    found = job(whole, ADMIN, 2)
    assert found is not None
    assert [row.rule for row in found.findings] == ["gpus_unused"]
    assert [(row.rule, row.gpu_h) for row in found.unjudged] == [("idle_head", 3)]
    assert [(row.kind, row.gpu) for row in found.events] == [("agent_started", None), ("gpu_lost", "n7:0")]
    assert [(row.job_id, row.gpu_h, row.idle_gpu_h, row.util_mean_pct) for row in found.earlier] == [("90", 1, 0.5, 40)]
    assert sum(part.ms for part in found.strip) == found.elapsed_ms == 110 * MINUTE


def test_a_run_that_lasts_is_told_up_to_the_end_of_the_data(cur: Cursor, ledger: Ledger) -> None:
    gpu = ledger.gpu(ledger.node(last_ms=T0 + 90 * MINUTE))
    run = ledger.run(end_ms=None)
    ledger.hold(run, gpu)
    ledger.hour(gpu, run, T0, active=60)
    ledger.hour(gpu, run, T0 + HOUR, active=30)
    ledger.save(cur)
    found = job(cur, ADMIN, run)
    assert found is not None
    assert (found.gpu_h, found.elapsed_ms, found.end_ms, found.slurm_gpu_h) == (1.5, 90 * MINUTE, None, None)
    assert (found.family, found.earlier, found.active_gpus, found.nodes) == (None, [], None, ["n1"])


def test_a_run_of_somebody_else_does_not_exist(whole: Cursor) -> None:
    assert job(whole, Viewer(kind="user", user="bob"), 2) is None
    assert job(whole, ADMIN, 999) is None
