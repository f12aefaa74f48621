"""Files of every released version, and of the present one, are brought up to date and lose nothing."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from flask import Flask

from analytics.settings import AnalyticsSettings
from analytics.site import SiteSettings
from dashboard.api import create_blueprint
from dashboard.api_answers import ANSWERS
from dashboard.services import EXTENSION, Services
from store import manifest, migrations, schema
from store.asking import ask
from store.catalog import METRICS
from store.database import Database
from store.metric import Metric
from store.rebuild import mark_derived
from store.rollup import roll_up
from store.samples import FOLDER, samples
from store.schema_gpus import rollup_columns
from store.seal import seal
from store.settings import StoreSettings
from store.views import VIEWS
from tests.store.building import HOUR, MINUTE, NOW, T0, empty_store, gpu, hours, segment, steady, store
from tests.store.dumping import FIXTURES, fill, made_from, present, released_file

RELEASED = [pytest.param(number, id=f"version {number}") for number in range(1, migrations.RELEASED + 1)]
_SHAPE = """
    SELECT table_name, column_name, data_type, is_nullable, column_default FROM duckdb_columns() WHERE NOT internal
    ORDER BY ALL"""
_RULES = """
    SELECT table_name, constraint_type, constraint_column_names FROM duckdb_constraints()
    WHERE constraint_type IN ('PRIMARY KEY', 'UNIQUE') ORDER BY ALL"""
_NAMES = "SELECT sequence_name FROM duckdb_sequences() UNION ALL SELECT index_name FROM duckdb_indexes() ORDER BY ALL"


@pytest.fixture(params=[*RELEASED, pytest.param(0, id="present")])
def dump(request: pytest.FixtureRequest) -> str:
    return released_file(request.param).read_text(encoding="utf-8") if request.param else present()


def shape(database: Database) -> list[Any]:
    with database.cursor() as cursor:
        return [cursor.tuples(statement) for statement in (_SHAPE, _RULES, _NAMES)]


def test_every_released_version_has_its_file_and_no_other_has() -> None:
    """Before a release run `python -m tests.store.dumping` and set store.migrations.RELEASED.

    From then on that version of the schema never changes, and the next one is another tuple of statements.
    """
    assert 0 <= migrations.RELEASED <= len(schema.VERSIONS)
    assert sorted(FIXTURES.glob("schema-*.sql")) == [released_file(n) for n in range(1, migrations.RELEASED + 1)]
    assert len(schema.VERSIONS) <= migrations.RELEASED + 1  # what is not released yet is one version


def test_an_old_file_becomes_as_a_new_one(dump: str, tmp_path: Path) -> None:
    """Fails where a released version was changed in place: the file of that time then lacks what changed."""
    made_from(dump, tmp_path / "old")
    with Database.open(tmp_path / "old") as old, empty_store(tmp_path / "new") as new:
        assert shape(old) == shape(new)
    Database.open(tmp_path / "old", read_only=True).close()


def test_no_row_is_lost(dump: str, tmp_path: Path) -> None:
    made_from(dump, tmp_path / "old")
    rows: dict[str, int] = {}
    for line in dump.splitlines():
        if line.startswith("INSERT INTO "):
            name = line.split()[2]
            rows[name] = rows.get(name, 0) + 1
    assert rows["hot"] == 120
    assert rows["act"] == rows["note"] == rows["finding"] == 1
    with Database.open(tmp_path / "old") as database, database.cursor() as cursor:
        found = {name: cursor.scalar(f"SELECT count(*) FROM {name}") for name in rows}
        assert found == rows
        assert cursor.tuples("SELECT subject, note FROM act") == [("x'; DROP TABLE act; --", "größer")]


def test_every_query_of_the_pages_answers(dump: str, tmp_path: Path) -> None:
    made_from(dump, tmp_path / "old")
    with Database.open(tmp_path / "old") as database:
        app = Flask("old", static_folder=None)
        app.extensions[EXTENSION] = given = Services(
            cursor=database.request, now_ms=lambda: NOW, site=SiteSettings(), analytics=AnalyticsSettings()
        )
        app.register_blueprint(create_blueprint(given))
        client = app.test_client()
        for path in ANSWERS:
            place = path.replace("<path:text>", "100").replace("<int:finding_id>", "1").replace("<path:name>", "n1")
            answer = client.get(f"/api/v1{place}")
            assert answer.status_code == 200, (path, answer.text)
        [job] = client.get("/api/v1/jobs?from=2026-11-23&to=2026-11-24").json["items"]
        assert (job["job_id"], round(job["gpu_h"], 3)) == ("100", round(1 + 3 / 7, 3))
        for view in VIEWS:
            assert ask(database, f"FROM {view}", 10, 30).rows, view


def test_a_column_that_came_without_a_version_is_seen(tmp_path: Path) -> None:
    """What the comparison above rests on."""
    made_from(present(), tmp_path / "old")
    with Database.open(tmp_path / "old") as old, empty_store(tmp_path / "new") as new:
        with old.cursor() as cursor:
            cursor.execute("ALTER TABLE act DROP COLUMN note")
        assert shape(old) != shape(new)


def without(database: Database, metric: Metric) -> None:
    """Takes a metric out of a store, as if it was of an earlier catalogue."""
    with database.cursor() as cursor:
        cursor.execute(f"ALTER TABLE hot DROP COLUMN {metric.name}")
        for table in ("gpu_hour", "gpu_minute"):
            for column in rollup_columns(metric):
                cursor.execute(f"ALTER TABLE {table} DROP COLUMN {column.split()[0]}")
        for each in manifest.files(cursor):
            path = database.directory / FOLDER / each.file
            content = pq.read_table(path, partitioning=None)
            if metric.name in content.column_names:
                content = content.drop_columns([metric.name])
            pq.write_table(content, path)
            told = [",".join(content.column_names), each.file]
            cursor.execute("UPDATE sealed SET columns = $1 WHERE file = $2", told)


@pytest.mark.parametrize("metric", [METRICS[-1], METRICS[len(METRICS) // 2], METRICS[1]], ids=lambda each: each.name)
def test_a_new_metric_is_one_line_wherever_in_the_catalogue(tmp_path: Path, metric: Metric) -> None:
    """Old files, hot and sealed, lack it and are read with NULL; new rows have it, and every other value its place."""
    with empty_store(tmp_path / "data") as database:
        fill(database)
        assert seal(database, StoreSettings(seal_after_s=0), NOW) == 120
        before = hours(database)
        without(database, metric)
    rows = steady(T0 + 2 * HOUR, T0 + 3 * HOUR, 0, None, MINUTE, **{each.name: 50 for each in METRICS})
    with Database.open(tmp_path / "data") as old, empty_store(tmp_path / "new") as new:
        fill(new)
        for database in (old, new):
            store(database, segment(rows, seq=5, devices=[gpu("GPU-1")]))
            mark_derived(database)
            while roll_up(database):
                pass
            seal(database, StoreSettings(seal_after_s=0), NOW)
        names = {column.split()[0] for column in rollup_columns(metric)}
        late = [row for row in hours(new) if row["hour_ms"] == T0 + 2 * HOUR]
        assert [row for row in hours(old) if row["hour_ms"] == T0 + 2 * HOUR] == late
        assert all(late[0][name] for name in names)
        kept = [{name: value for name, value in row.items() if name not in names} for row in hours(old)]
        assert [row for row in kept if row["hour_ms"] == T0] == [
            {name: value for name, value in row.items() if name not in names} for row in before
        ]
        counted = f"SELECT count(*), count({metric.name}) FROM"
        with old.cursor() as cursor, samples(cursor, 0, NOW):
            assert cursor.tuples(f"{counted} samples") == [(180, 60)]
        assert ask(old, f"{counted} gpu_samples", 10, 30).rows == [(180, 60)]
