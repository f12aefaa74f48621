"""Brings a DuckDB file to the schema of this version: numbered steps, then the catalogue's new metrics."""

from pathlib import Path
from typing import TYPE_CHECKING

from store import schema
from store.catalog import METRICS
from store.errors import SchemaTooNew, StoreError
from store.schema_gpus import SQL_TYPE, rollup_columns

if TYPE_CHECKING:
    from store.database import Cursor

KNOWN = len(schema.VERSIONS)
RELEASED = 0
"""Versions up to this one were released and never change; each has a file in tests/store/fixtures."""


def version(cursor: "Cursor") -> int:
    """Returns the schema version of the open file, 0 for an empty one."""
    if not cursor.scalar("SELECT count(*) FROM information_schema.tables WHERE table_name = 'meta'"):
        return 0
    return int(cursor.scalar("SELECT value FROM meta WHERE key = 'schema_version'"))


def migrate(cursor: "Cursor", file: Path) -> None:
    """Applies what is missing, one transaction a version; raises SchemaTooNew for a later version's file."""
    found = version(cursor)
    if found > KNOWN:
        raise SchemaTooNew(file, found, KNOWN)
    for number in range(found, KNOWN):
        with cursor.transaction():
            for statement in schema.VERSIONS[number]:
                cursor.execute(statement)
            cursor.execute("INSERT OR REPLACE INTO meta VALUES ('schema_version', $1)", [str(number + 1)])
    _add_metrics(cursor)


def refuse_other_version(cursor: "Cursor", file: Path) -> None:
    """Raises where the open file, left as it is, cannot be read by this version."""
    found = version(cursor)
    if found > KNOWN:
        raise SchemaTooNew(file, found, KNOWN)
    if found < KNOWN:
        raise StoreError(f"{file} was written by an earlier version; start the hub once to bring it up to date.")


def _add_metrics(cursor: "Cursor") -> None:
    # A metric is one line in the catalogue: its columns appear when the hub that knows it first opens the file.
    present = {
        (str(table), str(column))
        for table, column in cursor.tuples(
            "SELECT table_name, column_name FROM information_schema.columns "
            "WHERE table_name IN ('hot', 'gpu_hour', 'gpu_minute')"
        )
    }
    wanted = [("hot", f"{metric.name} {SQL_TYPE[metric.dtype]}") for metric in METRICS]
    wanted += [
        (table, column)
        for table in ("gpu_hour", "gpu_minute")
        for metric in METRICS
        for column in rollup_columns(metric, table)
    ]
    missing = [(table, column) for table, column in wanted if (table, column.split()[0]) not in present]
    if not missing:
        return
    with cursor.transaction():
        for table, column in missing:
            cursor.execute(f"ALTER TABLE {table} ADD COLUMN {column}")
