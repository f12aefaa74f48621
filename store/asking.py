"""One SELECT of somebody's own: it reads and changes nothing, sees no secret, and ends.

Three walls, each enough by itself for most of what could go wrong: DuckDB's own parser says that the text is one SELECT
and which tables and table functions it names; it runs in a transaction that only reads; and the database is closed to
files, extensions and settings (connection.py). What it names is checked because DuckDB would read the file of the
database itself, which holds what must not be seen, through ``read_blob``.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

import duckdb
import msgspec
import pyarrow as pa

from store.database import Database
from store.errors import StoreError
from store.views import VIEWS, views

SECRET: Final = frozenset({"token"})
"""Tables that nobody reads: hashes by which nodes are let in."""
FUNCTIONS: Final = frozenset({"generate_series", "json_each", "json_tree", "range", "repeat_row", "unnest"})
"""Table functions that make rows of their arguments and of nothing else."""
MOST_CHARACTERS: Final = 100_000
MOST_ROWS: Final = 1_000_000
MOST_BYTES: Final = 64 << 20
"""Of an answer, as Arrow has it: an answer is held in memory."""
MOST_S: Final = 100.0
_BATCH: Final = 2048
_ALWAYS_THERE: Final = "information_schema"
_WORDS: Final = re.compile(r"[\w -]+")
"""What WITH may call something: outside the scope of that name DuckDB takes one with a dot for a file and reads it."""


class BadQuery(StoreError):
    """A text that is not one SELECT, or one that names what cannot be read; the message says what to change."""


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What a SELECT gave; ``cut`` where it would have given more. Values are such as JSON can hold."""

    columns: list[str]
    rows: list[tuple[Any, ...]]
    cut: bool


def ask(database: Database, sql: str, limit: int, timeout_s: float) -> Found:
    """Runs one SELECT and returns at most ``limit`` rows; tables are those of schema.py and those of views.py.

    Raises:
        BadQuery: it is something else than one SELECT, names what cannot be read, or DuckDB finds fault with it.
        QueryTimeout: it ran for ``timeout_s``.
        StoreError: it needed more memory than there is.
    """
    if len(sql) > MOST_CHARACTERS:
        raise BadQuery(f"A query has at most {MOST_CHARACTERS:,} characters; this one has {len(sql):,}.")
    with database.cursor(timeout_s) as cursor, views(cursor):
        tables = {name for (name,) in cursor.tuples("SELECT table_name FROM duckdb_tables() WHERE NOT internal")}
        _refuse(_parsed(sql), (tables | VIEWS.keys() | {"samples"}) - SECRET)
        try:
            return _first(cursor.batches(sql, None, _BATCH, head=True), limit)
        except StoreError as error:
            if isinstance(error.__cause__, duckdb.Error) and not isinstance(error.__cause__, _NOT_OF_THE_TEXT):
                raise BadQuery(_said(error.__cause__)) from error
            raise


_NOT_OF_THE_TEXT: Final = (
    duckdb.FatalException,
    duckdb.InternalException,
    duckdb.InterruptException,
    duckdb.IOException,
    duckdb.OutOfMemoryException,
)


def _said(error: duckdb.Error) -> str:
    first = str(error).partition("\n")[0].rstrip(". ")
    return f"The query cannot be run ({first}); `DESCRIBE gpu_hours` shows what a table or view has."


def _parsed(sql: str) -> Any:
    """Returns what DuckDB's parser makes of a text, as JSON; raises BadQuery where that is not one SELECT."""
    try:
        statements = duckdb.extract_statements(sql)
    except duckdb.Error as error:
        raise BadQuery(_said(error)) from error
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        kinds = ", ".join(each.type.name for each in statements[:5]) or "nothing"
        raise BadQuery(f"A query is exactly one SELECT, and this is {kinds}; leave the rest out.")
    # In a database of its own: what is to be judged meets nothing of ours before that.
    with duckdb.connect(config={"threads": 1}) as own:
        [(text,)] = own.execute("SELECT json_serialize_sql($1::VARCHAR)", [sql]).fetchall()
    try:
        parsed = json.loads(text)
    except RecursionError as error:
        raise BadQuery("The query is nested too deeply; write it in several steps, with WITH.") from error
    if parsed["error"]:
        raise BadQuery(f"The query cannot be run ({parsed['error_message'].rstrip('!')}); PIVOT is not among them.")
    return parsed["statements"]


def _refuse(parsed: Any, known: set[str]) -> None:
    """Raises BadQuery where a parsed SELECT names a table or table function beyond those that may be read."""
    nodes = list(_nodes(parsed))
    own = {entry["key"].lower() for node in nodes for entry in node.get("cte_map", {}).get("map", ())}
    for name in own:
        if not _WORDS.fullmatch(name):
            raise BadQuery(f"{_plain(name)} cannot be a name in WITH; use letters, digits and underscores.")
    for node in nodes:
        match node.get("type"):
            case "BASE_TABLE":
                name, schema = node["table_name"].lower(), node["schema_name"].lower()
                here = name in known or schema == _ALWAYS_THERE or (name in own and not schema)
                if name in SECRET or not here:
                    raise BadQuery(f"{_plain(name)} is no table or view that a query reads; {_there()}.")
            case "TABLE_FUNCTION" if node["function"]["function_name"].lower() not in FUNCTIONS:
                name = node["function"]["function_name"]
                raise BadQuery(f"{_plain(name)} is no function that a query reads from; {_there()}.")


def _plain(name: str) -> str:
    return repr(name[:60])


def _there() -> str:
    return f"there are {', '.join(VIEWS)}, and the tables of information_schema.tables"


def _nodes(parsed: Any) -> Iterator[dict[str, Any]]:
    waiting = [parsed]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            yield value
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)


def _first(batches: Iterator[pa.RecordBatch], limit: int) -> Found:
    columns: list[str] = []
    rows: list[tuple[Any, ...]] = []
    size = 0
    for batch in batches:
        columns = list(batch.schema.names)
        size += batch.nbytes
        rows += zip(*(_values(column) for column in batch.columns), strict=True)
        if len(rows) > limit or size > MOST_BYTES:
            return Found(columns=columns, rows=rows[:limit], cut=True)
    return Found(columns=columns, rows=rows, cut=False)


def _values(column: pa.Array) -> list[Any]:
    return [msgspec.to_builtins(value, enc_hook=str, str_keys=True) for value in column.to_pylist()]
