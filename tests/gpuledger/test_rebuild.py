"""What is derived is computed anew to equal rows; what people did and what was sent is touched by nothing."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from analytics.schedule import Job, JobRunner, analysis_jobs
from analytics.settings import AnalyticsSettings
from analytics.site import SiteSettings
from gpuledger.demo.fill import fill
from gpuledger.demo.settings import DemoSettings
from gpuledger.upkeep import upkeep_jobs
from store import schema
from store.backup import back_up
from store.database import Database
from store.rebuild import DERIVED, NEVER_DERIVED, SOURCE, mark_derived
from store.restore import restore
from store.retention import retain
from store.settings import StoreSettings
from tests.e2e.ledger import Running, until
from tests.factories.ledger import DAY, HOUR, MINUTE, T0
from tests.gpuledger.said import refused, said
from tests.store.building import empty_store, hold, segment, steady, store

NOW = T0 + 7 * DAY
STORE = StoreSettings(seal_after_s=0)
DEMO = DemoSettings(nodes=2, gpus=2, days=2, interval_s=60)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The synthetic cluster, its raw rows sealed, with a row in every table of what people did."""
    folder = tmp_path_factory.mktemp("rebuild")
    analytics = AnalyticsSettings()
    fill(folder, DEMO, NOW, STORE, analytics, SiteSettings(), more=upkeep_jobs(STORE))
    with Database.open(folder) as database, database.cursor() as cursor:
        for table in NEVER_DERIVED:
            kinds = cursor.tuples("SELECT data_type FROM duckdb_columns() WHERE table_name = $1", [table])
            values = ", ".join("'x\u00e4'" if kind == "VARCHAR" else "7" for (kind,) in kinds)
            cursor.execute(f"INSERT INTO {table} VALUES ({values})")
    return folder


@pytest.fixture
def copied(filled: Path, tmp_path: Path) -> Path:
    with Database.open(filled, read_only=True) as database:
        back_up(database, tmp_path / "backup", NOW, "0.1.0")
    restore(tmp_path / "backup", tmp_path / "data", NOW)
    return tmp_path / "data"


def dumped(database: Database, tables: tuple[str, ...]) -> dict[str, list[Any]]:
    with database.cursor() as cursor:
        return {name: cursor.tuples(f"SELECT * FROM {name} ORDER BY ALL") for name in tables}


def analyse(database: Database) -> None:
    runner = JobRunner(database, lambda: NOW, 30)
    jobs: tuple[Job, ...] = analysis_jobs(AnalyticsSettings(), STORE.states, "UTC")
    assert [run.error for run in map(runner.run, jobs) if not run.ok] == []


def test_every_table_is_never_derived_source_or_derived() -> None:
    tables = {
        found[1].strip('"')
        for version in schema.VERSIONS
        for statement in version
        if (found := re.match(r"CREATE TABLE (\S+)", statement))
    }
    classed = [*NEVER_DERIVED, *DERIVED, *SOURCE]
    assert len(classed) == len(set(classed))
    assert tables == set(classed)


def lost(database: Database, tables: tuple[str, ...]) -> None:
    with database.cursor() as cursor:
        for name in tables:
            cursor.execute(f"DELETE FROM {name}")


def nothing(_: Database) -> None:
    """The rows are as they were."""


def rollups_lost(database: Database) -> None:
    lost(
        database,
        ("gpu_hour", "gpu_minute", "spare_hour", "spare_minute", "node_hour", "node_day", "holder_hour", "holder_day"),
    )


def analysis_lost(database: Database) -> None:
    lost(database, ("footprint_gpu", "footprint_run", "unjudged", "finding_hour"))


def wrong(database: Database) -> None:
    with database.cursor() as cursor:
        cursor.execute("UPDATE gpu_hour SET held_ms = held_ms + 1, idle_ms = 0")
        cursor.execute("UPDATE footprint_run SET util_mean_pct = 99")
        cursor.execute("UPDATE finding SET gpu_ms = 1, sentence = 'wrong'")
        cursor.execute("INSERT INTO unjudged VALUES (999999, 'x', 'of no run', 0)")


@pytest.mark.parametrize("happened", [nothing, rollups_lost, analysis_lost, wrong], ids=lambda each: each.__name__)
def test_a_rebuild_gives_equal_rows(copied: Path, happened: Callable[[Database], None]) -> None:
    with Database.open(copied) as database:
        analyse(database)
        before, kept = dumped(database, DERIVED), dumped(database, NEVER_DERIVED)
        assert all(before[name] for name in ("gpu_hour", "node_day", "footprint_run", "finding", "recommendation"))
        happened(database)
        marked = mark_derived(database)
        assert marked.from_ms is not None
        assert marked.runs == len(before["footprint_run"])
        analyse(database)
        after = dumped(database, DERIVED)
        assert {name for name in DERIVED if after[name] != before[name]} == set()
        assert dumped(database, NEVER_DERIVED) == kept


def test_what_people_did_outlives_backup_restore_and_rebuild(filled: Path, copied: Path) -> None:
    with Database.open(filled, read_only=True) as old:
        wanted = dumped(old, NEVER_DERIVED)
    assert all(wanted.values())
    assert said("rebuild", "--data", copied).code == 0
    with Database.open(copied) as database:
        assert dumped(database, NEVER_DERIVED) == wanted


def test_what_has_no_raw_rows_any_more_stays(copied: Path) -> None:
    with Database.open(copied) as database:
        analyse(database)
        retain(database, msgspec.structs.replace(STORE, raw_days=1, minute_days=180), NOW)
        before = dumped(database, DERIVED)
        marked = mark_derived(database)
        assert marked.from_ms == NOW - DAY
        analyse(database)
        after = dumped(database, DERIVED)
        assert {
            name for name in ("gpu_hour", "gpu_minute", "footprint_gpu", "footprint_run") if after[name] != before[name]
        } == set()


def test_the_command_says_from_which_day(copied: Path, tmp_path: Path) -> None:
    done = said("rebuild", "--data", copied)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("Computed anew from 2026-11-28")
    assert "holds no data yet" in refused("rebuild", "--data", tmp_path / "none")


def test_a_running_hub_computes_beside_its_work(tmp_path: Path) -> None:
    with empty_store(tmp_path / "data") as database:
        rows = steady(T0, T0 + HOUR, 0, 0, MINUTE, util_pct=900)
        store(database, segment(rows, holdings=[hold("100", T0, T0 + HOUR)]))
        before = dumped(database, ("gpu_hour", "gpu_minute", "node_hour", "node_day"))
        rollups_lost(database)
    hub = Running(tmp_path / "log", "serve", "--data", tmp_path / "data", "--port", 0)
    try:
        assert hub.address
        done = said("rebuild", "--data", tmp_path / "data")
        assert done.code == 0
        assert done.out.startswith("The hub computes 4 hours of nodes and 1 run anew, from 2026-11-23 on")
        until("the hours are there", lambda: not hub.json("/api/v1/health")["pending_hours"])
        assert hub.stop() == 0
    finally:
        hub.end()
    with Database.open(tmp_path / "data") as database:
        assert dumped(database, tuple(before)) == before
