"""Numbers and words as people see them."""

import re
from collections.abc import Callable

import pytest

from analytics import wording
from analytics.model import State
from analytics.rules import RULES

HOUR = 3_600_000


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "—"), (0, "0 GPU-h"), (0.001, "<0.01 GPU-h"), (0.04, "0.04 GPU-h"), (0.996, "1.0 GPU-h"),
        (3.44, "3.4 GPU-h"), (9.96, "10 GPU-h"), (411.6, "412 GPU-h"), (4840.4, "4,840 GPU-h"),
        (99_999.4, "99,999 GPU-h"), (99_999.6, "100 k GPU-h"), (184_000, "184 k GPU-h"), (999_600, "1.00 M GPU-h"),
        (1.84e6, "1.84 M GPU-h"), (-412, "-412 GPU-h"),
    ],
)  # fmt: skip
def test_gpu_hours(value: float | None, text: str) -> None:
    assert wording.format_gpu_h(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "—"), (0, "0 %"), (0.02, "<0.1 %"), (3.44, "3.4 %"), (9.94, "9.9 %"), (9.96, "10 %"), (38.2, "38 %"),
        (99.97, "100 %"), (-3.4, "-3.4 %"), (-12.4, "-12 %"),
    ],
)  # fmt: skip
def test_percent(value: float | None, text: str) -> None:
    assert wording.format_pct(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "—"), (0, "0 s"), (40_000, "40 s"), (60_000, "1 min"), (59_700, "1 min"), (42 * 60_000, "42 min"),
        (3_599_999, "1 h"), (3 * HOUR + 5 * 60_000, "3 h 5 min"), (51 * HOUR, "2 d 3 h"), (48 * HOUR, "2 d"),
        (71.6 * HOUR, "3 d"),
    ],
)  # fmt: skip
def test_durations_in_two_units(value: float | None, text: str) -> None:
    assert wording.format_duration(value) == text


@pytest.mark.parametrize(
    "write",
    [wording.format_duration, wording.format_pct, wording.format_gpu_h, wording.format_mib, wording.format_power],
)
def test_nothing_is_never_minus_nothing(write: Callable[[float], str]) -> None:
    for value in (-0.0, -0.0004, -0.04, -0.4):
        assert not re.match(r"-0(\.0*)?( |$)", write(value))


def test_sizes_power_energy() -> None:
    assert wording.format_mib(81_559) == "80 GiB"
    assert wording.format_mib(640) == "640 MiB"
    assert wording.format_bytes(0) == "0 B"
    assert wording.format_bytes(1_500_000_000) == "1.4 GiB"
    assert wording.format_power(312.4) == "312 W"
    assert wording.format_power(43_900) == "44 kW"
    assert wording.format_energy(0.34) == "0.3 kWh"
    assert wording.format_energy(0.0004) == "<0.1 kWh"  # a first minute is little, and not nothing
    assert wording.format_energy(1240, estimated=True) == "about 1.2 MWh"
    assert wording.format_ratio(0.912) == "91 %"


@pytest.mark.parametrize(
    "format_",
    [
        *(wording.format_count, wording.format_gpu_h, wording.format_pct, wording.format_ratio, wording.format_bytes),
        *(wording.format_mib, wording.format_power, wording.format_energy, wording.format_duration),
        wording.format_time,
    ],
)
def test_unknown_is_a_dash_and_never_a_zero(format_: object) -> None:
    assert format_(None) == "—"  # type: ignore[operator]


def test_times_are_of_the_zone() -> None:
    assert wording.format_time(0, "Europe/Berlin") == "Thu 1 Jan 01:00"
    assert wording.format_iso(1_795_392_000_000) == "2026-11-23T00:00:00Z"
    assert wording.format_iso(None) is None


def test_no_percentage_of_very_little() -> None:
    assert wording.share_pct(5, 9.99) is None
    assert wording.share_pct(5, 10) == 50
    assert wording.share_pct(None, 100) is None
    assert wording.share_pct(1, None) is None


def test_every_state_has_a_name_and_two_colours() -> None:
    assert set(wording.STATES) == set(State)
    assert wording.label("idle_held") == "idle, memory held"
    assert wording.label("unknown") == "not measured"


def test_states_of_runs_in_plain_words() -> None:
    assert wording.run_state("CANCELLED by 1000") == "cancelled"
    assert wording.run_state("OUT_OF_MEMORY") == "out of memory"
    assert wording.run_state("BOOT_FAIL") == "boot fail"


def test_nouns_without_slurm() -> None:
    assert wording.words("sessions").runs == "sessions"
    assert wording.words("slurm").unallocated == "unallocated"
    assert wording.plural(1, "job") == "1 job"
    assert wording.plural(1204, "job") == "1,204 jobs"
    assert wording.plural(2, "person", "people") == "2 people"


def test_every_rule_has_a_title_for_filters() -> None:
    assert {rule.id for rule in RULES} <= wording.RULES.keys()
    assert wording.rule_title("some_new_rule") == "some new rule"
