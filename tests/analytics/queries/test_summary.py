"""The overview's sentence, and when a change may be shown."""

import pytest

from analytics.model import Filter, Viewer, Window
from analytics.queries.comparison import Change, NotComparable
from analytics.queries.hours import Hours, hours
from analytics.queries.summary import Summary, headline, summary
from store.database import Cursor
from tests.factories.ledger import DAY, HOUR, T0, Ledger

ADMIN = Viewer()
WEEK = Window(start_ms=T0, end_ms=T0 + 7 * DAY)


def two_weeks(ledger: Ledger, before: dict[str, int], now: dict[str, int]) -> None:
    """24 hours of one GPU in each of two weeks."""
    gpu = ledger.gpu(ledger.node(first_ms=T0 - 7 * DAY), first_ms=T0 - 7 * DAY)
    for start, spans in ((T0 - 7 * DAY, before), (T0, now)):
        run = ledger.run(start_ms=start, end_ms=start + DAY)
        for hour in range(24):
            ledger.hour(gpu, run, start + hour * HOUR, **spans)


def told(cur: Cursor, ledger: Ledger, before: dict[str, int], now: dict[str, int]) -> Summary:
    two_weeks(ledger, before, now)
    ledger.save(cur)
    return summary(cur, ADMIN, WEEK, Filter())


def test_change_where_both_were_measured_alike(cur: Cursor, ledger: Ledger) -> None:
    found = told(cur, ledger, {"active": 30, "idle": 30}, {"active": 45, "idle": 15})
    assert isinstance(found.change, Change)
    assert (found.change.idle_gpu_h, found.change.active_gpu_h, found.change.held_gpu_h) == (-6, 6, 0)
    assert found.change.idle_share_pct == -25
    assert (
        found.sentence
        == "6.0 of 24 measured GPU-hours (25 %) were idle, 6.0 GPU-hours fewer than in the same span before."
    )
    assert found.allocated_share_pct == pytest.approx(100 / 7)


@pytest.mark.parametrize(
    ("before", "now", "sentence"),
    [
        ({"active": 38, "unknown": 22}, {"active": 55, "unknown": 5}, "63 % -> 92 % of hours measured"),
        ({"active": 60}, {"active": 54, "unknown": 6}, "100 % -> 90 % of hours measured"),
        ({"active": 60}, {"unknown": 60}, "100 % -> 0 % of hours measured"),
        ({}, {"active": 60}, "nothing was measured in the same span before"),
    ],
)
def test_no_change_where_the_measuring_changed(
    cur: Cursor, ledger: Ledger, before: dict[str, int], now: dict[str, int], sentence: str
) -> None:
    found = told(cur, ledger, before, now)
    assert found.change == NotComparable(f"not comparable: {sentence}")


def test_no_change_while_the_period_before_is_still_summed(cur: Cursor, ledger: Ledger) -> None:
    ledger.put("dirty_hour", hour_ms=T0 - DAY, node_key=1, gen=1, from_ms=T0 - DAY, to_ms=T0)
    found = told(cur, ledger, {"active": 30, "idle": 30}, {"active": 45, "idle": 15})
    assert found.change is None
    assert "same span before" not in found.sentence


def test_a_step_of_five_points_is_still_comparable(cur: Cursor, ledger: Ledger) -> None:
    found = told(cur, ledger, {"active": 60}, {"active": 57, "unknown": 3})
    assert isinstance(found.change, Change)


def test_no_comparison_before_the_first_data(cur: Cursor, ledger: Ledger) -> None:
    gpu = ledger.gpu(ledger.node())
    ledger.hour(gpu, ledger.run(), T0, active=30, idle=30)
    ledger.save(cur)
    found = summary(cur, ADMIN, WEEK, Filter())
    assert found.change is None
    assert found.sentence == "0.50 of 1.0 measured GPU-hours were idle."
    assert (found.idle_share_pct, found.active_share_pct) == (None, None)  # less than 10 GPU-hours: no percentages


def empty(cur: Cursor, window: Window = WEEK) -> Hours:
    return hours(cur, ADMIN, window, Filter())


def test_no_job_in_the_window_is_an_answer(cur: Cursor, ledger: Ledger) -> None:
    ledger.gpu(ledger.node())
    ledger.save(cur)
    assert headline(empty(cur), None) == "No job held a GPU in this period: every GPU was unallocated."
    assert headline(empty(cur), None, "sessions") == "No session held a GPU in this period: every GPU was free."


def test_no_data_is_said_as_such(cur: Cursor) -> None:
    assert headline(empty(cur), None) == "Nothing was recorded in this period."


def test_hours_that_nobody_measured_are_not_idle(cur: Cursor, ledger: Ledger) -> None:
    ledger.hour(ledger.gpu(ledger.node()), ledger.run(), T0, unknown=60)
    ledger.save(cur)
    assert headline(empty(cur), None) == "1.0 GPU-h were held and none could be measured, so none is called idle."


def test_much_unmeasured_is_said_beside_the_idle_hours(cur: Cursor, ledger: Ledger) -> None:
    ledger.hour(ledger.gpu(ledger.node()), ledger.run(), T0, idle=30, unknown=30)
    ledger.save(cur)
    assert headline(empty(cur), None) == (
        "0.50 of 0.50 measured GPU-hours were idle; 0.50 GPU-h more were not measured."
    )


def test_a_change_that_rounds_to_nothing_is_none(cur: Cursor, ledger: Ledger) -> None:
    found = told(cur, ledger, {"active": 30, "idle": 30}, {"active": 30, "idle": 30})
    assert found.sentence.endswith("were idle, as in the same span before.")
    assert isinstance(found.change, Change)


def test_the_sentence_names_what_explains_the_most(cur: Cursor, ledger: Ledger) -> None:
    gpu = ledger.gpu(ledger.node())
    parked, tail = ledger.run(start_ms=T0, end_ms=T0 + DAY), ledger.run(start_ms=T0, end_ms=T0 + DAY)
    for hour in range(24):
        ledger.hour(gpu, parked, T0 + hour * HOUR, active=30, idle=30)
    ledger.finding(parked, "memory_parked", gpu_h=5, start_ms=T0, end_ms=T0 + DAY)
    ledger.finding(tail, "idle_tail", gpu_h=2, start_ms=T0, end_ms=T0 + DAY)
    ledger.save(cur)
    assert summary(cur, ADMIN, WEEK, Filter()).sentence == (
        "12 of 24 measured GPU-hours (50 %) were idle; 5.0 of them in 1 job: “Model loaded, no requests”."
    )


def test_a_finding_that_explains_little_is_not_named(cur: Cursor, ledger: Ledger) -> None:
    gpu, run = ledger.gpu(ledger.node()), ledger.run(start_ms=T0, end_ms=T0 + DAY)
    for hour in range(24):
        ledger.hour(gpu, run, T0 + hour * HOUR, active=30, idle=30)
    ledger.finding(run, "idle_tail", gpu_h=1, start_ms=T0, end_ms=T0 + DAY)
    ledger.save(cur)
    assert summary(cur, ADMIN, WEEK, Filter()).sentence == "12 of 24 measured GPU-hours (50 %) were idle."
