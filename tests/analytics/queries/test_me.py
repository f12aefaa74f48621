"""A person's own page: what runs, what to change, how it went."""

import pytest

from analytics.model import Viewer
from analytics.queries.me import me
from analytics.wording import GLOSSARY
from store.database import Cursor
from tests.analytics.queries.test_recommendations import recommend
from tests.factories.footprints import footprint_run
from tests.factories.ledger import DAY, HOUR, T0, Ledger

ADMIN = Viewer()
NOW = T0 + 2 * DAY


def busy(ledger: Ledger, hours: int = 12) -> int:
    gpu = ledger.gpu(ledger.node(last_ms=NOW))
    run = ledger.run(start_ms=T0, end_ms=T0 + hours * HOUR)
    ledger.hold(run, gpu)
    for hour in range(hours):
        ledger.hour(gpu, run, T0 + hour * HOUR, active=54, idle=6, util_pct=90)
    return gpu


def test_nothing_to_change_is_said_in_so_many_words(cur: Cursor, ledger: Ledger) -> None:
    busy(ledger)
    ledger.save(cur)
    page = me(cur, ADMIN, NOW, "ann")
    assert page.sentence == "Nothing to change. Your GPUs were active 90 % of the measured time."
    assert (page.running, page.recommendations, page.findings) == ([], [], [])
    assert (page.hours.held_gpu_h, [row.gpu_h for row in page.recent]) == (12, [12])
    assert sum(row.active_gpu_h for row in page.timeline.rows) == pytest.approx(10.8)
    assert (page.timeline.bucket_ms, len(page.timeline.rows)) == (2 * HOUR, 24)  # the range that the data has


def test_little_is_not_put_in_percent(cur: Cursor, ledger: Ledger) -> None:
    busy(ledger, 2)
    ledger.save(cur)
    assert me(cur, ADMIN, NOW, "ann").sentence == "Nothing to change."


def test_who_ran_nothing_gets_an_answer(cur: Cursor) -> None:
    page = me(cur, ADMIN, NOW, "zoe")
    assert page.sentence == "You held no GPU in the last 30 days."
    assert page.recent == []


def test_at_most_three_things_to_change_recommendations_first(cur: Cursor, ledger: Ledger) -> None:
    busy(ledger)
    for number in range(2):
        recommend(ledger, f"r{number}", gpu_h=10 - number, last_run_ms=NOW - HOUR)
    for _ in range(3):
        ledger.finding(ledger.run(), gpu_h=3)
    ledger.save(cur)
    page = me(cur, ADMIN, NOW, "ann")
    assert (len(page.recommendations), len(page.findings)) == (2, 1)
    assert page.sentence == "2 changes would free 19 GPU-h a week on average."


def test_a_finding_is_named_where_no_change_is_known(cur: Cursor, ledger: Ledger) -> None:
    busy(ledger)
    ledger.finding(1, gpu_h=3)
    ledger.save(cur)
    assert me(cur, ADMIN, NOW, "ann").sentence == "Something to look at: GPU not used, 3.0 GPU-h."


def test_running_ones_in_one_sentence_each_and_the_time_left(cur: Cursor, ledger: Ledger) -> None:
    gpu = busy(ledger)
    idle = ledger.run(start_ms=NOW - 3 * HOUR, end_ms=None, timelimit_ms=4 * HOUR, alloc_gpus=1)
    working = ledger.run(start_ms=NOW - HOUR, end_ms=None)
    dark = ledger.run(start_ms=NOW - HOUR, end_ms=None)
    for hour in range(1, 4):
        ledger.hour(gpu, idle, NOW - hour * HOUR, idle=60, util_pct=0)
    ledger.hold(idle, gpu)
    ledger.hour(gpu, working, NOW - HOUR, active=60, util_pct=88)
    ledger.hour(0, dark, NOW - HOUR, unknown=60)
    footprint_run(ledger, idle, finished=False, recent_idle_ms=3 * HOUR, last_row_ms=NOW)
    ledger.save(cur)
    found = {row.job.run_key: row for row in me(cur, ADMIN, NOW, "ann").running}
    assert found[idle].sentence == "Its GPU has been idle for 3 h."
    assert found[idle].left_ms == HOUR
    assert found[working].sentence == "Utilization so far 88 %."
    assert (found[dark].sentence, found[dark].left_ms) == ("Nothing was measured yet.", None)


def test_every_word_used_for_states_is_in_the_glossary() -> None:
    assert {"capacity", "allocated", "active", "low", "idle", "not measured"} <= GLOSSARY.keys()


def test_what_a_recommendation_mends_is_no_other_thing(cur: Cursor, ledger: Ledger) -> None:
    busy(ledger)
    recommend(ledger, "r", gpu_h=10, last_run_ms=NOW - HOUR)
    for number in range(3):
        run = ledger.run(name=f"gnn-traffic-{number}")
        footprint_run(ledger, run, family="f-r")
        ledger.finding(run, "gpus_unused", gpu_h=3)
    ledger.finding(ledger.run(name="other"), gpu_h=1)
    ledger.save(cur)
    page = me(cur, ADMIN, NOW, "ann")
    assert [(group.first.name, group.runs) for group in page.findings] == [("other", 1)]
    assert [(group.runs, group.gpu_h) for group in page.mended] == [(3, 9)]
