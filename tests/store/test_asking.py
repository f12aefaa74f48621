"""One SELECT of somebody's own: what it may read, what it is refused, and that it ends."""

import threading
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from store import tokens
from store.asking import BadQuery, Found, ask
from store.database import Database
from store.errors import QueryTimeout, StoreError
from store.settings import StoreSettings
from tests.store.building import NOW, T0, segment, steady, store

REFUSED = (
    "",
    "SELECT",
    "SELECT 1; SELECT 2",
    "SELECT 1; DROP TABLE hot",
    "INSERT INTO meta VALUES ('a', 'b')",
    "WITH made AS (INSERT INTO meta VALUES ('a', 'b') RETURNING *) FROM made",
    "SELECT nextval('node_keys')",
    "COPY meta TO 'out.csv'",
    "ATTACH 'other.duckdb'",
    "PRAGMA database_list",
    "CALL pragma_version()",
    "SET threads = 1",
    "EXPLAIN ANALYZE SELECT 1",
    "PREPARE x AS SELECT 1",
    "LOAD httpfs",
    "INSTALL httpfs",
    "CREATE TEMP TABLE x AS SELECT 1",
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM read_text('/etc/passwd')",
    "SELECT * FROM glob('/etc/*')",
    "SELECT * FROM '/etc/passwd'",
    "SELECT * FROM 'https://localhost:9/a.parquet'",
    "SELECT * FROM query('FROM meta')",
    "SELECT * FROM query_table('meta')",
    "SELECT * FROM duckdb_secrets()",
    "SELECT * FROM duckdb_settings()",
    "SELECT * FROM json_execute_serialized_sql('x')",
    "SELECT getenv('HOME')",
    "SELECT $1",
    "SELECT nowhere",
    "SELECT 'x'::INTEGER",
    "SELECT " + "1 + " * 2_000 + "1",
    "-- " + "x" * 200_000,
)
AT_SECRETS = (
    "FROM token",
    "FROM TOKEN",
    'FROM "token"',
    "FROM main.token",
    "FROM gpuledger.main.token",
    "SUMMARIZE token",
    "SELECT (SELECT max(sha256) FROM token)",
    "SELECT 1 WHERE EXISTS (FROM token)",
    "WITH token AS (FROM token) FROM token",
    "WITH x AS (FROM token) FROM x",
    "SELECT list_transform([1], x -> (SELECT max(sha256) FROM token))",
    "SELECT 1 ORDER BY (SELECT max(sha256) FROM token)",
    "SELECT 1 LIMIT (SELECT count(*) FROM token)",
    "FROM node POSITIONAL JOIN token",
    "FROM node, LATERAL (FROM token)",
    "SELECT * FROM query('FROM token')",
    "SELECT * FROM query_table('token')",
    "SELECT * FROM read_blob('{data}/gpuledger.duckdb')",
    "SELECT * FROM '{data}/gpuledger.duckdb'",
)
NAMED_LIKE_A_FILE = (
    "FROM '{file}'",
    """WITH "{file}" AS (FROM '{file}') FROM "{file}" """,
    """SELECT (WITH "{file}" AS (SELECT 1) SELECT 1), * FROM '{file}'""",
    """SELECT * FROM '{file}', (WITH "{file}" AS (SELECT 1) SELECT 1)""",
)
ENDLESS = (
    "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT count(*) FROM r",
    "SELECT count(*) FROM range(1_000_000_000_000) a, range(1_000_000_000_000) b",
    "SELECT max(a.range % (b.range + 1)) FROM range(1_000_000_000) a, range(1_000_000_000) b",
)


def asked(database: Database, sql: str, limit: int = 100, timeout_s: float = 20) -> Found:
    return ask(database, sql, limit, timeout_s)


@pytest.mark.parametrize("sql", REFUSED)
def test_anything_but_one_select_is_refused_in_one_sentence(database: Database, sql: str) -> None:
    with pytest.raises(BadQuery) as refusal:
        asked(database, sql)
    assert "\n" not in str(refusal.value)
    assert str(refusal.value).endswith(".")
    with database.cursor() as cursor:
        assert cursor.scalar("SELECT count(*) FROM meta WHERE key = 'a'") == 0


@pytest.mark.parametrize("sql", AT_SECRETS)
def test_tokens_cannot_be_read(database: Database, sql: str) -> None:
    with database.cursor() as cursor:
        tokens.create(cursor, "nodes", NOW)
    with pytest.raises(BadQuery):
        asked(database, sql.format(data=database.directory))


