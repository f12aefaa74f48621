import pytest

from analytics.evidence import Part, RunEvidence, Seen
from analytics.rules.idle_head import IdleHead, idle_head
from tests.factories.evidence import context, gpu, run
from tests.factories.ledger import MINUTE, T0


def judged(evidence: RunEvidence) -> object:
    return idle_head(evidence, IdleHead(), context())


def evidence(leading: float, length: float, *, active: int = 1) -> RunEvidence:
    one = gpu(length=length, busy=length - leading)
    return run(one, length=length, leading_idle_ms=round(leading * MINUTE), gpus_active=active)


@pytest.mark.parametrize(
    ("leading", "length", "is_found"),
    [(10, 100, True), (9.99, 90, False), (10, 100.1, False), (20, 200, True), (19.9, 200, False), (60, 70, True)],
)
def test_ten_minutes_and_a_tenth_of_the_run(leading: float, length: float, is_found: bool) -> None:
    assert isinstance(judged(evidence(leading, length)), Seen) is is_found


@pytest.mark.parametrize(("length", "is_found"), [(30, True), (29.9, False)])
def test_a_short_run_is_not_judged(length: float, is_found: bool) -> None:
    assert isinstance(judged(evidence(12, length)), Seen) is is_found


def test_without_any_work_it_is_no_set_up() -> None:
    assert judged(evidence(60, 60, active=0)) is None


def test_names_the_stretch_it_explains() -> None:
    found = judged(evidence(20, 100))
    assert isinstance(found, Seen)
    assert found.claim.parts == (Part.HEAD,)
    assert found.end_ms == T0 + 20 * MINUTE
    assert found.sentence == "The first GPU work began 20 min after the start, 20 % of the run."


def test_unknown_is_not_idle() -> None:
    assert judged(run(gpu(busy=10), leading_idle_ms=None)) is None


def test_memory_that_is_held_meanwhile_may_wait_to_be_asked() -> None:
    one = gpu(length=100, busy=80, idle_ms=5 * MINUTE, idle_held_ms=15 * MINUTE)
    found = judged(run(one, length=100, leading_idle_ms=20 * MINUTE))
    assert isinstance(found, Seen)
    assert found.advice.startswith("Memory was held meanwhile. If it waited to be asked, start it when it is")
