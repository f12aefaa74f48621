"""From what nodes and accounting sent to what people are told, where part of it never came."""

from pathlib import Path

import pytest

from analytics.model import Filter, Viewer, Window
from analytics.queries import findings
from analytics.queries.hours import total
from analytics.queries.jobs import jobs
from analytics.queries.lanes import lanes
from analytics.queries.series import metrics
from analytics.schedule import JobRunner, analysis_jobs
from analytics.settings import AnalyticsSettings
from store.database import Database
from store.settings import StateSettings
from tests.store.building import HOUR, NOW, SECOND, T0, empty_store, gpu, hold, segment, steady, store, told

ALL = Window(start_ms=T0, end_ms=T0 + 24 * HOUR)


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return empty_store(tmp_path / "data")


def analyse(database: Database) -> None:
    runner = JobRunner(database, lambda: NOW, 30)
    jobs = analysis_jobs(AnalyticsSettings(), StateSettings(), "UTC")
    assert [run.error for run in map(runner.run, jobs) if not run.ok] == []


def test_a_collector_that_was_down_leaves_a_gap_and_accuses_nobody(database: Database) -> None:
    """An idle hour, two hours without a row and an idle half hour: the mean is over what was measured."""
    back_ms, end_ms = T0 + 3 * HOUR, T0 + 3 * HOUR + HOUR // 2
    rows = [
        *steady(T0, T0 + HOUR, 0, 0, 10 * SECOND, util_pct=0, power_w=700),
        *steady(back_ms, end_ms, 0, 0, 10 * SECOND, util_pct=300, power_w=3000),
    ]
    accounting = [told("100", T0, end_ms, alloc_gpus=1)]
    store(database, segment(rows, devices=[gpu()], holdings=[hold("100", T0, end_ms)], accounting=accounting))
    analyse(database)
    with database.cursor() as cursor:
        found = total(cursor, Viewer(), ALL, Filter())
        assert (found.held_gpu_h, found.idle_gpu_h, found.active_gpu_h, found.unknown_gpu_h) == (3.5, 1, 0.5, 2)
        assert found.coverage == pytest.approx(1.5 / 3.5)
        assert found.util_mean_pct == pytest.approx(30 * 0.5 / 1.5)
        assert findings.findings(cursor, Viewer(), ALL, Filter()).items == []
        assert findings.unjudged(cursor, Viewer(), ALL, Filter()) != []
        [(run_key,)] = cursor.tuples("SELECT run_key FROM run")
        [lane] = lanes(cursor, Viewer(), run_key).lanes
        assert [(each.state, each.start_ms, each.end_ms) for each in lane.stretches] == [
            ("idle", T0, T0 + HOUR),
            ("unknown", T0 + HOUR, back_ms),
            ("active", back_ms, end_ms),
        ]
        series = metrics(cursor, Viewer(), run_key, ["util_pct"])
        [line] = series.gpus
        gap = [
            value
            for at_ms, value in zip(line.at_ms, line.values["util_pct"], strict=True)
            if T0 + HOUR <= at_ms < back_ms
        ]
        assert gap == [] or set(gap) == {None}  # nothing is drawn between, and nothing joins both ends
        assert series.resolution_ms < HOUR


def test_a_job_of_which_only_accounting_knows_is_there_and_not_judged(database: Database) -> None:
    """Two GPUs and no node: it held them, and what it did with them is unknown."""
    store(database, segment([], devices=[], accounting=[told("100", T0, T0 + 2 * HOUR, alloc_gpus=2, nodes=())]))
    analyse(database)
    with database.cursor() as cursor:
        [job] = jobs(cursor, Viewer(), ALL, Filter()).items
        assert (job.job_id, job.gpu_h, job.unknown_gpu_h, job.util_mean_pct) == ("100", 4.0, 4.0, None)
        assert findings.findings(cursor, Viewer(), ALL, Filter()).items == []
        not_judged = findings.unjudged(cursor, Viewer(), ALL, Filter())
        assert not_judged
        assert {(row.runs, row.gpu_h) for row in not_judged} == {(1, 4.0)}


def test_a_job_without_gpus_is_in_no_list(database: Database) -> None:
    accounting = [told("100", T0, T0 + HOUR, alloc_gpus=0), told("101", T0, T0 + HOUR, alloc_gpus=1)]
    store(database, segment([], devices=[], accounting=accounting))
    analyse(database)
    with database.cursor() as cursor:
        assert [job.job_id for job in jobs(cursor, Viewer(), ALL, Filter()).items] == ["101"]
        assert total(cursor, Viewer(), ALL, Filter()).runs == 1
        assert {row.runs for row in findings.unjudged(cursor, Viewer(), ALL, Filter())} == {1}
        assert cursor.tuples("SELECT job_id FROM footprint_run JOIN run USING (run_key)") == [("101",)]
