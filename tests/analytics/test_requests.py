"""What people type for a window, a filter and a page, and the one sentence for what cannot be understood."""

from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics.model import Filter, Window
from analytics.requests import BadRequest, Page, parse_filter, parse_window, query_string

HOUR = 3_600_000
DAY = 24 * HOUR
NOW = 1_795_392_000_000 + 3 * DAY + 90 * 60_000  # Thu 26 Nov 2026, 01:30 UTC


def window(start: str | None = None, end: str | None = None, span: str | None = None, zone: str = "UTC") -> Window:
    return parse_window(start, end, span, NOW, zone)


def test_the_default_is_a_week_up_to_the_data() -> None:
    found = window()
    assert (found.start_ms, found.end_ms, found.label) == (NOW - NOW % HOUR - 167 * HOUR, NOW, "last 7 days")


@pytest.mark.parametrize(("span", "hours"), [("24h", 24), ("7d", 168), ("12w", 2016), ("90d", 2160), ("1h", 1)])
def test_spans(span: str, hours: int) -> None:
    found = window(span=span)
    assert (found.start_ms, found.end_ms) == (NOW - NOW % HOUR - (hours - 1) * HOUR, NOW)


def test_a_week_of_the_calendar_is_cut_at_the_end_of_the_data() -> None:
    whole = window(span="2026-W47")
    assert (whole.end_ms - whole.start_ms, whole.label) == (7 * DAY, "2026-W47")
    assert window(span="2026-W48").end_ms == NOW


