import pytest

from analytics.evidence import RunEvidence, Seen
from analytics.rules import RULES
from analytics.rules.interactive_idle import InteractiveIdle, interactive_idle
from tests.factories.evidence import context, gpu, run, running
from tests.factories.ledger import MINUTE


def session(idle: float, length: float = 600, *, lasts: bool = False) -> RunEvidence:
    one = gpu(length=length, busy=length - idle)
    if lasts:
        return running(one, idle=0, length=length, idle_together_ms=round(idle * MINUTE))
    return run(one, length=length, idle_together_ms=round(idle * MINUTE))


def judged(evidence: RunEvidence, *, interactive: bool = True, was_open: bool = False) -> object:
    return interactive_idle(evidence, InteractiveIdle(), context(interactive=interactive, was_open=was_open))


def test_a_notebook_left_open() -> None:
    found = judged(session(540))
    assert isinstance(found, Seen)
    assert found.sentence == "The session was open for 10 h and its GPU idle for 9 h of it, 90 %."
    assert not any(line.startswith("scancel") for line in found.lines), "it is over"


@pytest.mark.parametrize(("idle", "length", "is_found"), [(360, 600, True), (359, 600, False), (59, 59, False)])
def test_thresholds(idle: float, length: float, is_found: bool) -> None:
    assert isinstance(judged(session(idle, length)), Seen) is is_found


def test_a_batch_job_is_no_session() -> None:
    assert judged(session(540), interactive=False) is None


def test_gpus_that_take_turns_are_not_idle() -> None:
    """Each of the three is idle for two thirds of the time, all of them never."""
    each = [gpu(key, length=600, busy=200) for key in (1, 2, 3)]
    assert judged(run(*each, length=600, idle_together_ms=0)) is None


def test_unknown_idle_time_is_none() -> None:
    assert judged(run(gpu(length=600, busy=60), length=600, idle_together_ms=None)) is None


def test_while_it_lasts_it_does_not_come_and_go() -> None:
    lasting = session(330, lasts=True)
    assert judged(lasting) is None
    kept = judged(lasting, was_open=True)
    assert isinstance(kept, Seen)
    assert kept.sentence.startswith("The session has been open for")
    assert kept.lines[0] == "scancel 123_4   # when you leave"
    assert judged(session(330), was_open=True) is None, "when it is over it is judged as any other"


def test_it_comes_before_what_is_idle_right_now() -> None:
    order = [rule.id for rule in RULES]
    assert order.index("gpus_unused") < order.index("interactive_idle") < order.index("idle_now")