@pytest.mark.parametrize("sql", NAMED_LIKE_A_FILE)
def test_no_name_that_a_query_gives_opens_a_file(database: Database, sql: str) -> None:
    for folder in ("raw", "copying"):
        file = database.directory / folder / "f.parquet"
        file.parent.mkdir(exist_ok=True)
        pq.write_table(pa.table({"x": [42]}), file)
        with pytest.raises(BadQuery):
            asked(database, sql.format(file=file))


def test_names_of_with_are_words_and_count_without_a_schema(database: Database) -> None:
    assert asked(database, 'WITH "of the week" AS (SELECT 1), häuser AS (FROM "of the week") FROM häuser').rows == [
        (1,)
    ]
    with pytest.raises(BadQuery, match="name in WITH"):
        asked(database, 'WITH "a.b" AS (SELECT 1) FROM "a.b"')
    with pytest.raises(BadQuery, match="pg_class"):
        asked(database, "SELECT (WITH pg_class AS (SELECT 1) SELECT 1) FROM pg_catalog.pg_class")


@pytest.mark.parametrize("sql", ENDLESS)
def test_a_query_without_end_is_stopped(database: Database, sql: str) -> None:
    began = time.monotonic()
    with pytest.raises(QueryTimeout):
        asked(database, sql, timeout_s=0.3)
    assert time.monotonic() - began < 15
    assert asked(database, "SELECT 1").rows == [(1,)]


def test_a_query_that_gives_rows_without_end_gives_the_first(database: Database) -> None:
    found = asked(database, "SELECT range AS a, range AS a FROM range(1_000_000_000_000)", limit=3)
    assert found == Found(columns=["a", "a"], rows=[(0, 0), (1, 1), (2, 2)], cut=True)
    assert not asked(database, "SELECT * FROM range(3)", limit=3).cut
    wide = asked(database, "SELECT repeat('x', 20_000) FROM range(1_000_000)", limit=1_000_000)
    assert wide.cut
    assert 0 < len(wide.rows) < 10_000


def test_every_table_but_secrets_and_every_view_is_there(database: Database) -> None:
    store(database, segment(steady(T0, T0 + 60_000, util_pct=500)))
    assert asked(database, "SELECT name FROM node").rows == [("n1",)]
    assert asked(database, "SELECT count(*), max(util_pct) FROM gpu_samples").rows == [(6, 50.0)]
    assert asked(database, "WITH a AS (FROM gpu) SELECT count(*) FROM a JOIN main.node USING (node_key)").rows == [(1,)]
    assert ("gpu_hour",) in asked(database, "SELECT table_name FROM information_schema.tables").rows
    assert "util_pct" in {row[0] for row in asked(database, "DESCRIBE gpu_hours").rows}
    assert asked(database, "SELECT unnest([1, 2]) FROM range(1)").rows == [(1,), (2,)]


def test_a_query_that_needs_more_memory_than_there_is_ends_alone(tmp_path: Path) -> None:
    with Database.open(tmp_path, settings=StoreSettings(memory_limit_mib=64)) as database:
        with pytest.raises(StoreError, match="ran out of memory") as refusal:
            asked(database, "SELECT length(list(range::VARCHAR || 'x')::VARCHAR) FROM range(100_000_000)", timeout_s=60)
        assert "\n" not in str(refusal.value)
        store(database, segment(steady(T0, T0 + 60_000)))
        assert asked(database, "SELECT count(*) FROM gpu_samples").rows == [(6,)]


def test_what_json_has_no_word_for_is_text(database: Database) -> None:
    sql = "SELECT 1.50, TIMESTAMP '2026-11-23', 9999999999999999999999::HUGEINT, {'a': [DATE '2026-11-23']}, NULL"
    assert asked(database, sql).rows == [
        ("1.50", "2026-11-23T00:00:00", "9999999999999999999999", {"a": ["2026-11-23"]}, None)
    ]


def test_ingest_goes_on_while_a_query_runs(database: Database) -> None:
    ended: list[str] = []

    def endless() -> None:
        with pytest.raises(QueryTimeout):
            asked(database, ENDLESS[0], timeout_s=5)
        ended.append("query")

    thread = threading.Thread(target=endless)
    thread.start()
    store(database, segment(steady(T0, T0 + 60_000)))
    ended.append("ingest")
    thread.join()
    assert ended == ["ingest", "query"]
