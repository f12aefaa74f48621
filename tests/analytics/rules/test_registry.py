"""What holds for every rule."""

import re
from pathlib import Path

import pytest

import analytics.rules
from analytics.rules import RULES
from analytics.rules.registry import Rule
from analytics.wording import rule_title

FOLDER = Path(analytics.rules.__file__).parent


def test_one_file_a_rule() -> None:
    files = {file.stem for file in FOLDER.glob("*.py")} - {"__init__", "registry"}
    assert {rule.id for rule in RULES} == files


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_is_tested_and_documented(rule: Rule) -> None:
    assert (Path(__file__).parent / f"test_{rule.id}.py").exists()
    assert rule.condition.__doc__
    assert rule.params.__doc__
    assert "{" in rule.title or rule.title == rule_title(rule.id)


def test_idle_time_is_given_away_in_the_documented_order() -> None:
    assert [rule.id for rule in RULES] == [
        "cpu_only",
        "gpu_never_used",
        "gpus_unused",
        "idle_now",
        "memory_parked",
        "idle_head",
        "idle_tail",
        "low_utilization",
    ]


def test_the_definitions_mark_what_is_planned_and_nothing_else() -> None:
    text = Path("docs/definitions.md").read_text(encoding="utf-8")
    table = text.split("| id | title people see |")[1].split("\n\n")[0]
    cells = [line.split("|")[1] for line in table.splitlines()[2:]]
    written = {rule for cell in cells for rule in re.findall("`([a-z_]+)`", cell) if "planned" not in cell}
    assert written == {rule.id for rule in RULES}
