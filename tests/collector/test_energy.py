from collector.energy import EnergyMeter
from collector.readings import Reason


def test_the_first_reading_only_primes():
    assert EnergyMeter().joules(5_000_000, 0.0, 700) is None


def test_rows_add_up_to_the_counter_though_each_is_whole_joules():
    meter = EnergyMeter()
    meter.joules(0, 0.0, 700)
    rows = [meter.joules(round(k * 1234.7), float(k), 700) for k in range(1, 1001)]
    assert sum(rows) == 1_234_700 // 1000


def test_a_reset_counter_is_unknown_not_negative():
    meter = EnergyMeter()
    meter.joules(5_000_000, 0.0, 700)
    assert meter.joules(1_200, 10.0, 700) is Reason.OUT_OF_RANGE
    assert meter.joules(701_200, 20.0, 700) == 700


def test_more_than_the_limit_allows_is_refused_and_the_next_row_is_sound():
    meter = EnergyMeter()
    meter.joules(0, 0.0, 700)
    assert meter.joules(100_000_000, 10.0, 700) is Reason.OUT_OF_RANGE
    assert meter.joules(103_000_000, 20.0, 700) == 3000


def test_short_peaks_above_the_limit_are_taken():
    meter = EnergyMeter()
    meter.joules(0, 0.0, 700)
    assert meter.joules(8_000_000, 10.0, 700) == 8000


def test_energy_of_a_gap_is_kept():
    meter = EnergyMeter()
    meter.joules(0, 0.0, 700)
    assert meter.joules(70_000_000, 600.0, 700) == 70_000
