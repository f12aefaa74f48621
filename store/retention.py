"""What has been kept long enough goes: raw rows by the day, minutes, hours and what is made of these by their age."""

from typing import Final

from store import arrivals, manifest
from store.database import Cursor, Database
from store.dirty import as_of_ms
from store.manifest import DAY_MS
from store.samples import KEPT_FROM, kept_from_ms
from store.seal import Step
from store.settings import StoreSettings

_BY_AGE: Final = {
    "minutes": dict.fromkeys(("gpu_minute", "host_minute", "spare_minute"), "minute_ms"),
    "hours": {
        **dict.fromkeys(("gpu_hour", "spare_hour", "node_hour", "holder_hour"), "hour_ms"),
        **dict.fromkeys(("node_day", "holder_day", "footprint_gpu", "footprint_run"), "end_ms"),
    },
}
"""Column that says how old a row is, by table and by which limit it goes."""


def retain(database: Database, settings: StoreSettings, now_ms: int, step: Step = lambda _: None) -> int:
    """Removes what is older than the settings keep, counted back from the newest data; returns the raw rows removed.

    Raw rows go by whole days, UTC: files off the list in one transaction, then off the disk. Figures of a period are
    made of hours and stay; hours whose raw rows are gone are not computed anew.
    """
    with database.cursor() as cursor:
        removed = _retain(cursor, settings, now_ms, step)
        step("before the files go")
        manifest.sweep(cursor)
        step("after the files went")
    return removed


def _retain(cursor: Cursor, settings: StoreSettings, now_ms: int, step: Step) -> int:
    with cursor.transaction():
        step("before the list")
        # A clock that was ahead must not make everything old.
        today_ms = manifest.day_of(min(as_of_ms(cursor), now_ms) + 1) * DAY_MS
        removed = _remove_raw(cursor, today_ms - settings.raw_days * DAY_MS, now_ms)
        minutes_from_ms = today_ms - settings.minute_days * DAY_MS
        _remove_minutes(cursor, minutes_from_ms // DAY_MS, now_ms)
        arrivals.forget(cursor, now_ms)
        limits = {"minutes": minutes_from_ms, "hours": today_ms - settings.hour_days * DAY_MS}
        for age, tables in _BY_AGE.items():
            for table, column in tables.items():
                cursor.execute(f"DELETE FROM {table} WHERE {column} < $1", [limits[age]])  # noqa: S608 - names from above
        step("before the commit")
    return removed


def _remove_minutes(cursor: Cursor, from_day: int, now_ms: int) -> None:
    names = "SELECT file FROM sealed_minute WHERE day < $1"
    if cursor.scalar(f"SELECT count(*) FROM ({names})", [from_day]):  # noqa: S608 - a constant
        cursor.execute(f"INSERT OR IGNORE INTO sealed_gone SELECT file, $2 FROM ({names})", [from_day, now_ms])  # noqa: S608
        cursor.execute(f"DELETE FROM thawed_minute WHERE file IN ({names})", [from_day])  # noqa: S608 - a constant
        cursor.execute("DELETE FROM sealed_minute WHERE day < $1", [from_day])


def _remove_raw(cursor: Cursor, from_ms: int, now_ms: int) -> int:
    kept_ms = kept_from_ms(cursor)
    # Rows that came late are in no figure until their hours are computed anew, and afterwards never would be.
    waiting_ms = cursor.scalar("SELECT min(hour_ms) FROM dirty_hour WHERE hour_ms >= $1", [kept_ms])
    if waiting_ms is not None:
        from_ms = min(from_ms, waiting_ms // DAY_MS * DAY_MS)
    if from_ms <= kept_ms:
        return 0
    old = cursor.tuples("SELECT file, rows FROM sealed WHERE to_ms <= $1", [from_ms])
    manifest.drop(cursor, [file for file, _ in old], now_ms)
    # What is stored is known as long as its rows are kept: what is older is refused when it comes again.
    cursor.execute("DELETE FROM segment_stretch WHERE last_ms <= $1", [from_ms])
    cursor.execute("DELETE FROM repair_day WHERE day < $1", [from_ms // DAY_MS])
    cursor.execute("INSERT OR REPLACE INTO meta VALUES ($1, $2)", [KEPT_FROM, str(from_ms)])
    hot = cursor.execute("DELETE FROM hot WHERE ts_ms <= $1", [from_ms])
    return hot + sum(int(rows) for _, rows in old)
