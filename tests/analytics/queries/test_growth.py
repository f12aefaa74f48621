"""How long the disk lasts: by what the last days took, less what retention takes away."""

from collections.abc import Callable
from pathlib import Path

import pytest

from analytics.model import Viewer
from analytics.queries import growth as queries
from analytics.queries.growth import Part, growth, predicted
from analytics.queries.health import health
from store.database import Database
from store.settings import StoreSettings
from tests.factories.ledger import DAY, HOUR, T0, Ledger

GIB = 1 << 30


@pytest.mark.parametrize(
    ("parts", "room", "days_left"),
    [
        ([Part(1.0, 30)], 10, 10),  # full before anything goes
        ([Part(1.0, 30)], 31, None),  # settles at 30 more
        ([Part(1.0, 30)], 30, 30),
        ([Part(1.0, 0)], 1, None),  # has settled already
        ([Part(1.0, 10), Part(1.0, 100)], 30, 20),  # 20 in 10 days, then 1 a day
        ([Part(2.0, 5), Part(0.5, 1826)], 0, 0),
        ([Part(0.0, 30)], 0, None),
        ([Part(1.0, 30)], -5, 0),
        ([], 10, None),
    ],
)
def test_growth_ends_where_retention_takes_as_much(parts: list[Part], room: int, days_left: int | None) -> None:
    assert predicted(parts, 99, room, 7).days_left == days_left


@pytest.fixture
def store(tmp_path: Path) -> Callable[..., Database]:
    """A store of some days, each with a sealed file of 1 GiB; the raw rows are kept for 30."""

    def made(days: float, *, synthetic: bool = False) -> Database:
        settings = StoreSettings(raw_days=30, min_free_mib=0)
        database = Database.open(tmp_path / "data", synthetic=synthetic, settings=settings)
        ledger = Ledger()
        run, gpu = ledger.run(end_ms=T0 + HOUR), ledger.gpu(ledger.node(last_ms=T0 + round(days * DAY)))
        ledger.hour(gpu, run, T0, active=60)
        for day in range(int(days)):
            where = {"file": f"{day}", "day": T0 // DAY + day, "from_ms": T0 + day * DAY, "to_ms": T0 + (day + 1) * DAY}
            ledger.put("sealed", **where, rows=1, bytes=GIB, columns="ts_ms", made_ms=T0)
        with database.cursor() as cursor:
            ledger.save(cursor)
        return database

    return made


def free(monkeypatch: pytest.MonkeyPatch, free_bytes: int) -> None:
    monkeypatch.setattr(queries.shutil, "disk_usage", lambda _: type("Usage", (), {"free": free_bytes}))


def test_the_sentence_says_what_it_rests_on(store: Callable[..., Database], monkeypatch: pytest.MonkeyPatch) -> None:
    with store(10.5) as database, database.cursor() as cursor:
        free(monkeypatch, 5 * GIB)
        found = growth(cursor)
        assert found is not None
        assert (found.days_left, found.over_days, found.soon) == (5, 7, True)
        assert found.sentence == (
            "The disk lasts about 5 days: 5.0 GiB are free and the last 7 full days took 1.0 GiB each, less what goes "
            "by age. Free some space, or lower store.raw_days or minute_days."
        )
        assert found.sentence in health(cursor, Viewer(), T0 + 11 * DAY).problems
        free(monkeypatch, 100 * GIB)
        settled = growth(cursor)
        assert settled is not None
        assert (settled.days_left, settled.soon) == (None, False)
        assert settled.sentence.startswith(
            "The disk lasts: 100 GiB are free and the last 7 full days took 1.0 GiB each;"
        )
        assert "settles 20 GiB above today" in settled.sentence
        assert settled.sentence not in health(cursor, Viewer(), T0 + 11 * DAY).problems


def test_less_than_a_full_day_says_nothing(store: Callable[..., Database]) -> None:
    with store(0.9) as database, database.cursor() as cursor:
        assert growth(cursor) is None
        found = health(cursor, Viewer(), T0 + DAY)
        assert (found.disk, found.disk_sentence) == (None, None)


def test_a_story_told_once_does_not_grow(store: Callable[..., Database]) -> None:
    with store(10, synthetic=True) as database, database.cursor() as cursor:
        assert growth(cursor) is None
