"""The table of runs: what a row says, in which order, which rows, and that the total is of all of them."""

import pytest

from analytics.model import Filter, Viewer, Window
from analytics.queries.jobs import SORTS, JobRow, Sort, jobs
from analytics.queries.strips import PARTS
from store.database import Cursor
from tests.factories.footprints import footprint_run
from tests.factories.ledger import DAY, HOUR, MINUTE, T0, Ledger

WEEK = Window(start_ms=T0, end_ms=T0 + 7 * DAY)
ADMIN = Viewer()
EVERYTHING = Filter()


def ids(cur: Cursor, where: Filter = EVERYTHING, **more: object) -> list[str]:
    return [row.job_id for row in jobs(cur, ADMIN, WEEK, where, **more).items]  # type: ignore[arg-type]


def only(cur: Cursor, window: Window = WEEK) -> JobRow:
    (row,) = jobs(cur, ADMIN, window, Filter()).items
    return row


@pytest.fixture
def three(cur: Cursor, ledger: Ledger) -> Cursor:
    """Idle 2 h of alice on 2 GPUs, busy 1 h of bob, and 1 h of which nothing is known."""
    node = ledger.node()
    gpus = [ledger.gpu(node) for _ in range(2)]
    idle = ledger.run("101", user_name="alice", account="bio", name="idle_50%", end_ms=T0 + 2 * HOUR, alloc_gpus=2)
    busy = ledger.run("102", user_name="bob", start_ms=T0 + 3 * HOUR, end_ms=T0 + 4 * HOUR, partition="long")
    dark = ledger.run("103_7", user_name="Bob", state="CANCELLED by 1000", start_ms=T0 + 5 * HOUR, end_ms=None)
    for gpu in gpus:
        ledger.hold(idle, gpu)
        for hour in range(2):
            ledger.hour(gpu, idle, T0 + hour * HOUR, idle=60, util_pct=0, mem_mib=1000, power_w=70)
    ledger.hold(busy, gpus[0])
    ledger.hour(gpus[0], busy, T0 + 3 * HOUR, active=60, util_pct=90, sm_pct=40, mem_mib=81_559, power_w=350)
    ledger.hour(0, dark, T0 + 5 * HOUR, unknown=60)
    ledger.finding(idle)
    ledger.finding(idle, "idle_tail", gpu_h=0.5, title="Kept its GPUs after the work ended")
    ledger.save(cur)
    return cur


def test_a_row_tells_what_the_run_did(three: Cursor) -> None:
    idle, busy = jobs(three, ADMIN, WEEK, Filter(node="n1")).items
    assert (idle.job_id, idle.gpus, idle.gpu_h, idle.idle_gpu_h, idle.util_mean_pct) == ("101", 2, 4, 4, 0)
    assert [mark.rule for mark in idle.findings] == ["gpu_never_used", "idle_tail"]
    assert (busy.util_mean_pct, busy.sm_mean_pct, busy.mem_max_ratio, busy.power_mean_ratio) == (90, 40, 1, 0.5)
    assert (busy.gpu_h, busy.idle_gpu_h, busy.coverage, busy.elapsed_ms, busy.findings) == (1, 0, 1, HOUR, [])


def test_runs_of_one_family_are_not_those_of_like_names(cur: Cursor, ledger: Ledger) -> None:
    gpu = ledger.gpu(ledger.node())
    for place, family in enumerate(("a", "b", "a")):
        run = ledger.run(str(place), name="train-large", start_ms=T0 + place * HOUR, end_ms=T0 + (place + 1) * HOUR)
        ledger.hold(run, gpu)
        ledger.hour(gpu, run, T0 + place * HOUR, active=60)
        footprint_run(ledger, run, family=family)
    ledger.save(cur)
    assert ids(cur, Filter(family="a"), sort="start") == ["2", "0"]
    assert ids(cur, Filter(family="c")) == []


def test_a_run_on_gpus_that_no_node_showed_is_listed_and_unknown(three: Cursor) -> None:
    (row,) = jobs(three, ADMIN, WEEK, Filter(text="103")).items
    assert (row.gpu_h, row.unknown_gpu_h, row.idle_gpu_h) == (1, 1, 0)
    assert (row.util_mean_pct, row.mem_max_ratio, row.power_mean_ratio, row.model, row.coverage) == (
        *(None,) * 4,
        0,
    )
    assert row.elapsed_ms == 7 * DAY - 5 * HOUR  # it runs: up to where the data reaches


def test_totals_are_of_the_whole_filter(three: Cursor) -> None:
    page = jobs(three, ADMIN, WEEK, Filter(), limit=1)
    assert (page.total.count, page.total.gpu_h, page.total.idle_gpu_h, page.total.unknown_gpu_h) == (3, 6, 4, 1)
    assert (len(page.items), page.next) == (1, 1)
    last = jobs(three, ADMIN, WEEK, Filter(), limit=2, offset=2)
    assert (len(last.items), last.next, last.total.count) == (1, None, 3)
    beyond = jobs(three, ADMIN, WEEK, Filter(), offset=50)
    assert (beyond.items, beyond.total.count) == ([], 3)


