import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.readings import Moment
from collector.utilization import Watch, summarise

S = 1_000_000


def test_one_busy_second_in_ten_is_ten_percent_though_the_buffer_holds_only_busy_readings():
    busy = [(round(k * 0.1 * S), 100.0) for k in range(1, 11)]
    share = summarise(busy, 0, 10 * S, 0.0)
    assert share.mean_pct == pytest.approx(10)
    assert (share.highest_pct, share.watched_ms) == (100, 1000)
    assert share.below1_ratio == pytest.approx(0.9)


def test_a_reading_stands_for_a_second_at_most():
    share = summarise([(5 * S, 60.0)], 0, 10 * S, None)
    assert (share.mean_pct, share.watched_ms, share.readings) == (60, 1000, 1)


def test_a_reading_before_the_span_bounds_the_first_within():
    share = summarise([(-1 * S, 0.0), (S // 2, 50.0)], 0, S, 0.0)
    assert share.mean_pct == pytest.approx(25)
    assert share.watched_ms == 500


def test_readings_after_the_span_count_only_for_their_part_in_it():
    assert summarise([(3 * S // 2, 80.0)], 0, S, None).watched_ms == 500


def test_nothing_known_is_none_not_zero():
    assert summarise([], 0, 10 * S, None) is None


@given(
    st.lists(st.tuples(st.integers(-2 * S, 12 * S), st.floats(0, 100))),
    st.integers(1, 10 * S),
    st.one_of(st.none(), st.floats(0, 100)),
)
def test_a_summary_stays_within_its_readings(readings, length, current):
    share = summarise(sorted(readings), 0, length, current)
    if share is None:
        assert current is None
        return
    assert 0 <= share.mean_pct <= share.highest_pct + 1e-9
    assert share.highest_pct <= 100
    assert 0 <= share.below1_ratio <= 1
    assert 0 <= share.watched_ms * 1000 <= length


class Buffered:
    """A device whose buffer holds what the test says, newer than the time asked for."""

    def __init__(self, samples):
        self.all = samples

    def samples(self, since_us):
        return [sample for sample in self.all if sample[0] > since_us]


def watch_at(wall_s, steady_s, samples, watch=None):
    watch = watch or Watch()
    watch.gather(Buffered(samples), Moment(round(wall_s * 1000), steady_s))
    return watch


def summary(watch, start_s, end_s, current=None):
    return watch.summary(round(start_s * S), round(end_s * S), current)


def test_rubbish_readings_are_dropped_and_counted_never_clipped():
    base = 1_800_000_000
    samples = [((base + k) * S, pct) for k, pct in enumerate([95, 97, 808334905, 96, 4294967295, 2619], 1)]
    watch = watch_at(base + 6, 6, samples)
    share = summary(watch, base, base + 6)
    assert (share.mean_pct, share.highest_pct, watch.refused) == (96, 97, 3)


def test_a_driver_clock_that_counts_from_boot_is_mapped():
    base = 1_800_000_000
    watch = watch_at(base, 500.0, [(40 * S, 0)])  # 40 s by the driver, 500 s by us: 460 s at most between the two
    watch_at(base + 10, 510.0, [((40 + k) * S, 100) for k in range(1, 10)] + [(50 * S, 100)], watch)
    share = summary(watch, base, base + 10)
    assert (share.mean_pct, share.watched_ms) == (100, 10_000)


def test_a_buffer_that_ran_dry_before_the_first_reading_is_not_taken_for_now():
    base = 1_800_000_000
    watch = watch_at(base, 500.0, [(30 * S, 100)])  # this reading is old: the clocks are 460 s apart, not 470
    fresh = [(round((45 + k / 10) * S), 100) for k in range(1, 51)]  # 5 s of work up to the moment of reading
    watch_at(base + 10, 510.0, fresh, watch)
    assert summary(watch, base, base + 10, 0.0).mean_pct == pytest.approx(50, abs=10)


def test_readings_from_before_the_clock_was_set_back_do_not_stop_new_ones():
    base = 1_800_000_000
    watch = watch_at(base, 10.0, [(base * S, 0)])
    earlier = base - 3600
    samples = [((base - 1) * S, 100), (base * S, 100)] + [((earlier + k) * S, 40) for k in range(1, 11)]
    watch_at(earlier + 10, 20.0, samples, watch)
    assert summary(watch, earlier, earlier + 10, 0.0).mean_pct == pytest.approx(40)


def test_each_reading_is_used_once():
    base = 1_800_000_000
    watch = watch_at(base + 10, 10.0, [((base + k) * S, 70) for k in range(1, 11)])
    summary(watch, base, base + 10)
    assert summary(watch, base + 10, base + 20) is None
