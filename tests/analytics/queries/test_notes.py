"""Dated notes: what administrators pinned and what the system saw change; across thresholds nothing is compared."""

import msgspec

from analytics.in_force import in_force
from analytics.model import Filter, Viewer, Window
from analytics.queries.comparison import Change, NotComparable
from analytics.queries.notes import MOST, breaks, notes
from analytics.queries.summary import summary
from analytics.settings import AnalyticsSettings, ExcludedSettings
from store import in_force as kept
from store import notes as pinned
from store.database import Cursor
from store.settings import StateSettings
from tests.factories.ledger import DAY, HOUR, T0, Ledger

WEEK = Window(start_ms=T0, end_ms=T0 + 7 * DAY)
BEFORE = in_force(AnalyticsSettings(), StateSettings(), "1.0")
AFTER = in_force(AnalyticsSettings(), StateSettings(active_pct=30), "1.1")


def said(cur: Cursor, window: Window = WEEK) -> list[tuple[str, str]]:
    return [(note.kind, note.text) for note in notes(cur, window).items]


def test_nodes_that_came_after_the_first_day_are_new(cur: Cursor, ledger: Ledger) -> None:
    ledger.node("n01")
    ledger.node("n02", first_ms=T0 + 20 * HOUR)  # the installation was still going on
    for number in (3, 4, 5):
        ledger.node(f"n{number:02}", first_ms=T0 + 3 * DAY + number)
    ledger.save(cur)
    assert said(cur) == [("nodes", "new: n[03-05]")]


def test_driver_changes_are_told_by_node_range(cur: Cursor, ledger: Ledger) -> None:
    keys = [ledger.node(f"n{number}") for number in (1, 2, 3)]
    for key in keys:
        ledger.put("node_driver", node_key=key, driver_version="570", from_ms=T0)
    for key in keys[:2]:
        ledger.put("node_driver", node_key=key, driver_version="580", from_ms=T0 + 2 * DAY + key)
    ledger.put("node_driver", node_key=keys[2], driver_version="570", from_ms=T0 + DAY)  # told late: no change
    ledger.save(cur)
    assert said(cur) == [("driver", "driver 570 → 580 on n[1-2]")]


def test_changed_thresholds_are_one_note_that_breaks_a_trend(cur: Cursor) -> None:
    kept.keep(cur, BEFORE, T0 - DAY)
    assert said(cur) == []
    assert kept.keep(cur, AFTER, T0 + DAY) == ["gpuledger", "states.active_pct"]
    assert kept.keep(cur, AFTER, T0 + 2 * DAY) == []
    (note,) = notes(cur, WEEK).items
    assert (note.kind, note.at_ms, note.breaks) == ("thresholds", T0 + DAY, True)
    assert note.text == "GPU Ledger 1.0 → 1.1; threshold states.active_pct: 25 → 30"
    assert breaks(cur, T0, T0 + 2 * DAY) == [T0 + DAY]
    assert breaks(cur, T0 + 2 * DAY, T0 + 3 * DAY) == []


def test_a_rule_judged_otherwise_breaks_no_trend_of_hours(cur: Cursor) -> None:
    kept.keep(cur, BEFORE, T0 - DAY)
    kept.keep(cur, BEFORE | {"idle_tail.version": "9"}, T0 + DAY)
    (note,) = notes(cur, WEEK).items
    assert not note.breaks
    assert "“Kept its GPUs after the work ended” is judged in another way (version 1 → 9)" in note.text
    assert breaks(cur, T0, T0 + 2 * DAY) == []


def test_pinned_notes_that_reach_into_the_period(cur: Cursor) -> None:
    who = {"who": "root", "now_ms": T0}
    pinned.add(cur, at_ms=T0 - DAY, until_ms=T0 + HOUR, kind="maintenance", text="cooling", **who)  # type: ignore[arg-type]
    pinned.add(cur, at_ms=T0 - DAY, until_ms=T0 - HOUR, kind="maintenance", text="before", **who)  # type: ignore[arg-type]
    pinned.add(cur, at_ms=T0 + DAY, until_ms=None, kind="deadline", text="a conference", **who)  # type: ignore[arg-type]
    assert said(cur) == [("maintenance", "cooling"), ("deadline", "a conference")]
    assert [note.who for note in notes(cur, WEEK).items] == ["root", "root"]


def test_what_is_too_much_to_show_is_counted(cur: Cursor) -> None:
    for number in range(MOST + 5):
        at_ms = T0 + number * HOUR
        pinned.add(cur, at_ms=at_ms, until_ms=None, kind="policy", text=str(number), who="root", now_ms=T0)
    found = notes(cur, WEEK)
    assert (len(found.items), found.left_out, found.items[-1].text) == (MOST, 5, str(MOST + 4))


def test_a_change_of_thresholds_is_no_change_of_use(cur: Cursor, ledger: Ledger) -> None:
    node = ledger.node(first_ms=T0 - 7 * DAY)
    gpu = ledger.gpu(node, first_ms=T0 - 7 * DAY)
    for start in (T0 - 3 * DAY, T0 + 3 * DAY):
        run = ledger.run(start_ms=start, end_ms=start + 20 * HOUR)
        ledger.hold(run, gpu)
        for hour in range(20):
            ledger.hour(gpu, run, start + hour * HOUR, active=30, idle=30)
    ledger.save(cur)
    kept.keep(cur, BEFORE, T0 - 30 * DAY)
    assert isinstance(summary(cur, Viewer(), WEEK, Filter()).change, Change)
    kept.keep(cur, AFTER, T0 + DAY)
    change = summary(cur, Viewer(), WEEK, Filter()).change
    assert isinstance(change, NotComparable)
    assert change.sentence == "not comparable: the thresholds of the states changed on Tue 24 Nov 00:00"


def test_every_threshold_is_told_by_name() -> None:
    assert BEFORE["states.active_pct"] == "25"
    assert BEFORE["low_utilization.version"]
    assert not any(name.endswith((".fix", ".contact", ".help_url")) for name in BEFORE)
    other = msgspec.structs.replace(AnalyticsSettings(), excluded=ExcludedSettings(users=("root",)))
    changed = in_force(other, StateSettings(), "1.0")
    assert {name for name in BEFORE if BEFORE[name] != changed[name]} == {"excluded.users"}
