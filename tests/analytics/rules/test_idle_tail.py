import pytest

from analytics.evidence import Part, RunEvidence, Seen
from analytics.rules.idle_tail import IdleTail, idle_tail
from tests.factories.evidence import context, gpu, run
from tests.factories.ledger import MINUTE, T0


def judged(evidence: RunEvidence) -> object:
    return idle_tail(evidence, IdleTail(), context())


def evidence(trailing: float, length: float, *, active: int = 1) -> RunEvidence:
    one = gpu(length=length, busy=length - trailing)
    return run(one, length=length, trailing_idle_ms=round(trailing * MINUTE), gpus_active=active)


@pytest.mark.parametrize(
    ("trailing", "length", "is_found"),
    [
        (30, 2000, True),
        (29.99, 2000, False),
        (10, 50, True),
        (9.99, 45, False),
        (10, 50.1, False),
        (29, 100, True),
        (0, 600, False),
    ],
)
def test_half_an_hour_or_a_fifth_of_the_run(trailing: float, length: float, is_found: bool) -> None:
    assert isinstance(judged(evidence(trailing, length)), Seen) is is_found


@pytest.mark.parametrize(("length", "is_found"), [(30, True), (29.9, False)])
def test_a_short_run_is_not_judged(length: float, is_found: bool) -> None:
    assert isinstance(judged(evidence(12, length)), Seen) is is_found


def test_a_run_that_never_worked_has_no_tail() -> None:
    assert judged(evidence(600, 600, active=0)) is None


def test_a_busy_mean_does_not_hide_the_tail() -> None:
    """23 of 24 hours at full load, one hour held for nothing."""
    found = judged(evidence(60, 1440))
    assert isinstance(found, Seen)
    assert found.sentence == "The GPU was held for 1 h after the last work on it, 4.2 % of the run."
    assert found.claim.parts == (Part.TAIL,)
    assert found.start_ms == T0 + 1380 * MINUTE


def test_unknown_is_not_idle() -> None:
    assert judged(run(gpu(busy=10), trailing_idle_ms=None)) is None
