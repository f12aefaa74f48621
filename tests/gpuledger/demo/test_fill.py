"""Filled through the real inbox, ingest, rollups and analysis, the store says what was really the case."""

import msgspec
import pytest

from analytics.queries.slurm_usage import slurm_usage
from analytics.settings import AnalyticsSettings
from analytics.site import SiteSettings
from gpuledger.demo.fill import fill
from gpuledger.demo.labels import Label
from gpuledger.demo.settings import DemoSettings
from gpuledger.demo.truth import Truth
from store.database import Database
from store.settings import StoreSettings
from tests.gpuledger.demo.small import START_S

SETTINGS = DemoSettings(nodes=6, gpus=8, days=3)
NOW_S = START_S + 3 * 86_400 + 35 * 60 + 30
NOBODYS = {Label.HEALTHY, Label.SHORT, Label.BURSTY, Label.PAUSES, Label.SESSION_USED, Label.SERVER_USED}


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    directory = tmp_path_factory.mktemp("demo")
    days = []
    how = (StoreSettings(), AnalyticsSettings(), SiteSettings())
    done = fill(directory, SETTINGS, NOW_S * 1000, *how, on_day=days.append)
    assert days[-1] == done
    return directory, done


@pytest.fixture(scope="module")
def cursor(filled):
    with Database.open(filled[0], read_only=True, synthetic=True) as database, database.cursor() as cursor:
        yield cursor


@pytest.fixture(scope="module")
def truth(filled):
    lines = (filled[0] / "truth.jsonl").read_bytes().splitlines()
    return {line.db_index: line for line in (msgspec.json.decode(text, type=Truth) for text in lines)}


def test_everything_arrived_and_nothing_waits_or_was_refused(filled, cursor):
    directory, done = filled
    assert cursor.scalar("SELECT count(*) FROM hot") == done.rows
    assert cursor.scalar("SELECT sum(segments) FROM arrival") == done.segments
    assert cursor.scalar("SELECT count(*) FROM quarantine") == 0
    assert not list((directory / "inbox").iterdir())
    assert cursor.tuples("SELECT job, error FROM job_log WHERE NOT ok") == []


def test_held_hours_of_every_run_are_the_truth_to_the_millisecond(cursor, truth):
    held = dict(
        cursor.tuples(
            "SELECT r.db_index, sum(h.held_ms)::BIGINT FROM gpu_hour h JOIN run r USING (run_key) GROUP BY ALL"
        )
    )
    assert held == {db_index: round(line.held_gpu_s * 1000) for db_index, line in truth.items() if line.held_gpu_s}


def test_states_of_runs_are_the_truth(cursor, truth):
    assert dict(cursor.tuples("SELECT db_index, state FROM run")) == {k: line.state for k, line in truth.items()}


def test_idle_hours_are_the_truth_but_for_what_is_shorter_than_a_row(cursor, truth):
    idle = cursor.scalar("SELECT sum(idle_ms + idle_held_ms)::BIGINT FROM gpu_hour") / 1000
    assert idle == pytest.approx(sum(line.idle_gpu_s for line in truth.values()), rel=0.03)


def test_slurms_own_count_of_whole_days_is_ours(cursor):
    days = slurm_usage(cursor, START_S * 1000, NOW_S * 1000)
    rolled = [day for day in days if day.sreport_gpu_h is not None]
    assert len(rolled) > 5
    assert not [day for day in rolled if not day.agrees]


def test_sound_runs_are_left_alone(cursor, truth):
    found = cursor.tuples("SELECT r.db_index, f.rule FROM finding f JOIN run r USING (run_key)")
    assert found
    accused = [(run, rule) for run, rule in found if truth[run].label in NOBODYS and rule != "walltime_oversized"]
    assert [(rule, truth[run].name) for run, rule in accused if rule not in truth[run].advice] == []


def test_most_unused_gpus_are_found(cursor, truth):
    found = dict(cursor.tuples("SELECT r.db_index, f.rule FROM finding f JOIN run r USING (run_key)"))
    kinds = (Label.CPU_CODE, Label.UNTOUCHED, Label.SOME_UNUSED)
    barred = {run for (run,) in cursor.tuples("SELECT db_index FROM unjudged JOIN run USING (run_key)")}
    lines = [line for line in truth.values() if line.label in kinds and line.end_ms and line.held_gpu_s > 7200]
    ended = [line.db_index for line in lines if line.db_index not in barred]
    assert len(ended) > 10
    assert sum(run in found for run in ended) >= 0.95 * len(ended)


def test_filling_again_adds_nothing(tmp_path):
    tiny, how = DemoSettings(nodes=1, gpus=2, days=1), (StoreSettings(), AnalyticsSettings(), SiteSettings())
    assert fill(tmp_path, tiny, NOW_S * 1000, *how).rows > 0
    assert fill(tmp_path, tiny, NOW_S * 1000, *how).rows == 0
