"""Figures from the sums by node and holder are those from rows of single GPUs, to the last digit."""

import random
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from analytics.model import Filter, Viewer, Window
from analytics.queries.coarse import coarse
from analytics.queries.hours import breakdown, hours, hours_and_before
from analytics.queries.people import people
from analytics.queries.timeline import over_time
from store import sums
from store.database import Cursor
from tests.factories.ledger import DAY, HOUR, T0, Ledger

ADMIN = Viewer()
FILTERS = (
    Filter(),
    Filter(model="model 1"),
    Filter(node="n1"),
    Filter(cluster="c1"),
    Filter(user="ann"),
    Filter(account="bio", partition="long"),
)
WINDOWS = (
    Window(start_ms=T0, end_ms=T0 + 7 * DAY),
    Window(start_ms=T0 + 5 * HOUR, end_ms=T0 + 3 * DAY + 7 * HOUR),
    Window(start_ms=T0 + 30 * HOUR, end_ms=T0 + 100 * HOUR + 17 * 60_000),
    Window(start_ms=T0 + 40 * HOUR, end_ms=T0 + 41 * HOUR),
)
VIEWERS = (ADMIN, Viewer(kind="user", user="ann"), Viewer(kind="account", user="bob", accounts=("bio",)))


def generated(cur: Cursor, ledger: Ledger, seed: int) -> None:
    """A week of random runs on whole GPUs and slices, with GPUs that only accounting counts, that come or that go."""
    choose = random.Random(seed)
    gpus = []
    for number in range(3):
        node = ledger.node(f"n{number}")
        first = T0 + choose.choice([0, 0, 50 * HOUR])
        gpus += [ledger.gpu(node, model=f"model {number % 2}", first_ms=first) for _ in range(2)]
        whole = ledger.gpu(node, model="whole")
        parent = f"GPU-{whole}"
        gpus += [ledger.gpu(node, model="slice", slices=3, slices_of=7, parent_uuid=parent) for _ in range(2)]
        for hour in range(7 * 24):
            ledger.word(f"n{number}", T0 + hour * HOUR, standing=choose.choice(["up", "up", "offline"]), gpus=4)
    for _ in range(60):
        start = T0 + choose.randrange(7 * 24 - 5) * HOUR
        who = {"user_name": choose.choice(["ann", "bob", None]), "account": choose.choice(["physics", "bio"])}
        run = ledger.run(start_ms=start, end_ms=start + 3 * HOUR, partition=choose.choice(["gpu", "long"]), **who)
        for gpu in choose.sample([*gpus, 0], 2):
            for hour in range(3):
                shares = [choose.randint(1, 15) if gpu else 0 for _ in range(4)]
                spans = dict(zip(("active", "low", "idle_held", "idle"), shares, strict=True))
                more = {"power_w": choose.choice([100, 300]), "energy_j": 6000} if gpu else {}
                sm = {"sm_pct": 40} if gpu in gpus[:4] else {}
                ledger.hour(gpu, run, start + hour * HOUR, **spans, unknown=60 - sum(shares), util_pct=50, **more, **sm)
    for hour in choose.sample(range(7 * 24), 40):
        ledger.hour(choose.choice(gpus), None, T0 + hour * HOUR, stray=choose.choice([0, 20]), util_pct=0, power_w=60)
        ledger.put(
            "spare_hour", hour_ms=T0 + hour * HOUR, node_key=1, gpu_key=1, kind=choose.choice(["offline", "taken"]),
            units=840 * HOUR // 2,
        )  # fmt: skip
    ledger.save(cur)


@contextmanager
def without_sums(cur: Cursor) -> Iterator[None]:
    """Sums that are being made anew are not read."""
    cur.execute("INSERT INTO dirty_sum VALUES (0, 1, 1)")
    yield
    cur.execute("DELETE FROM dirty_sum")


@pytest.fixture(params=range(2))
def week(request: pytest.FixtureRequest, cur: Cursor, ledger: Ledger) -> Cursor:
    generated(cur, ledger, request.param)
    return cur


@pytest.mark.parametrize("window", WINDOWS)
def test_hours_of_every_filter_and_viewer(week: Cursor, window: Window) -> None:
    for where in FILTERS:
        for viewer in VIEWERS:
            found = [hours_and_before(week, viewer, window, where), hours(week, viewer, window, where, count=False)]
            with without_sums(week):
                fine = [hours_and_before(week, viewer, window, where), hours(week, viewer, window, where, count=False)]
            assert found == fine


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("by", ["user", "account", "partition", "model", "node", "cluster", "day"])
def test_breakdowns(week: Cursor, window: Window, by: str) -> None:
    for where in FILTERS:
        found = breakdown(week, ADMIN, window, where, by)  # type: ignore[arg-type] # names of By
        with without_sums(week):
            assert found == breakdown(week, ADMIN, window, where, by)  # type: ignore[arg-type] # the same


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("points", [7, 60])
def test_timelines_and_people(week: Cursor, window: Window, points: int) -> None:
    for where in FILTERS:
        found = over_time(week, ADMIN, window, where, points), people(week, ADMIN, window, where)
        with without_sums(week):
            assert found == (over_time(week, ADMIN, window, where, points), people(week, ADMIN, window, where))


def test_days_of_another_zone(cur: Cursor, ledger: Ledger) -> None:
    generated(cur, ledger, 5)
    with cur.transaction():
        sums.follow_zone(cur, "UTC")  # that of the sums above
        sums.follow_zone(cur, "America/New_York")
    for zone in ("America/New_York", "Europe/Berlin", "Asia/Kolkata"):
        window = Window(start_ms=T0 + 29 * HOUR, end_ms=T0 + 6 * DAY, zone=zone)
        found = breakdown(cur, ADMIN, window, Filter(), "day"), over_time(cur, ADMIN, window, Filter(), 5)
        with without_sums(cur):
            fine = breakdown(cur, ADMIN, window, Filter(), "day"), over_time(cur, ADMIN, window, Filter(), 5)
        assert found == fine


@pytest.mark.parametrize("where", [Filter(state="running"), Filter(text="a"), Filter(node="n1", user="ann")])
def test_what_single_runs_tell_is_not_asked_of_the_sums(week: Cursor, where: Filter) -> None:
    assert coarse(week, ADMIN, WINDOWS[0], where, ("held",)) is None
