"""What holds for every rule."""

import re
from pathlib import Path

import pytest

import analytics.rules
from analytics.evidence import Seen
from analytics.node_findings import NODE_RULES
from analytics.rules import RULES
from analytics.rules.registry import Rule
from analytics.wording import rule_title
from tests.factories.evidence import context, gpu, run, running
from tests.factories.ledger import MINUTE

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
        "interactive_idle",
        "idle_now",
        "memory_parked",
        "idle_head",
        "idle_tail",
        "hollow",
        "cpu_starved",
        "low_utilization",
        "gpu_model_oversized",
        "walltime_oversized",
    ]


def test_the_definitions_mark_what_is_planned_and_nothing_else() -> None:
    text = Path("docs/definitions.md").read_text(encoding="utf-8")
    table = text.split("| id | title people see |")[1].split("\n\n")[0]
    cells = [line.split("|")[1] for line in table.splitlines()[2:]]
    written = {rule for cell in cells for rule in re.findall("`([a-z_]+)`", cell) if "planned" not in cell}
    assert written == {rule.id for rule in (*RULES, *NODE_RULES)}


@pytest.mark.parametrize("kind", ["job", "session"])
def test_what_is_to_be_copied_does_something(kind: str) -> None:
    """A line that is only a comment says what to do, and that belongs into the advice."""
    idle = gpu(length=120, busy=60, idle_held_ms=0)
    evidence = [
        run(gpu(1, length=120, busy=0), length=120, kind=kind, cpu_efficiency=0.9),
        run(gpu(1, length=120, busy=0), length=120, kind=kind),
        run(gpu(1, length=120), gpu(2, length=120, busy=0), length=120, kind=kind),
        run(idle, length=120, kind=kind, leading_idle_ms=60 * MINUTE),
        run(idle, length=120, kind=kind, trailing_idle_ms=60 * MINUTE),
        run(gpu(length=120, util_mean_pct=5.0), length=120, kind=kind),
        running(gpu(length=120, busy=20), idle=100, kind=kind),
    ]
    seen = [rule.condition(one, rule.params(), context()) for one in evidence for rule in RULES]
    lines = [line for one in seen if isinstance(one, Seen) for line in one.lines]
    assert lines
    assert not [line for line in lines if line.startswith("#") and not line.startswith("#SBATCH")]


def test_files_that_only_the_user_knows_are_plainly_to_be_filled_in() -> None:
    """Nobody has our serve.sh, and what is copied would fail for a reason that has nothing to do with the advice."""
    named = re.compile(r"(?<![\w.])[\w-]+\.(?:sh|py)\b")
    for path in FOLDER.glob("*.py"):
        found = named.findall(path.read_text(encoding="utf-8"))
        assert not [name for name in found if not re.fullmatch(r"YOUR_[A-Z]+\.(sh|py)", name)], path.name
