"""Findings as kept, their totals, what could not be judged, and who is idle right now."""

import pytest

from analytics.model import Filter, Viewer, Window
from analytics.queries.findings import explain, findings, idle_now, unjudged
from store.database import Cursor
from tests.factories.footprints import footprint_run
from tests.factories.ledger import DAY, HOUR, MINUTE, T0, Ledger

ADMIN = Viewer()
WEEK = Window(start_ms=T0, end_ms=T0 + 7 * DAY)
BOB = Viewer(kind="user", user="bob")


@pytest.fixture
def four(cur: Cursor, ledger: Ledger) -> Cursor:
    node = ledger.node()
    mine, other = ledger.run(user_name="bob"), ledger.run(user_name="eve", account="bio")
    ledger.hold(mine, ledger.gpu(node))
    ledger.finding(mine, "gpu_never_used", gpu_h=1)
    ledger.finding(other, "idle_tail", gpu_h=5, closed_ms=None)
    ledger.finding(other, "gpu_never_used", gpu_h=2)
    ledger.finding(None, "silent_node", gpu_h=0)
    ledger.put("unjudged", run_key=mine, rule="idle_head", reason="coverage is 0.5", gpu_ms=HOUR)
    ledger.put("unjudged", run_key=other, rule="idle_head", reason="coverage is 0.5", gpu_ms=2 * HOUR)
    ledger.save(cur)
    return cur


def ids(cur: Cursor, where: Filter, viewer: Viewer = ADMIN, window: Window = WEEK, **more: bool) -> list[int]:
    return [row.id for row in findings(cur, viewer, window, where, **more).items]  # type: ignore[arg-type]


def test_most_hours_first_and_totals_over_all_pages(four: Cursor) -> None:
    page = findings(four, ADMIN, WEEK, Filter(), limit=2)
    assert [row.id for row in page.items] == [2, 3]
    assert (page.total.count, page.total.gpu_h, page.total.runs, page.next) == (4, 8, 2, 2)
    assert [(row.rule, row.count, row.gpu_h) for row in page.total.by_rule] == [
        *(("idle_tail", 1, 5), ("gpu_never_used", 2, 3), ("silent_node", 1, 0)),
    ]
    assert findings(four, ADMIN, WEEK, Filter(), limit=2, offset=2).next is None


@pytest.mark.parametrize(
    ("where", "found"),
    [
        (Filter(user="bob"), [1]),
        (Filter(account="bio"), [2, 3]),
        (Filter(finding="gpu_never_used"), [3, 1]),
        (Filter(finding="any"), [2, 3, 1, 4]),
        (Filter(finding="silent_node"), [4]),
        (Filter(node="n1"), [1]),
        (Filter(cluster="c2"), []),
        (Filter(text="train-1"), [1]),
    ],
)
def test_filters(four: Cursor, where: Filter, found: list[int]) -> None:
    assert ids(four, where) == found


def test_those_that_are_over_and_those_of_another_time(four: Cursor) -> None:
    four.execute("UPDATE finding SET closed_ms = $1 WHERE finding_id = 2", [T0 + DAY])
    assert ids(four, Filter()) == [3, 1, 4]
    assert ids(four, Filter(), with_past=True) == [2, 3, 1, 4]
    assert ids(four, Filter(finding="idle_tail")) == []
    past = explain(four, ADMIN, 2)
    assert past is not None
    assert past.fix == "Nothing to do: this is over."
    assert ids(four, Filter(), window=Window(start_ms=T0 + DAY, end_ms=T0 + 2 * DAY)) == []


def test_a_person_sees_no_finding_of_others_and_none_of_nodes(four: Cursor) -> None:
    assert ids(four, Filter(), BOB) == [1]
    assert explain(four, BOB, 1) is not None
    assert explain(four, BOB, 2) is None
    assert explain(four, BOB, 4) is None


