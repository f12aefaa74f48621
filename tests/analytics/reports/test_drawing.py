"""Drawings for paper: every hour is in them, on the zone's own hours, and nothing from outside is markup."""

import re

from analytics.queries.lanes import Lane
from analytics.queries.notes import ChartNote
from analytics.queries.stretches import Stretch
from analytics.queries.timeline import Timeline, TimelineRow
from analytics.reports.drawing import lanes, stacked
from tests.factories.ledger import HOUR, MINUTE, T0


def row(hour: int, active: float, idle: float) -> TimelineRow:
    hours = dict.fromkeys(TimelineRow.__struct_fields__, 0.0) | {"active_gpu_h": active, "idle_empty_gpu_h": idle}
    return TimelineRow(**hours | {"start_ms": T0 + hour * HOUR, "end_ms": T0 + (hour + 1) * HOUR})  # type: ignore[arg-type]


def test_bars_stand_for_the_hours() -> None:
    found = stacked(Timeline(bucket_ms=HOUR, rows=[row(0, 4, 0), row(1, 2, 2)]), "UTC", [])
    assert found is not None
    heights = re.findall(r'height="([\d.]+)" class="s-(\w+)"', found.svg)
    assert heights == [("186.0", "active"), ("93.0", "active"), ("93.0", "idle")]
    assert found.legend == (("active", "active", "6.0 GPU-h"), ("idle", "idle, empty", "2.0 GPU-h"))


def test_nothing_held_is_no_drawing() -> None:
    assert stacked(Timeline(bucket_ms=HOUR, rows=[row(0, 0, 0)]), "UTC", []) is None


def test_a_persons_idle_is_grey() -> None:
    found = stacked(Timeline(bucket_ms=HOUR, rows=[row(0, 0, 1)]), "UTC", [], neutral=True)
    assert found is not None
    assert 's-neutral_idle"' in found.svg


def test_marks_lie_on_full_hours_of_the_zone() -> None:
    rows = [row(hour, 1, 0) for hour in range(24)]
    found = stacked(Timeline(bucket_ms=HOUR, rows=rows), "Asia/Kolkata", [])  # 5 h 30 min ahead
    assert found is not None
    assert re.findall(r">(\w{3} \d\d:\d\d)<", found.svg) == [
        f"Mon {at}" for at in ("08:00", "12:00", "16:00", "20:00")
    ] + [
        "Tue 00:00",
        "Tue 04:00",
    ]


def test_names_and_notes_are_text() -> None:
    note = ChartNote(at_ms=T0 + MINUTE, until_ms=None, kind="policy", text="<script>")
    found = stacked(Timeline(bucket_ms=HOUR, rows=[row(0, 1, 0)]), "UTC", [note])
    assert found is not None
    lane = Lane(gpu_key=1, gpu='"><b>', node=None, stretches=[Stretch(state="idle", start_ms=T0, end_ms=T0 + HOUR)])
    drawn = lanes([lane], (T0, T0 + HOUR), "UTC", "One <GPU>.")
    for svg in (found.svg, drawn.svg):
        assert not re.search(r"<(?!/?(svg|rect|path|text|g|title)\b)", svg)
