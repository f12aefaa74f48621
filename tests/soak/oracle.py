"""What a store must hold after any number of kills, counted outside of it."""

from collections import Counter
from pathlib import Path
from typing import Any, Final

import msgspec

from gpuledger.wiring import clock_ms
from store import manifest
from store.database import Cursor, Database
from store.dirty import mark_all
from store.inbox import Inbox
from store.ingest import TOO_LATE, ingest
from store.minutes import files, minutes
from store.rollup import roll_up
from store.samples import FOLDER, MAX_TIME_MS, kept_from_ms, samples
from tests.soak.life import SETTINGS
from tests.soak.load import FROM_MS, ROWS, SPAN_MS, Nodes, name_of, node_of, slot_of, utilization
from tests.store.building import HOUR, names_of

ROLLUPS: Final = ("minutes", "gpu_hour", "node_hour", "node_day", "holder_hour", "holder_day")

_FOUND: Final = f"""
    SELECT n.name AS node, (ts_ms - {FROM_MS} - 1) // {SPAN_MS} AS slot, count(*) AS rows,
        count(DISTINCT (gpu_key, ts_ms)) AS different, min(util_pct) AS low, max(util_pct) AS high
    FROM samples JOIN node n USING (node_key) GROUP BY ALL"""

_SUMMED: Final = f"""
    SELECT n.name, (hour_ms - {FROM_MS}) // {HOUR} AS hour, sum(rows)::BIGINT
    FROM gpu_hour JOIN node n USING (node_key) GROUP BY ALL"""


class Tally(msgspec.Struct):
    """What was found, added up over all looks."""

    looks: int = 0
    rows: int = 0
    lost: int = 0
    doubled: int = 0


def settle(data: Path) -> Database:
    """Open a store, take in what was acknowledged, bring the rollups up to date, and return it."""
    database = Database.open(data, settings=SETTINGS)
    with database.cursor() as cursor:
        manifest.remove_unlisted(cursor)
    inbox = Inbox(data / "inbox", min_free_bytes=0)
    while (batch := inbox.take()).count:
        ingest(database, batch.entries, clock_ms())
        inbox.done(batch)
    inbox.close()
    assert list((data / "inbox").iterdir()) == []
    while roll_up(database, settings=SETTINGS.states):
        pass
    return database


def look(data: Path, nodes: Nodes, tally: Tally) -> None:
    """Compare a store at rest with what its nodes know; add what was found to the tally and fail where it differs."""
    with settle(data) as database, database.cursor() as cursor:
        stored = _settled_doubts(cursor, nodes)
        _raw_rows(cursor, stored, tally)
        _rows_of_hours(cursor, stored)
        _files(cursor)
        _quarantine(cursor)
        _rollups(database, cursor)
    tally.looks += 1


def _settled_doubts(cursor: Cursor, nodes: Nodes) -> set[int]:
    """Return the numbers of all segments that must be there. Of those in doubt the store says which it has."""
    names = names_of(cursor)
    arrived = {number for number in nodes.in_doubt if name_of(number) in names}
    nodes.in_doubt -= arrived
    nodes.acknowledged |= arrived
    return set(nodes.acknowledged)


def _raw_rows(cursor: Cursor, stored: set[int], tally: Tally) -> None:
    kept_ms = kept_from_ms(cursor)
    expected = {
        (f"n{node_of(number)}", slot_of(number)): utilization(number)
        for number in stored
        if FROM_MS + slot_of(number) * SPAN_MS >= kept_ms
    }
    with samples(cursor, 0, MAX_TIME_MS):
        found = {(row["node"], row["slot"]): row for row in cursor.arrow(_FOUND).to_pylist()}
    tally.rows = ROWS * len(stored)
    tally.lost += sum(ROWS - found.get(place, {"different": 0})["different"] for place in expected)
    tally.doubled += sum(row["rows"] - row["different"] for row in found.values())
    assert (tally.lost, tally.doubled) == (0, 0)
    assert found.keys() == expected.keys(), "rows of segments that nobody sent"
    read = {place: (row["low"], row["high"]) for place, row in found.items()}
    assert read == {place: (value, value) for place, value in expected.items()}


def _rows_of_hours(cursor: Cursor, stored: set[int]) -> None:
    """Hours outlive their raw rows, and count every one of them."""
    per_hour = HOUR // SPAN_MS
    expected = Counter((f"n{node_of(number)}", slot_of(number) // per_hour) for number in stored)
    found = {(node, hour): rows for node, hour, rows in cursor.tuples(_SUMMED) if rows}
    assert found == {place: ROWS * segments for place, segments in expected.items()}


def _files(cursor: Cursor) -> None:
    folder = cursor.database.directory / FOLDER
    names = [each.file for each in manifest.files(cursor)] + [each.file for each in files(cursor, 0, MAX_TIME_MS)]
    listed = {folder / name for name in names}
    assert set(folder.glob("day=*/*")) == listed


def _quarantine(cursor: Cursor) -> None:
    reasons = {reason for (reason,) in cursor.tuples("SELECT DISTINCT reason FROM quarantine")}
    assert reasons <= {TOO_LATE}


def _rollups(database: Database, cursor: Cursor) -> None:
    """What was summed bit by bit through all the kills is what the raw rows give at one go."""
    before = _contents(cursor)
    with cursor.transaction():
        mark_all(cursor)
    while roll_up(database, settings=SETTINGS.states):
        pass
    assert _contents(cursor) == before


def _contents(cursor: Cursor) -> dict[str, list[tuple[Any, ...]]]:
    """Return the number of rows of each rollup and a sum over all that they say."""
    with minutes(cursor, 0, MAX_TIME_MS):
        return {name: cursor.tuples(f"SELECT count(*), sum(hash(t)::HUGEINT) FROM {name} t") for name in ROLLUPS}
