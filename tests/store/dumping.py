"""A store as SQL text, and back: how files of released versions are kept, readable in a diff.

`python -m tests.store.dumping` writes the file of the schema's newest version; done once, at its release, together with
store.migrations.RELEASED.
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import duckdb

from store import schema
from store.database import Cursor, Database, database_file
from store.notes import add
from tests.factories.ledger import DAY, Ledger
from tests.store.building import (
    HOUR,
    MINUTE,
    NOW,
    T0,
    empty_store,
    gpu,
    hold,
    inventory,
    segment,
    steady,
    store,
    told,
    word,
)

FIXTURES: Final = Path(__file__).parent / "fixtures"


def released_file(version: int) -> Path:
    """Returns where the dump of a released version lies."""
    return FIXTURES / f"schema-{version}.sql"


def fill(database: Database) -> None:
    """A day of a node with two GPUs, a job that accounting knows, and rows of what people did."""
    rows = [
        *steady(T0, T0 + HOUR, 0, 0, MINUTE, util_pct=900, power_w=5000, energy_j=30_000),
        *steady(T0, T0 + HOUR, 1, 0, MINUTE, util_pct=0, power_w=700),
    ]
    held = hold("100", T0, T0 + HOUR, devices=(0, 1))
    devices = [gpu("GPU-1"), gpu("GPU-2", slices=3, slices_of=7)]
    accounting = [told("100", T0, T0 + HOUR, alloc_gpus=2)]
    store(
        database,
        segment(rows, devices=devices, holdings=[held], accounting=accounting),
        inventory(word("n1", T0, gpus=2), word("n2", T0, "DOWN", gpus=8)),
    )
    with database.cursor() as cursor:
        ledger = Ledger()
        ledger.put("act", at_ms=NOW, who="ann", kind="taken", subject="x'; DROP TABLE act; --", note="größer")
        ledger.put("sent", at_ms=NOW, kind="report", recipient="ann", subject="week", body="line\nline")
        ledger.finding(None, start_ms=T0, end_ms=T0 + DAY)
        ledger.save(cursor)
        add(cursor, at_ms=T0, until_ms=None, kind="policy", text="A limit", who="bob", now_ms=NOW)


def dumped(cursor: Cursor) -> str:
    """Returns everything in a store as statements that make it again."""
    statements = [sql for (sql,) in cursor.tuples("SELECT sql FROM duckdb_sequences() ORDER BY sequence_name")]
    tables = cursor.tuples("SELECT table_name, sql FROM duckdb_tables() WHERE NOT internal ORDER BY table_name")
    statements += [sql for _, sql in tables]
    statements += [sql for (sql,) in cursor.tuples("SELECT sql FROM duckdb_indexes() ORDER BY index_name")]
    for name, _ in tables:
        for row in cursor.tuples(f"SELECT * FROM {name} ORDER BY ALL"):
            statements.append(f"INSERT INTO {name} VALUES ({', '.join(map(_literal, row))});")
    return "\n".join(statements) + "\n"


def _literal(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(value)


def made_from(dump: str, directory: Path) -> None:
    """Makes the file of a data directory from a dump, as it was: nothing is brought up to date."""
    directory.mkdir(parents=True, exist_ok=True)
    with duckdb.connect(database_file(directory)) as connection:
        connection.execute(dump)


def present() -> str:
    """Returns the dump of a store that the present code makes."""
    with TemporaryDirectory() as folder, empty_store(Path(folder) / "data") as database:
        fill(database)
        with database.cursor() as cursor:
            return dumped(cursor)


def main() -> None:
    """Writes the dump of the newest version."""
    FIXTURES.mkdir(exist_ok=True)
    released_file(len(schema.VERSIONS)).write_text(present(), encoding="utf-8")


if __name__ == "__main__":
    main()
