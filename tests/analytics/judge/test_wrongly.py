"""From segments to findings: scenes in which somebody could be called idle wrongly, or a wrong one be named."""

from collections.abc import Sequence
from typing import Any, Final

import pytest

from analytics.footprint import footprints
from analytics.judge import judge
from analytics.settings import AnalyticsSettings
from store.database import Database
from store.segment import AccountingRun, Segment
from tests.store.building import HOUR, MINUTE, SECOND, T0, gpu, hold, segment, steady, store, told

SETTINGS: Final = AnalyticsSettings()
IDLE: Final = {
    "util_pct": 0,
    "util_below1_ratio": 1000,
    "util_watched_ms": 10_000,
    "util_readings": 10,
    "mem_used_mib": 4,
    "energy_j": 700,
    "power_w": 700,
    "processes": 0,
}
BUSY: Final = IDLE | {
    "util_pct": 900,
    "util_below1_ratio": 0,
    "mem_used_mib": 20_000,
    "energy_j": 5000,
    "power_w": 5000,
}
FOUR: Final = [gpu(f"GPU-{index}", index=index) for index in range(4)]
Row = dict[str, Any]


def accounted(*rows: AccountingRun, last_ms: int = T0 + 4 * HOUR) -> Segment:
    return segment(node="head", devices=[], last_ms=last_ms, accounting=rows)


def said(job: str, end_ms: int | None, **more: Any) -> AccountingRun:
    return told(job, **({"end_ms": end_ms, "req_gpus": 1, "suspended_s": 0} | more))


def found(db: Database, *batches: Sequence[Segment], now_ms: int | None = None) -> list[tuple[str, str, float]]:
    """Returns job and user, rule, and hours explained, of all findings."""
    for batch in batches:
        assert store(db, *batch).quarantined == 0
    with db.cursor() as cur:
        now_ms = now_ms or cur.scalar("SELECT max(last_ms) FROM node")
        footprints(db, now_ms, SETTINGS.footprint)
        judge(db, now_ms, SETTINGS)
        return cur.tuples(
            "SELECT job_id || ' ' || user_name, rule, gpu_ms / $1 FROM finding JOIN run USING (run_key) ORDER BY ALL",
            [HOUR],
        )


def unjudged(db: Database) -> list[str]:
    with db.cursor() as cur:
        return [reason for (reason,) in cur.tuples("SELECT DISTINCT reason FROM unjudged ORDER BY 1")]


def test_who_comes_after_somebody_within_an_interval_is_told_apart(db: Database) -> None:
    """Ann works until 4 s before the hour, Bob idles from then on; accounting is seconds off, both ways."""
    edge = T0 + HOUR - 4 * SECOND
    batch = [
        segment(steady(T0, edge, 0, 0, **BUSY), holdings=[hold("1", T0, edge)]),
        segment(
            steady(edge, T0 + 2 * HOUR, 0, 0, **IDLE), seq=1, holdings=[hold("2", edge, T0 + 2 * HOUR, user="bob")]
        ),
        accounted(
            said("1", T0 + HOUR - 2 * SECOND, start_ms=T0 - 2 * SECOND),
            said("2", T0 + 2 * HOUR + 2 * SECOND, start_ms=T0 + HOUR - 2 * SECOND, user="bob"),
        ),
    ]
    assert [(who, rule) for who, rule, _ in found(db, batch)] == [("2 bob", "gpu_never_used")]


def test_work_before_a_late_drop_file_is_not_called_idleness(db: Database) -> None:
    end = T0 + HOUR
    batch = [
        segment(steady(T0, T0 + 15 * MINUTE, 0, None, **BUSY)),
        segment(steady(T0 + 15 * MINUTE, end, 0, 0, **IDLE), seq=1, holdings=[hold("1", T0, end)]),
        accounted(said("1", end)),
    ]
    assert found(db, batch) == []


def test_a_clock_set_back_does_not_hide_the_work(db: Database) -> None:
    """Half an hour of work, the clock goes back half an hour, half an hour of rest: one stretch of time, twice."""
    half = T0 + 30 * MINUTE
    batch = [
        segment(steady(T0, half, 0, 0, **BUSY), holdings=[hold("1", T0)]),
        segment(steady(T0, half, 0, 0, **IDLE), seq=1, holdings=[hold("1", T0, half)]),
        accounted(said("1", half)),
    ]
    assert found(db, batch) == []
    assert found(db, batch[::-1]) == []


