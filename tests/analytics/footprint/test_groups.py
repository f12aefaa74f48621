"""Percentiles by counting are those by sorting, whatever the values; groups may be empty."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from analytics.footprint.groups import Groups, firsts

NARROW = st.integers(0, 5) | st.integers(0, 1000)
WIDE = st.integers(-40, 4_194_304)  # memory in MiB: too many bins to count, so it is sorted
GROUPS = st.lists(st.lists(NARROW, max_size=40) | st.lists(WIDE, max_size=8), min_size=1, max_size=6)
SHARES = [0.0, 0.5, 0.95, 0.99, 1.0]


def _grouped(values: list[list[int]]) -> tuple[Groups, np.ndarray]:
    number = np.repeat(np.arange(len(values)), [len(group) for group in values])
    return Groups(number, len(values)), np.array([value for group in values for value in group], np.int64)


def _by_sorting(values: list[int], share: float) -> float:
    ordered, rank = sorted(values), (len(values) - 1) * share
    low, high = ordered[math.floor(rank)], ordered[math.ceil(rank)]
    return low + (high - low) * (rank - math.floor(rank))


@given(values=GROUPS)
@settings(max_examples=300, deadline=None)
def test_counted_percentiles_are_the_sorted_ones(values: list[list[int]]) -> None:
    groups, flat = _grouped(values)
    found = groups.percentiles(flat, SHARES)
    for share, of_groups in zip(SHARES, found, strict=True):
        for group, value in zip(values, of_groups, strict=True):
            assert math.isnan(value) if not group else value == _by_sorting(group, share)


@given(values=GROUPS)
@settings(max_examples=100, deadline=None)
def test_sums_and_extremes_of_each_group(values: list[list[int]]) -> None:
    groups, flat = _grouped(values)
    assert groups.sum(flat).tolist() == [sum(group) for group in values]
    assert groups.most(flat, -99).tolist() == [max(group, default=-99) for group in values]
    assert groups.least(flat, -99).tolist() == [min(group, default=-99) for group in values]
    assert groups.any(flat > 3).tolist() == [any(value > 3 for value in group) for group in values]
    assert groups.sizes_of_all().tolist() == [len(group) for group in values]


def test_small_integers_of_a_column_do_not_overflow() -> None:
    """Utilization is stored in two bytes, and a bin's place needs more."""
    groups, _ = _grouped([[1] * 70_000, [2] * 3])
    values = np.concatenate([np.full(70_000, 65_535, np.uint16), np.array([0, 1000, 1000], np.uint16)])
    assert groups.percentiles(values, [0.5])[0].tolist() == [65_535, 1000]
    assert groups.sum(values).tolist() == [70_000 * 65_535, 2000]


def test_firsts_are_where_any_column_changes() -> None:
    number, busy = np.array([0, 0, 0, 1, 1]), np.array([True, True, False, False, True])
    assert firsts(number, busy).tolist() == [0, 2, 3, 4]
    assert firsts(number[:0]).tolist() == []