@pytest.mark.parametrize(
    ("start", "zone", "expected"),
    [
        ("2026-11-23", "UTC", NOW - 90 * 60_000 - 3 * DAY),
        ("2026-11-23", "Europe/Berlin", NOW - 90 * 60_000 - 3 * DAY - HOUR),
        ("2026-11-23", "Asia/Kolkata", NOW - 90 * 60_000 - 3 * DAY - 5 * HOUR - HOUR // 2),
        ("2026-11-23T02:40", "UTC", NOW - 90 * 60_000 - 3 * DAY + 2 * HOUR),
        ("2026-11-23T02:40+02:00", "UTC", NOW - 90 * 60_000 - 3 * DAY),
        ("2026-11-23T02:00:00Z", "Europe/Berlin", NOW - 90 * 60_000 - 3 * DAY + 2 * HOUR),
        ("1795392000", "UTC", 1_795_392_000_000),
        ("1795392000000", "UTC", 1_795_392_000_000),
    ],
)
def test_a_beginning_is_the_full_hour_at_or_before(start: str, zone: str, expected: int) -> None:
    assert window(start, zone=zone).start_ms == expected


def test_an_end_is_exclusive_and_the_full_hour_at_or_after() -> None:
    assert window("2026-11-23", "2026-11-24").end_ms == NOW - 90 * 60_000 - 2 * DAY
    assert window("2026-11-23", "2026-11-24T00:10").end_ms == NOW - 90 * 60_000 - 2 * DAY + HOUR
    assert window("2026-11-23", "2026-12-24").end_ms == NOW


def test_an_end_alone_looks_back_over_the_span() -> None:
    found = window(None, "2026-11-24", "24h")
    assert found.end_ms == NOW - 90 * 60_000 - 2 * DAY
    assert 23 * HOUR <= found.end_ms - found.start_ms <= 24 * HOUR


@pytest.mark.parametrize(
    ("start", "end", "span", "sentence"),
    [
        ("yesterday", None, None, "from is a date or time such as 2026-11-23 or 2026-11-23T14:00, not 'yesterday'."),
        (None, "2026-13-01", None, "to is a date or time such as 2026-11-23 or 2026-11-23T14:00, not '2026-13-01'."),
        (None, None, "7 days", "range is such as 24h, 7d, 12w or 2026-W48, not '7 days'."),
        (None, None, "0d", "range is such as 24h, 7d, 12w or 2026-W48, not '0d'."),
        (None, None, "9999w", "range is such as 24h, 7d, 12w or 2026-W48, not '9999w'."),
        *(
            (None, None, week, f"'{week}' is not a week of the ISO calendar; write such as 2026-W48.")
            for week in ("2026-W54", "2026-W00", "9999-W52", "0001-W01", "0000-W01", "1969-W30")
        ),
        (None, None, "2026-W50", "2026-W50 has not begun; the data reaches to Thu 26 Nov 01:30."),
        ("1900-01-01", None, None, "from lies outside the years 1970 to 3000: '1900-01-01'."),
        ("2000-01-01", None, None, "The window from from to to is longer than 5 years; choose a shorter one."),
        (
            "2026-11-25",
            "2026-11-24",
            None,
            "from (Wed 25 Nov 00:00) has to lie before to (Tue 24 Nov 00:00); the data reaches to Thu 26 Nov 01:30.",
        ),
    ],
)
def test_what_cannot_be_understood_is_one_sentence(
    start: str | None, end: str | None, span: str | None, sentence: str
) -> None:
    with pytest.raises(BadRequest) as refused:
        window(start, end, span)
    assert str(refused.value) == sentence


def outcome(start: str, end: str, span: str) -> Window | str:
    try:
        return window(start, end, span)
    except BadRequest as refused:
        return str(refused)


@given(st.text(max_size=60), st.text(max_size=60), st.text(max_size=30))
def test_any_text_is_a_window_or_one_printable_sentence(start: str, end: str, span: str) -> None:
    found = outcome(start, end, span)
    if isinstance(found, str):
        assert found.isprintable()
        assert found.endswith(".")
    else:
        assert found.start_ms < found.end_ms <= NOW


def test_a_filter_takes_its_own_names_only() -> None:
    found = parse_filter({"user": "ann", "account": "", "range": "7d", "min_gpu_h": "2.5", "max_util_pct": "25"})
    assert found == Filter(user="ann", min_gpu_h=2.5, max_util_pct=25)


def test_a_name_is_taken_as_it_is() -> None:
    """Names may hold anything; cut to another name the filter would show another one's hours."""
    assert parse_filter({"user": "ann\n", "text": " ab c "}) == Filter(user="ann\n", text="ab c")


@pytest.mark.parametrize("blank", [" ", "\t\n", "\u2003"])
def test_a_blank_filter_does_not_answer_for_everybody(blank: str) -> None:
    with pytest.raises(BadRequest, match="user holds nothing but blanks"):
        parse_filter({"user": blank})


@pytest.mark.parametrize("text", ["x", "nan", "inf", "-1", "1e999"])
def test_a_size_is_a_number(text: str) -> None:
    with pytest.raises(BadRequest, match="min_gpu_h is a number of 0 or more, not"):
        parse_filter({"min_gpu_h": text})


def test_pages() -> None:
    assert Page.of({}) == Page(50, 0)
    assert Page.of({"limit": "7", "cursor": "14"}) == Page(7, 14)


@pytest.mark.parametrize(
    "values", [{"limit": "0"}, {"limit": "1001"}, {"limit": "-1"}, {"limit": "٣"}, {"cursor": "x"}, {"cursor": "-5"}]
)
def test_a_page_that_is_none(values: dict[str, str]) -> None:
    with pytest.raises(BadRequest, match=r"^(limit|cursor) is "):
        Page.of(values)


def test_a_query_string_comes_back_as_it_was() -> None:
    chosen = Filter(user="a&b=c", text="50% #1", min_gpu_h=0.21544, max_gpu_h=464_160.0)
    values = dict(parse_qsl(query_string(window("2026-11-23", "2026-11-24"), chosen)))
    assert parse_filter(values) == chosen
    again = parse_window(values["from"], values["to"], None, NOW)
    assert (again.start_ms, again.end_ms) == (NOW - 90 * 60_000 - 3 * DAY, NOW - 90 * 60_000 - 2 * DAY)
    assert query_string(None, Filter()) == ""
