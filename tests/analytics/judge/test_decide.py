"""One run through all rules: who gets a second, how sure a finding is, and when nothing is said."""

import json
from typing import Any

import msgspec
import pytest

from analytics.evidence import RunEvidence
from analytics.judge.decide import Decision, decide
from analytics.settings import AnalyticsSettings, ConfidenceSettings, ExcludedSettings, Override
from tests.factories.evidence import gpu, run, running
from tests.factories.ledger import HOUR, MINUTE, T0

SETTINGS = AnalyticsSettings()
NOW = T0 + 120 * MINUTE


def decided(evidence: RunEvidence, settings: AnalyticsSettings = SETTINGS, opened: tuple[str, ...] = ()) -> Decision:
    return decide(evidence, settings, NOW, frozenset(opened))


def rules(evidence: RunEvidence, settings: AnalyticsSettings = SETTINGS) -> list[str]:
    return [found.rule for found in decided(evidence, settings).found]


def idle_run(**more: Any) -> RunEvidence:
    return run(gpu(busy=0), **more)


def head_and_tail() -> RunEvidence:
    """Two GPUs over ten hours: two idle first, three idle last, one never used."""
    worked = gpu(1, length=600, busy=300)
    return run(worked, gpu(2, length=600, busy=0), length=600, leading_idle_ms=2 * HOUR, trailing_idle_ms=3 * HOUR)


def test_a_second_goes_to_the_first_rule() -> None:
    found = {each.rule: each.gpu_ms for each in decided(head_and_tail()).found}
    assert found == {"gpus_unused": 10 * HOUR, "idle_head": 2 * HOUR, "idle_tail": 3 * HOUR}
    assert sum(found.values()) <= head_and_tail().idle_gpu_ms


def test_a_mig_instance_counts_as_its_slices() -> None:
    found = decided(run(gpu(busy=0, share=2 / 7))).found[0]
    assert found.gpu_ms == round(HOUR * 2 / 7)
    barred = decided(run(gpu(busy=0, share=2 / 7), shared=True)).unjudged[0]
    assert barred.gpu_ms == round(HOUR * 2 / 7)


def test_what_is_all_idle_is_explained_once() -> None:
    found = decided(run(gpu(busy=0), leading_idle_ms=HOUR, trailing_idle_ms=HOUR)).found
    assert [(each.rule, each.gpu_ms) for each in found] == [("gpu_never_used", HOUR)]


@pytest.mark.parametrize("asked", [1, 2, 3])
def test_gpus_that_came_with_the_node_are_nobodys_doing(asked: int) -> None:
    """An exclusive node has four; what was asked for is answered for, and of that what did least."""
    idle = decided(run(*(gpu(key, busy=0) for key in range(1, 5)), gpus_requested=asked)).found
    assert [(each.rule, each.gpu_ms) for each in idle] == [("gpu_never_used", asked * HOUR)]
    node = [gpu(1), *(gpu(key, busy=0) for key in (2, 3, 4))]
    unused = [(each.rule, each.gpu_ms) for each in decided(run(*node, gpus_requested=asked)).found]
    assert unused == ([("gpus_unused", (asked - 1) * HOUR)] if asked > 1 else [])
    # One worked for a third of the time, which over all four is little.
    low = [gpu(1, length=240, busy=80), *(gpu(key, length=240, busy=0) for key in (2, 3, 4))]
    found = decided(run(*low, length=240, gpus_requested=1, trailing_idle_ms=0, leading_idle_ms=0)).found
    assert found == ()
    tail = [gpu(1, length=240, busy=120), *(gpu(key, length=240, busy=0) for key in (2, 3, 4))]
    [kept] = decided(run(*tail, length=240, gpus_requested=1, trailing_idle_ms=2 * HOUR)).found
    assert (kept.rule, kept.gpu_ms) == ("idle_tail", 2 * HOUR)
    now = decided(running(*(gpu(key, length=120, busy=0) for key in range(1, 5)), idle=120, gpus_requested=1)).found
    assert [(each.rule, each.gpu_ms) for each in now] == [("idle_now", 2 * HOUR)]