def test_a_node_an_hour_off_makes_nobody_idle(db: Database) -> None:
    batch = [segment(steady(T0 - HOUR, T0, 0, 0, **IDLE), holdings=[hold("1", T0 - HOUR, T0)])]
    assert found(db, [*batch, accounted(said("1", T0 + HOUR))]) == []
    assert unjudged(db) == ["less than 70 % of its time was measured"]


@pytest.mark.parametrize(
    ("asked", "rules"), [(0, []), (1, [("1 ann", "gpu_never_used", 1)]), (4, [("1 ann", "gpu_never_used", 4)])]
)
def test_only_what_was_asked_for_is_answered_for(db: Database, asked: int, rules: list[Row]) -> None:
    end = T0 + HOUR
    rows = [row for device in range(4) for row in steady(T0, end, device, 0, **IDLE)]
    batch = [segment(rows, devices=FOUR, holdings=[hold("1", T0, end, devices=range(4))])]
    assert found(db, [*batch, accounted(said("1", end, alloc_gpus=4, req_gpus=asked))]) == rules


def test_a_gpu_that_nobody_showed_may_have_worked(db: Database) -> None:
    end = T0 + HOUR
    batch = [segment(steady(T0, end, 0, 0, **IDLE), holdings=[hold("1", T0, end)])]
    assert found(db, [*batch, accounted(said("1", end, alloc_gpus=2, req_gpus=2))]) == []
    assert unjudged(db) == ["not all of its GPUs were measured"]


def test_a_requeued_job_is_not_blamed_for_the_execution_before(db: Database) -> None:
    again, end = T0 + HOUR + MINUTE, T0 + 2 * HOUR
    batch = [
        segment(steady(T0, T0 + HOUR, 0, 0, **IDLE), holdings=[hold("1", T0, T0 + HOUR)]),
        segment(steady(again, end, 0, 0, **BUSY), seq=1, holdings=[hold("1", again, end, restart=1)]),
        accounted(
            said("1", T0 + HOUR, db_index=7, state="PREEMPTED", restart=0),
            said("1", end, db_index=8, start_ms=again, restart=1),
        ),
    ]
    assert found(db, batch) == []


def test_a_job_that_slurm_holds_still_is_not_idle_right_now(db: Database) -> None:
    end = T0 + 3 * HOUR
    rows = segment(steady(T0, end, 0, 0, **IDLE), holdings=[hold("1", T0)])
    stopped = accounted(said("1", None, state="SUSPENDED"), last_ms=end)
    assert found(db, [rows, stopped]) == []
    assert unjudged(db) == ["it is suspended"]


def test_an_id_that_comes_again_is_somebody_elses(db: Database) -> None:
    later = T0 + 200 * HOUR
    batch = [
        segment(steady(T0, T0 + HOUR, 0, 0, **BUSY), holdings=[hold("1", T0, T0 + HOUR)]),
        segment(
            steady(later, later + HOUR, 0, 0, **IDLE), seq=1, holdings=[hold("1", later, later + HOUR, user="bob")]
        ),
        accounted(
            said("1", T0 + HOUR, db_index=1),
            said("1", later + HOUR, db_index=2, start_ms=later, user="bob"),
            last_ms=later + HOUR,
        ),
    ]
    assert found(db, batch) == [("1 bob", "gpu_never_used", 1)]


def test_data_that_lay_in_the_spool_for_days_finds_the_same(db: Database) -> None:
    """The hub was stopped; what the nodes kept comes newest first, a batch at a time."""
    end = T0 + 5 * HOUR
    spool = [
        segment(steady(T0 + at * HOUR, T0 + (at + 1) * HOUR, 0, 0, **IDLE), seq=at, holdings=[hold("1", T0)])
        for at in range(5)
    ]
    spool.append(segment(seq=5, first_ms=end, last_ms=end, holdings=[hold("1", T0, end)]))
    told_first = accounted(said("1", end), last_ms=end)
    assert found(db, [told_first], *([each] for each in reversed(spool))) == [("1 ann", "gpu_never_used", 5)]


def test_a_few_seconds_on_the_gpu_do_not_make_a_cpu_job_one_that_uses_it(db: Database) -> None:
    end = T0 + HOUR
    rows = steady(T0, end, 0, 0, **IDLE)
    rows[100] = {**rows[100], "util_pct": 500, "util_below1_ratio": 500}
    batch = [segment(rows, holdings=[hold("1", T0, end)]), accounted(said("1", end, cpu_s=28_000.0, alloc_cpus=8))]
    assert [(who, rule) for who, rule, _ in found(db, batch)] == [("1 ann", "cpu_only")]
    with db.cursor() as cur:
        assert cur.scalar("SELECT sentence FROM finding").startswith("The GPU computed for 5 s in 1 h.")
