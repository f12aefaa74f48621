"""Evidence as people read it."""

import ast
from pathlib import Path

import msgspec
import pytest

import analytics.rules
from analytics.evidence_names import NUMBERS, THRESHOLDS
from analytics.evidence_words import numbers_said, thresholds_said
from analytics.rules import RULES
from analytics.settings import ConfidenceSettings

OF_EVERY_FINDING = {"rows", "watched_ratio"}


def stored_numbers() -> set[str]:
    """The names under which the rules store their figures, from their source."""
    found = set(OF_EVERY_FINDING)
    for path in Path(analytics.rules.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.keyword) and node.arg == "numbers" and isinstance(node.value, ast.Dict):
                found |= {str(ast.literal_eval(key)) for key in node.value.keys if key is not None}
    return found


def stored_thresholds() -> set[str]:
    """The names of the limits of all rules and of how sure a finding is."""
    params = [msgspec.structs.asdict(rule.params()) for rule in RULES]
    values = [*params, msgspec.structs.asdict(ConfidenceSettings())]
    return {name for each in values for name, value in each.items() if type(value) in {int, float}}


def test_everything_that_is_stored_has_a_name_for_people_and_nothing_else() -> None:
    assert set(NUMBERS) == stored_numbers()
    assert set(THRESHOLDS) == stored_thresholds()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_no_two_thresholds_of_a_rule_are_called_the_same(rule: analytics.rules.registry.Rule) -> None:
    names = [name for name, _ in thresholds_said(msgspec.structs.asdict(rule.params()))]
    assert len(set(names)) == len(names)


def test_no_two_figures_are_called_the_same() -> None:
    assert len(set(NUMBERS.values())) == len(NUMBERS)


def test_numbers_are_in_peoples_units_and_nothing_is_said_twice() -> None:
    stored = {
        "run_ms": 7_200_000,
        "busiest_gpu_ms": 30_000,
        "idle_held_gpu_ms": 5_400_000,
        "cpu_efficiency": 0.10999985912715184,
        "share_pct": 4.166,
        "watched_ratio": 0.987654,
        "coverage": 0.99,
        "rows": 1234,
        "cpu_source": "accounting",
        "last_row_ms": 1_795_392_000_000,
        "of_an_earlier_version_ms": 60_000,
        "unknown": None,
    }
    assert numbers_said(stored) == [
        ("length of the run", "2 h"),
        ("busy time of the busiest GPU", "30 s"),
        ("idle, memory held", "1.5 GPU-h"),
        ("CPU efficiency", "11 %"),
        ("share of the run", "4.2 %"),
        ("watched by the driver's readings", "99 %"),
        ("readings of its least read GPU", "1,234"),
        ("CPU time is by", "accounting"),
        ("newest reading", "Mon 23 Nov 00:00"),
        ("of an earlier version ms", "1 min"),
    ]


def test_thresholds_say_what_they_limit() -> None:
    stored = {"enabled": True, "min_cpu_efficiency": 0.5, "busy_s": 30.0, "stale_intervals": 3.0, "contact": "x"}
    assert thresholds_said(stored) == [
        ("CPU efficiency at least", "50 %"),
        ("not used if busy for less than", "30 s"),
        ("newest reading within, intervals", "3"),
    ]
