"""Queries say the same of minutes in files as of minutes in the table."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from analytics.model import Viewer
from analytics.queries import lanes, node, series, strips
from store.database import Database
from store.manifest import DAY_MS
from store.retention import retain
from store.seal import seal
from store.seal_minutes import seal_minutes
from store.settings import StoreSettings
from tests.store.building import HOUR, MINUTE, T0, empty_store, gpu, hold, segment, steady, store

NOW = T0 + 40 * DAY_MS
ADMIN = Viewer()


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Database]:
    """A store of its own: retention and sealing remember in it how far they came."""
    with empty_store(tmp_path / "data") as database:
        yield database


def test_a_run_whose_rows_are_gone_is_told_alike_by_both(own: Database) -> None:
    busy = steady(T0, T0 + HOUR, 0, 0, MINUTE, util_pct=800, power_w=4000)
    idle = steady(T0 + HOUR, T0 + 2 * HOUR, 0, 0, MINUTE, util_pct=0, power_w=900)
    held = hold(end_ms=T0 + 2 * HOUR)
    store(own, segment([*busy, *idle], devices=[gpu()], holdings=[held]))
    store(own, segment(node="n2", devices=(), first_ms=NOW, last_ms=NOW), now_ms=NOW)
    seal(own, StoreSettings(seal_after_s=0), NOW)
    retain(own, StoreSettings(), NOW)
    with own.cursor() as cursor:
        run_key = cursor.scalar("SELECT run_key FROM run")

        def told() -> tuple[object, ...]:
            return (
                lanes.lanes(cursor, ADMIN, run_key),
                series.metrics(cursor, ADMIN, run_key, ("util_pct", "power_w")),
                strips.strips(cursor, [run_key], NOW),
                node.node(cursor, ADMIN, "n1", T0 + 3 * HOUR),
            )

        before = told()
        assert not lanes.lanes(cursor, ADMIN, run_key).from_raw
        assert seal_minutes(own, StoreSettings(), NOW) == 120
        assert cursor.scalar("SELECT count(*) FROM gpu_minute") == 0
        assert told() == before
