import pytest

from collector.counters import Counter
from collector.readings import Reason

NARROW = 1 << 32


def test_the_first_reading_only_primes_and_rows_add_up():
    counter = Counter(1 << 20)
    assert counter.amount(5 << 20, 0.0, 1e12) is None
    rows = [counter.amount((5 << 20) + k * 1_500_000, float(k), 1e12) for k in range(1, 1001)]
    assert sum(rows) == 1000 * 1_500_000 >> 20


def test_a_counter_that_went_back_was_reset():
    counter = Counter(1)
    counter.amount(NARROW * 8, 0.0, 1e9)
    assert counter.amount(1000, 10.0, 1e9) is Reason.OUT_OF_RANGE
    assert counter.amount(3000, 20.0, 1e9) == 2000


def test_more_than_the_link_carries_is_refused():
    counter = Counter(1)
    counter.amount(0, 0.0, 1e6)
    assert counter.amount(20_000_000, 10.0, 1e6) is Reason.OUT_OF_RANGE


@pytest.mark.parametrize(("before", "after"), [(1000, 51_000), (NARROW - 20_000, 30_000)])
def test_32_bits_are_followed_over_their_end_where_the_link_is_slow_enough(before, after):
    counter = Counter(1)
    counter.amount(before, 0.0, 1e6, 32)
    assert counter.amount(after, 10.0, 1e6, 32) == 50_000


def test_32_bits_that_may_have_ended_several_times_say_nothing():
    counter = Counter(1)
    counter.amount(0, 0.0, 64e9, 32)
    assert counter.amount(50_000, 10.0, 64e9, 32) is Reason.WRAPS
    assert counter.amount(90_000, 10.01, 64e9, 32) is Reason.WRAPS
