"""What is not in the figures yet."""

import pytest

from analytics.model import Viewer
from analytics.queries.first_run import progress
from analytics.queries.me import me
from analytics.queries.pending import pending
from store.database import Cursor
from tests.factories.footprints import footprint_run
from tests.factories.ledger import DAY, HOUR, MINUTE, T0, Ledger

ADMIN = Viewer()
NOW = T0 + 2 * DAY


def dirty(ledger: Ledger, hours: int) -> None:
    node = ledger.node(last_ms=NOW)
    for hour in range(hours):
        start = T0 + hour * HOUR
        ledger.put("dirty_hour", hour_ms=start, node_key=node, gen=1, from_ms=start, to_ms=start + HOUR)


def test_hours_that_wait_are_said_where_they_are_many(cur: Cursor, ledger: Ledger) -> None:
    dirty(ledger, 40)
    ledger.save(cur)
    assert pending(cur).sentence == "Still loading: 40 hours of nodes to be summed. Figures change until then."


def test_hours_that_are_being_recorded_are_nothing_to_speak_of(cur: Cursor, ledger: Ledger) -> None:
    dirty(ledger, 10)
    ledger.save(cur)
    found = pending(cur)
    assert (found.node_hours, found.sentence) == (10, None)
    cur.execute("UPDATE dirty_hour SET hour_ms = hour_ms + $1", [NOW - T0 - HOUR])
    assert pending(cur).node_hours == 0


def test_runs_wait_until_the_rules_have_seen_their_end(cur: Cursor, ledger: Ledger) -> None:
    ledger.node(last_ms=NOW)
    for number in range(30):
        run = ledger.run(end_ms=T0 + HOUR if number % 2 else None)
        ledger.put("dirty_run", run_key=run, gen=1)
        footprint_run(ledger, run, finished=False, judged=True)
    ledger.save(cur)
    assert pending(cur).runs == 15
    cur.execute("UPDATE footprint_run SET finished = TRUE WHERE run_key % 2 = 0")
    assert pending(cur).runs == 0


@pytest.mark.parametrize("judged", [True, False])
def test_nobody_is_told_that_all_is_well_before_anything_was_judged(cur: Cursor, ledger: Ledger, judged: bool) -> None:
    gpu = ledger.gpu(ledger.node(last_ms=NOW))
    run = ledger.run(end_ms=T0 + 12 * HOUR)
    ledger.hold(run, gpu)
    for hour in range(12):
        ledger.hour(gpu, run, T0 + hour * HOUR, active=15, idle=45, util_pct=25)
    footprint_run(ledger, run, judged=judged)
    ledger.save(cur)
    said = me(cur, ADMIN, NOW, "ann").sentence
    start = "Nothing to change." if judged else "Not judged yet: 1 run of yours is still to be looked at."
    assert said == f"{start} Your GPUs were active 25 % of the measured time."


def test_a_run_of_a_minute_was_not_judged_to_be_well(cur: Cursor, ledger: Ledger) -> None:
    ledger.node(last_ms=T0 + MINUTE)
    run = ledger.run(start_ms=T0, end_ms=None)
    footprint_run(ledger, run, finished=False, judged=True, start_ms=T0, end_ms=T0 + MINUTE)
    ledger.save(cur)
    step = next(step for step in progress(cur, ADMIN, T0 + MINUTE).steps if step.id == "findings")
    assert not step.done


def test_no_time_is_told_for_what_may_be_in_the_data_that_comes_in(cur: Cursor, ledger: Ledger) -> None:
    """A store that is filled backwards begins earlier with every batch."""
    dirty(ledger, 40)
    ledger.gpu(ledger.node("n2", first_ms=NOW - 30 * MINUTE, last_ms=NOW))
    ledger.save(cur)
    assert _told(cur) == {
        "findings": "First findings as soon as what came in is judged",
        "week": "First report as soon as a full week is read",
    }


def test_first_findings_are_not_announced_for_a_time_that_is_over(cur: Cursor, ledger: Ledger) -> None:
    ledger.gpu(ledger.node("n1", first_ms=NOW - 6 * HOUR, last_ms=NOW))
    ledger.save(cur)
    assert _told(cur)["findings"] == "First findings as soon as what came in is judged"


def _told(cur: Cursor) -> dict[str, str]:
    return {step.id: step.text for step in progress(cur, ADMIN, NOW).steps if step.id in ("findings", "week")}