def test_a_finding_keeps_what_explain_needs() -> None:
    found = decided(idle_run()).found[0]
    numbers, thresholds = json.loads(found.numbers), json.loads(found.thresholds)
    assert numbers["run_ms"] == HOUR
    assert numbers["busiest_gpu_ms"] == 0
    assert numbers["coverage"] == 1.0
    assert thresholds["min_held_s"] == 900
    assert thresholds["high_coverage"] == 0.9
    assert "enabled" not in thresholds
    assert found.title == "GPU not used"
    assert found.rule_version == 1


@pytest.mark.parametrize(
    ("more", "sure"),
    [
        ({}, "high"),
        ({"coverage": 0.9, "min_rows": 90, "watched_ratio": 0.5}, "high"),
        ({"coverage": 0.89}, "medium"),
        ({"min_rows": 89}, "medium"),
        ({"watched_ratio": 0.49}, "medium"),
        ({"watched_ratio": None}, "medium"),
        ({"coverage": 0.7, "min_rows": 30}, "medium"),
        ({"coverage": 0.69}, None),
        ({"min_rows": 29}, None),
    ],
)
def test_confidence(more: dict[str, Any], sure: str | None) -> None:
    found = decided(idle_run(**more))
    assert (found.found[0].confidence if found.found else None) == sure
    assert bool(found.unjudged) is (sure is None)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"shared": True}, "shared its GPUs"),
        ({"gpus_requested": 0}, "did not ask for the GPUs"),
        ({"state": "NODE_FAIL"}, "node failed"),
        ({"state": "PREEMPTED"}, "preempted"),
        ({"state": "REQUEUED"}, "put back into the queue"),
        ({"state": "SUSPENDED"}, "is suspended"),
        ({"faults": ("gpu_lost",)}, "GPU was lost"),
        ({"faults": ("order_disputed",)}, "disputed"),
        ({"faults": ("gpu_on_two_nodes",)}, "two nodes report its GPU"),
        ({"untold_ms": 600_000}, "suspended and it is not known when"),
        ({"gpus": 8, "coverage": 0.0}, "not all of its GPUs"),
        ({"measurable": False, "coverage": 0.0}, "cannot be measured"),
        ({"coverage": 0.62}, "less than 70 % of its time"),
    ],
)
def test_what_bars_a_run_is_listed_with_its_reason(more: dict[str, Any], words: str) -> None:
    found = decided(idle_run(**more))
    assert not found.found
    (unjudged,) = found.unjudged
    assert words in unjudged.reason
    assert (unjudged.rule, unjudged.gpu_ms) == ("all", more.get("gpus", 1) * HOUR)


@pytest.mark.parametrize(("share", "barred"), [(0.1, True), (0.099, False)])
def test_a_gpu_under_thermal_or_power_brake_bars_its_run(share: float, barred: bool) -> None:
    found = decided(run(gpu(busy=0, throttled_ms=round(share * HOUR))))
    assert bool(found.unjudged) is barred


@pytest.mark.parametrize(("minutes", "listed"), [(15, True), (14.9, False)])
def test_short_runs_are_not_even_listed(minutes: float, listed: bool) -> None:
    found = decided(run(gpu(length=minutes, busy=0), length=minutes, coverage=0.1))
    assert bool(found.unjudged) is listed


@pytest.mark.parametrize("closed", [False, None])
def test_never_needs_every_gap_closed(closed: bool | None) -> None:
    found = decided(run(gpu(busy=0, gaps_closed=closed, longest_gap_ms=5 * MINUTE)))
    assert "gpu_never_used" not in [each.rule for each in found.found]
    (unjudged,) = found.unjudged
    assert unjudged.rule == "gpu_never_used"
    assert "up to 5 min" in unjudged.reason