@pytest.mark.parametrize(
    ("where", "found"),
    [
        (Filter(user="alice"), ["101"]),
        (Filter(account="physics"), ["102", "103_7"]),
        (Filter(partition="long"), ["102"]),
        (Filter(cluster="c2"), []),
        (Filter(state="running"), ["103_7"]),
        (Filter(state="finished"), ["101", "102"]),
        (Filter(state="cancelled"), ["103_7"]),
        (Filter(state="CANCEL"), []),
        (Filter(finding="any"), ["101"]),
        (Filter(finding="idle_tail"), ["101"]),
        (Filter(finding="cpu_only"), []),
        (Filter(text="50%"), ["101"]),
        (Filter(text="5%0"), []),
        (Filter(text="IDLE_"), ["101"]),
        (Filter(text="103_7"), ["103_7"]),
        (Filter(text="_"), ["101", "103_7"]),
        (Filter(text="' OR 1=1 --"), []),
        (Filter(user="x' OR 'a'='a"), []),
        (Filter(min_gpu_h=2), ["101"]),
        (Filter(max_gpu_h=4), ["102", "103_7"]),
        (Filter(min_gpu_h=1, max_gpu_h=4), ["102", "103_7"]),
        (Filter(min_util_pct=50), ["102"]),
        (Filter(max_util_pct=50), ["101"]),
        (Filter(min_util_pct=90, max_util_pct=100), ["102"]),
        (Filter(node="n1"), ["101", "102"]),
        (Filter(model="no such"), []),
    ],
)
def test_filters(three: Cursor, where: Filter, found: list[str]) -> None:
    assert sorted(ids(three, where)) == found


@pytest.mark.parametrize("sort", SORTS)
@pytest.mark.parametrize("descending", [True, False])
def test_every_sort_keeps_every_row(three: Cursor, sort: Sort, descending: bool) -> None:
    assert sorted(ids(three, sort=sort, descending=descending)) == ["101", "102", "103_7"]


@pytest.mark.parametrize("descending", [True, False])
def test_unknown_sorts_last_either_way(three: Cursor, descending: bool) -> None:
    assert ids(three, sort="util", descending=descending)[-1] == "103_7"


def test_a_window_counts_only_the_overlap(three: Cursor) -> None:
    row = only(three, Window(start_ms=T0 + HOUR, end_ms=T0 + 2 * HOUR))
    assert (row.gpu_h, row.elapsed_ms) == (2, 2 * HOUR)


def test_a_viewer_sees_only_own_runs(three: Cursor) -> None:
    page = jobs(three, Viewer(kind="user", user="bob"), WEEK, Filter())
    assert ([row.job_id for row in page.items], page.total.count) == (["102"], 1)


def strip(cur: Cursor) -> list[tuple[str, int]]:
    return [(part.state, part.ms) for part in only(cur).strip]


def test_a_short_run_is_drawn_from_its_minutes(cur: Cursor, ledger: Ledger) -> None:
    gpu = ledger.gpu(ledger.node())
    ledger.hour(gpu, ledger.run(end_ms=T0 + HOUR), T0, active=20, idle=40)
    ledger.save(cur)
    assert strip(cur) == [("active", 20 * MINUTE), ("idle", 40 * MINUTE)]


def test_a_long_run_is_drawn_from_its_hours_in_at_most_48_parts(cur: Cursor, ledger: Ledger) -> None:
    gpu = ledger.gpu(ledger.node())
    run = ledger.run(end_ms=T0 + 5 * DAY)
    for hour in range(5 * 24):
        ledger.hour(gpu, run, T0 + hour * HOUR, **({"active": 60} if hour // 10 % 2 else {"idle_held": 60}))
    ledger.save(cur)
    parts = strip(cur)
    assert len(parts) <= PARTS
    assert sum(ms for _, ms in parts) == 5 * DAY
    assert [state for state, _ in parts] == ["idle_held", "active"] * 6


def test_what_no_row_tells_is_unknown_in_the_strip(cur: Cursor, ledger: Ledger) -> None:
    gpu = ledger.gpu(ledger.node())
    ledger.hour(gpu, ledger.run(end_ms=T0 + 2 * HOUR), T0, active=60)
    ledger.save(cur)
    assert strip(cur) == [("active", HOUR), ("unknown", HOUR)]


def test_a_part_is_shared_out_as_the_gpus_shared_their_time(cur: Cursor, ledger: Ledger) -> None:
    node = ledger.node()
    run = ledger.run()
    for state in ("idle", "idle", "active", "idle"):
        ledger.hour(ledger.gpu(node), run, T0, **{state: 60})
    ledger.save(cur)
    parts = only(cur).strip
    assert {part.state for part in parts} == {"idle"}
    assert sum(part.ms for part in parts) == HOUR
    assert all(part.mix == {"active": part.ms / 4, "idle": part.ms * 3 / 4} for part in parts)
