"""The smallest parts of pages."""

from analytics.queries.strips import StripPart
from dashboard.components.marks import sparkline, strip, strip_words

HOUR = 3_600_000


def test_a_strip_and_its_words_are_shares_of_gpu_time() -> None:
    quarter = StripPart(state="idle", ms=HOUR, mix={"active": HOUR // 4, "idle": HOUR * 3 // 4})
    parts = [quarter, StripPart(state="active", ms=HOUR, mix={"active": HOUR})]
    assert strip_words(parts, 2 * HOUR) == "active 62 %, idle, empty 38 % of 2 h"
    first, second = strip(parts).children
    assert [(one.className, one.style["flexGrow"]) for one in first.children] == [
        ("state-active", HOUR // 4),
        ("state-idle", HOUR * 3 // 4),
    ]
    assert (first.style, [one.className for one in second.children]) == ({"flexGrow": HOUR}, ["state-active"])


def test_a_sparkline_is_one_element_and_breaks_where_the_thresholds_changed() -> None:
    whole, broken = sparkline([0, 5, 10], "idle", 10), sparkline([0, 5, 10], "idle", 10, {1})
    assert whole.style["clipPath"].count(",") == 12
    assert "33.3% 50%" in whole.style["clipPath"]
    assert "50.0% 50%" in broken.style["clipPath"]
    assert broken.title == "idle: from 0 to 10; broken where the thresholds changed"