def test_an_open_gap_on_a_busy_gpu_does_not_matter_to_the_idle_ones() -> None:
    assert rules(run(gpu(1, gaps_closed=None), gpu(2, busy=0))) == ["gpus_unused"]


@pytest.mark.parametrize(
    "excluded",
    [
        {"users": ("ann",)},
        {"accounts": ("phys*",)},
        {"partitions": ("gpu",)},
        {"qos": ("normal",)},
        {"names": ("tr?in",)},
    ],
)
def test_the_excluded_are_neither_found_nor_listed(excluded: dict[str, Any]) -> None:
    settings = AnalyticsSettings(excluded=ExcludedSettings(**excluded))
    assert decided(idle_run(), settings) == Decision(run=idle_run())


@pytest.mark.parametrize("more", [{"interactive": True}, {"name": "spawner-jupyterhub"}, {"name": "interactive"}])
def test_an_open_session_gets_only_what_is_meant_for_it(more: dict[str, Any]) -> None:
    assert rules(idle_run(**more)) == []
    assert rules(run(gpu(1), gpu(2, busy=0), **more)) == ["gpus_unused"]
    assert rules(running(gpu(length=120, busy=10), idle=100, **more)) == ["idle_now"]
    left_open = gpu(length=120, busy=10)
    assert rules(run(left_open, length=120, idle_together_ms=110 * MINUTE, **more)) == ["interactive_idle"]


def test_a_session_that_waits_right_now_has_its_hours_explained_once() -> None:
    waits = running(gpu(length=120, busy=10), idle=100, idle_together_ms=110 * MINUTE, interactive=True)
    found = {each.rule: each.gpu_ms for each in decided(waits).found}
    assert found == {"interactive_idle": 110 * MINUTE, "idle_now": 0}


def test_while_a_run_lasts_only_two_rules_speak() -> None:
    evidence = running(gpu(1, length=120, busy=20), gpu(2, length=120, busy=0), idle=90, leading_idle_ms=10 * MINUTE)
    found = {each.rule: each.gpu_ms for each in decided(evidence).found}
    assert found == {"gpus_unused": 2 * HOUR, "idle_now": 90 * MINUTE}


def test_a_rule_can_be_switched_off() -> None:
    (override,) = _overrides({"partition": "gpu", "rules": {"gpu_never_used": {"enabled": False}}})
    assert rules(idle_run(), AnalyticsSettings(overrides=(override,))) == []


def test_a_partition_may_have_other_thresholds() -> None:
    (override,) = _overrides({"partition": "gpu", "rules": {"gpu_never_used": {"min_held_s": 7200}}})
    assert "gpu_never_used" not in rules(idle_run(), AnalyticsSettings(overrides=(override,)))
    assert "gpu_never_used" in rules(idle_run(partition="other"), AnalyticsSettings(overrides=(override,)))


def test_a_site_writes_its_own_fix() -> None:
    own = {
        "fix": "Use cpu-q:\nsbatch -p cpu-q $SLURM_JOB_ID # $job_id, $gpus",
        "help_url": "https://x/y",
        "contact": "hpc",
    }
    (override,) = _overrides({"rules": {"gpu_never_used": own}})
    found = decided(idle_run(), AnalyticsSettings(overrides=(override,))).found[0]
    assert found.fix == "Use cpu-q:\nsbatch -p cpu-q $SLURM_JOB_ID # 123_4, 1\n# more: https://x/y\n# ask: hpc"


def test_needs_can_be_raised() -> None:
    settings = AnalyticsSettings(confidence=ConfidenceSettings(medium_coverage=0.95))
    assert not decided(idle_run(coverage=0.9), settings).found


def _overrides(*given: dict[str, Any]) -> tuple[Override, ...]:
    return msgspec.convert(given, tuple[Override, ...])
