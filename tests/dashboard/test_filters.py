"""The address keeps everything: round trips, unknown parameters, hostile and bad values."""

from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics.requests import FILTER_NAMES, WINDOW_NAMES
from dashboard.filters import Address, job_path, node_path, segment, view
from tests.factories.ledger import DAY, HOUR, T0

names = st.sampled_from([*FILTER_NAMES, *WINDOW_NAMES, "sort", "order", "by", "cols", "later"])
values = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=80)


@given(st.dictionaries(names, values, max_size=8))
def test_round_trip(params: dict[str, str]) -> None:
    address = Address("/jobs", params)
    parts = urlsplit(address.href)
    assert Address.parse(parts.path, f"?{parts.query}" if parts.query else "") == address


@given(st.text(max_size=200))
def test_anything_typed_is_understood_or_refused(search: str) -> None:
    shown = view(Address.parse("/jobs", search), (None, T0 + DAY), "UTC", "7d")
    assert shown.window.start_ms < shown.window.end_ms


@given(values)
def test_ids_survive_as_one_segment(name: str) -> None:
    assert segment(job_path(name), "/jobs/") == name
    assert segment(node_path(name), "/nodes/") == name
    assert job_path(name).count("/") == 2


def test_change_keeps_what_it_does_not_know() -> None:
    address = Address.parse("/jobs", "?user=ann&later=1&range=30d")
    assert address.change(user=None, state="running").href == "/jobs?later=1&range=30d&state=running"


def test_another_page_keeps_window_and_filters_alone() -> None:
    address = Address.parse("/jobs", "?user=ann&range=30d&sort=util&cols=name&offset=20")
    assert address.to("/people").href == "/people?user=ann&range=30d"


def test_last_of_a_repeated_parameter_counts_and_long_ones_are_cut() -> None:
    address = Address.parse("/jobs", "?user=a&user=b&text=" + "x" * 9999)
    assert address.get("user") == "b"
    assert len(address.get("text") or "") == 500


def test_too_many_parameters_are_none() -> None:
    assert Address.parse("/jobs", "?" + "&".join(f"p{i}=1" for i in range(1000))).params == {}


def test_window_begins_with_the_data() -> None:
    shown = view(Address.parse("/", ""), (T0 + 5 * HOUR + 60_000, T0 + DAY), "UTC", "7d")
    assert shown.window.start_ms == T0 + 5 * HOUR
    assert shown.since == "since Mon 23 Nov 05:01 (18 h 59 min)"
    assert view(Address.parse("/", ""), (T0 - 30 * DAY, T0 + DAY), "UTC", "7d").since is None


@pytest.mark.parametrize(
    ("search", "span"), [("", "7d"), ("?range=24h", "24h"), ("?from=2026-11-20", "custom"), ("?range=never", "7d")]
)
def test_preset_that_is_marked(search: str, span: str) -> None:
    assert view(Address.parse("/", search), (None, T0 + DAY), "UTC", "7d").span == span


def test_refusal_is_a_sentence() -> None:
    shown = view(Address.parse("/", "?range=never"), (None, T0 + DAY), "UTC", "7d")
    assert shown.refusal is not None
    assert shown.refusal.startswith("range is such as")
