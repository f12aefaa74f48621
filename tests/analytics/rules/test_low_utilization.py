import pytest

from analytics.evidence import RunEvidence, Seen
from analytics.rules import REGISTERED, RULES
from analytics.rules.low_utilization import LowUtilization, low_utilization
from tests.factories.evidence import context, gpu, run
from tests.factories.ledger import MINUTE


def judged(evidence: RunEvidence, explained: float = 0) -> object:
    return low_utilization(evidence, LowUtilization(), context(explained_ms=round(explained * MINUTE)))


@pytest.mark.parametrize(("mean", "level"), [(0, 2), (14.99, 2), (15, 1), (24.99, 1), (25, None), (90, None)])
def test_amber_and_red(mean: float, level: int | None) -> None:
    found = judged(run(gpu(busy=1, util_mean_pct=mean)))
    assert (found.numbers["level"] if isinstance(found, Seen) else None) == level


@pytest.mark.parametrize(("length", "is_found"), [(30, True), (29.9, False)])
def test_a_short_run_is_not_judged(length: float, is_found: bool) -> None:
    assert isinstance(judged(run(gpu(length=length, util_mean_pct=10.0), length=length)), Seen) is is_found


def test_a_run_that_worked_hard_and_then_sat_idle_is_not_slow() -> None:
    evidence = run(gpu(length=300, busy=60), length=300)  # 20 % over the whole run
    assert isinstance(judged(evidence), Seen)
    assert judged(evidence, explained=240) is None


def test_low_outside_the_explained_time_is_still_found() -> None:
    evidence = run(gpu(length=300, util_mean_pct=8.0), length=300)
    found = judged(evidence, explained=200)
    assert isinstance(found, Seen)
    assert found.numbers["mean_pct"] == pytest.approx(24.0)
    assert found.sentence.endswith("apart from the idle time that other findings explain.")


@pytest.mark.parametrize(("explained", "is_found"), [(0, True), (240, True), (240.2, False)])
def test_what_is_left_must_be_half_an_hour_a_gpu(explained: float, is_found: bool) -> None:
    evidence = run(gpu(1, length=150, util_mean_pct=1.0), gpu(2, length=150, util_mean_pct=1.0), length=150)
    assert isinstance(judged(evidence, explained), Seen) is is_found


def test_a_run_that_never_worked_is_another_rules() -> None:
    assert judged(run(gpu(busy=0))) is None


def test_comes_after_every_cause() -> None:
    order = [rule.id for rule in RULES]
    assert [rule for rule in order[order.index("low_utilization") + 1 :] if not rule.endswith("_oversized")] == []
    assert not REGISTERED["low_utilization"].running


def test_unknown_is_not_low() -> None:
    assert judged(run(gpu(covered_ms=0, util_mean_pct=None), coverage=0.0)) is None


def test_what_was_hardly_asked_gets_no_advice_on_data_loading() -> None:
    """Two per cent of a day in short pieces of work."""
    found = judged(run(gpu(length=1440, busy=30), length=1440))
    assert isinstance(found, Seen)
    assert found.sentence == "The GPU was idle for 23 h 30 min of 1 d: it was held and little was done."
    assert "DataLoader" not in "".join(found.lines)
    slow = judged(run(gpu(busy=60, util_mean_pct=10.0)))
    assert isinstance(slow, Seen)
    assert "DataLoader" in "".join(slow.lines)


def test_says_nothing_beside_a_model_that_waits_for_requests() -> None:
    evidence = run(gpu(length=1440, util_mean_pct=2.0), length=1440)
    assert low_utilization(evidence, LowUtilization(), context(found=frozenset({"memory_parked"}))) is None
