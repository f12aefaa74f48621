"""State lanes without holes, exact where rows are few, and never without an idle minute."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics.model import Viewer
from analytics.queries import lanes as lane_queries
from analytics.queries.lanes import lanes
from analytics.queries.stretches import KEPT_MS, Stretch, merge, thin
from store.database import Cursor
from tests.factories.ledger import HOUR, MINUTE, T0, Ledger

ADMIN = Viewer()
SECOND = 1000


def told(cur: Cursor, run: int = 1) -> list[list[tuple[str, float, float]]]:
    found = lanes(cur, ADMIN, run)
    return [
        [(part.state, (part.start_ms - T0) / MINUTE, (part.end_ms - T0) / MINUTE) for part in lane.stretches]
        for lane in found.lanes
    ]


@pytest.fixture
def run(ledger: Ledger) -> int:
    """A run of one hour on two GPUs; rows are the test's to give."""
    node = ledger.node(last_ms=T0 + HOUR)
    key = ledger.run()
    for _ in range(2):
        ledger.hold(key, ledger.gpu(node))
    return key


def test_equal_states_are_one_stretch_and_gaps_are_unknown(cur: Cursor, ledger: Ledger, run: int) -> None:
    ledger.rows(1, run, T0, T0 + 20 * MINUTE, util_pct=1000)
    ledger.rows(1, run, T0 + 20 * MINUTE, T0 + 30 * MINUTE, util_pct=0, mem_used_mib=0)
    ledger.rows(1, run, T0 + 40 * MINUTE, T0 + 50 * MINUTE, util_pct=0, mem_used_mib=30_000)
    ledger.save(cur)
    assert told(cur) == [
        [("active", 0, 20), ("idle", 20, 30), ("unknown", 30, 40), ("idle_held", 40, 50), ("unknown", 50, 60)],
        [("unknown", 0, 60)],
    ]


def test_a_row_without_a_reading_is_unknown_and_not_idle(cur: Cursor, ledger: Ledger, run: int) -> None:
    ledger.rows(1, run, T0, T0 + 30 * MINUTE, util_pct=1000)
    ledger.rows(1, run, T0 + 30 * MINUTE, T0 + 60 * MINUTE, power_w=700)
    ledger.save(cur)
    assert told(cur)[0] == [("active", 0, 30), ("unknown", 30, 60)]


def test_rows_beyond_the_hold_are_cut(cur: Cursor, ledger: Ledger, run: int) -> None:
    ledger.rows(1, run, T0 - 5 * MINUTE, T0 + 65 * MINUTE, step_ms=10 * MINUTE, util_pct=1000)
    ledger.save(cur)
    assert told(cur)[0] == [("active", 0, 60)]


def test_minutes_tell_where_rows_are_many_and_keep_each_idle_minute(
    cur: Cursor, ledger: Ledger, run: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lane_queries, "MAX_RAW_ROWS", 1)
    ledger.hour(1, run, T0, active=20, idle_held=1, unknown=39)
    ledger.save(cur)
    found = lanes(cur, ADMIN, run)
    assert not found.from_raw
    assert told(cur)[0] == [("active", 0, 20), ("idle_held", 20, 21), ("unknown", 21, 60)]


def test_short_stretches_are_merged_only_where_there_are_too_many(cur: Cursor, ledger: Ledger, run: int) -> None:
    for minute in range(60):
        busy = T0 + minute * MINUTE + 50 * SECOND
        ledger.rows(1, run, T0 + minute * MINUTE, busy, util_pct=1000)
        ledger.rows(1, run, busy, busy + 10 * SECOND, util_pct=0)
    ledger.save(cur)
    assert len(lanes(cur, ADMIN, run).lanes[0].stretches) == 120
    few = lanes(cur, ADMIN, run, max_bars=20)
    assert few.merged_below_ms > 0
    assert [part.state for part in few.lanes[0].stretches] == ["active"]


def test_a_run_of_somebody_else_has_no_lanes(cur: Cursor, ledger: Ledger, run: int) -> None:
    ledger.save(cur)
    assert lanes(cur, Viewer(kind="user", user="bob"), run).lanes == []
    assert lanes(cur, ADMIN, 99).lanes == []


STATES = st.sampled_from(["active", "low", "idle", "idle_held", "unknown"])
PARTS = st.lists(st.tuples(STATES, st.integers(1, 300)), min_size=1, max_size=60)


def lane_of(parts: list[tuple[str, int]]) -> list[Stretch]:
    at, found = 0, []
    for state, seconds in parts:
        found.append(Stretch(state=state, start_ms=at, end_ms=at + seconds * SECOND))
        at += seconds * SECOND
    return merge(found)


@given(PARTS, st.integers(1, 30))
def test_thinning_leaves_no_hole_and_every_long_idle_stretch(parts: list[tuple[str, int]], most: int) -> None:
    lane = lane_of(parts)
    _, (thinned,) = thin([lane], most)
    assert (thinned[0].start_ms, thinned[-1].end_ms) == (0, lane[-1].end_ms)
    assert all(one.end_ms == two.start_ms and one.state != two.state for one, two in pairwise(thinned))
    for stretch in lane:
        if stretch.state in ("idle", "idle_held", "unknown") and stretch.end_ms - stretch.start_ms >= KEPT_MS:
            assert any(
                part.state == stretch.state and part.start_ms <= stretch.start_ms and part.end_ms >= stretch.end_ms
                for part in thinned
            )
    kept = sum(
        part.state in ("idle", "idle_held", "unknown") and part.end_ms - part.start_ms >= KEPT_MS for part in lane
    )
    assert len(thinned) <= max(most, 2 * kept + 1)


def test_suspended_time_lies_over_what_the_gpu_did(cur: Cursor, ledger: Ledger) -> None:
    gpu = ledger.gpu(ledger.node())
    run = ledger.run(end_ms=T0 + 10 * MINUTE)
    ledger.hold(run, gpu)
    ledger.rows(gpu, run, T0, T0 + 10 * MINUTE, util_pct=900)
    for start, end in ((2, 4), (8, None)):
        end_ms = None if end is None else T0 + end * MINUTE
        ledger.put("suspension", run_key=run, ran_s=start, start_ms=T0 + start * MINUTE, end_ms=end_ms)
    ledger.save(cur)
    [lane] = lanes(cur, Viewer(), run).lanes
    assert [(part.state, (part.end_ms - T0) // MINUTE) for part in lane.stretches] == [
        ("active", 2), ("suspended", 4), ("active", 8), ("suspended", 10),
    ]  # fmt: skip