def test_explain_gives_the_evidence_back(four: Cursor) -> None:
    found = explain(four, ADMIN, 1)
    assert found is not None
    assert (found.numbers, found.thresholds, found.confidence, found.open) == (
        *({"gpus": 1}, {"least_s": 30}, "high", True),
    )
    assert explain(four, ADMIN, 99) is None


def test_what_could_not_be_judged_is_counted(four: Cursor) -> None:
    (row,) = unjudged(four, ADMIN, WEEK, Filter())
    assert (row.rule, row.reason, row.runs, row.gpu_h) == ("idle_head", "coverage is 0.5", 2, 3)
    (row,) = unjudged(four, BOB, WEEK, Filter())
    assert (row.runs, row.gpu_h) == (1, 1)
    assert unjudged(four, ADMIN, Window(start_ms=T0 + DAY, end_ms=T0 + 2 * DAY), Filter()) == []


def idling(ledger: Ledger, *, idle_ms: int, last_row_ms: int, **hour: int) -> int:
    """A running run on two GPUs, idle for ``idle_ms`` at its footprint; ``hour`` is what the last hour says."""
    node = ledger.node(last_ms=T0 + 6 * HOUR)
    run = ledger.run(end_ms=None, alloc_gpus=2)
    for _ in range(2):
        gpu = ledger.gpu(node)
        ledger.hold(run, gpu)
        ledger.hour(gpu, run, T0 + 5 * HOUR, **hour)
    footprint_run(ledger, run, finished=False, recent_idle_ms=idle_ms, last_row_ms=last_row_ms, gpus=2)
    return run


def test_idle_now_counts_on_from_the_footprint(cur: Cursor, ledger: Ledger) -> None:
    run = idling(ledger, idle_ms=2 * HOUR, last_row_ms=T0 + 5 * HOUR, idle=60)
    ledger.finding(run, "idle_now", closed_ms=None)
    ledger.save(cur)
    (row,) = idle_now(cur, ADMIN, Filter())
    assert (row.run_key, row.gpus, row.idle_ms, row.idle_gpu_h, row.finding_id) == (run, 2, 3 * HOUR, 6, 1)
    assert idle_now(cur, BOB, Filter()) == []


@pytest.mark.parametrize(
    ("idle_ms", "last_row_ms", "hour"),
    [
        (2 * HOUR, T0 + 5 * HOUR, {"idle": 30, "active": 30}),  # it worked since the footprint
        (30 * MINUTE, T0 + 6 * HOUR, {"idle": 60}),  # not for an hour yet
        (2 * HOUR, T0 + 5 * HOUR, {"unknown": 60}),  # nothing was read since: nobody knows
        (2 * HOUR, T0 - HOUR, {"idle": 60}),  # the footprint is too old to build upon
    ],
)
def test_nobody_is_called_idle_on_old_or_busy_data(
    cur: Cursor, ledger: Ledger, idle_ms: int, last_row_ms: int, hour: dict[str, int]
) -> None:
    idling(ledger, idle_ms=idle_ms, last_row_ms=last_row_ms, **hour)
    ledger.save(cur)
    assert idle_now(cur, ADMIN, Filter()) == []


def test_a_window_counts_its_own_hours_of_a_finding_that_reaches_beyond_it(cur: Cursor, ledger: Ledger) -> None:
    run = ledger.run(start_ms=T0 - 6 * HOUR, end_ms=T0 + 2 * HOUR)
    ledger.hold(run, ledger.gpu(ledger.node()))
    ledger.finding(run, gpu_h=8)
    ledger.save(cur)
    before = Window(start_ms=T0 - 7 * DAY, end_ms=T0)
    for window, gpu_h in ((before, 6), (WEEK, 2)):
        page = findings(cur, ADMIN, window, Filter())
        assert [row.gpu_h for row in page.items] == [gpu_h]
        assert (page.total.gpu_h, page.total.by_rule[0].gpu_h) == (gpu_h, gpu_h)
    whole = explain(cur, ADMIN, 1)
    assert whole is not None
    assert whole.gpu_h == 8
