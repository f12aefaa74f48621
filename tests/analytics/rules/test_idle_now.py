import pytest

from analytics.evidence import Part, RunEvidence, Seen
from analytics.rules import REGISTERED
from analytics.rules.idle_now import IdleNow, idle_now
from tests.factories.evidence import context, gpu, running
from tests.factories.ledger import MINUTE, T0


def judged(evidence: RunEvidence, **more: object) -> object:
    return idle_now(evidence, IdleNow(), context(**more))


@pytest.mark.parametrize(("idle", "is_found"), [(60, True), (59.99, False), (0, False)])
def test_an_hour_of_all_gpus_idle(idle: float, is_found: bool) -> None:
    assert isinstance(judged(running(gpu(length=120, busy=30), idle=idle)), Seen) is is_found


@pytest.mark.parametrize(("idle", "level"), [(60, 1), (119.9, 1), (120, 2)])
def test_says_so_again_after_two_hours(idle: float, level: int) -> None:
    found = judged(running(gpu(length=120, busy=0), idle=idle))
    assert isinstance(found, Seen)
    assert found.numbers["level"] == level


def test_has_the_line_that_releases_it() -> None:
    found = judged(running(gpu(1, length=120, busy=30), gpu(2, length=120, busy=30), idle=90))
    assert isinstance(found, Seen)
    assert found.sentence == "Both GPUs have been idle for the last 1 h 30 min."
    assert found.lines == ("scancel 123_4",)
    assert found.claim.parts == (Part.TAIL,)
    assert (found.start_ms, found.end_ms) == (T0 + 30 * MINUTE, T0 + 120 * MINUTE)


def test_a_session_is_told_to_end_its_program() -> None:
    found = judged(running(gpu(length=120, busy=30), idle=90, kind="session"))
    assert isinstance(found, Seen)
    assert "scancel" not in "".join(found.lines)


@pytest.mark.parametrize(("age_s", "is_found"), [(150, True), (151, False)])
def test_rows_must_be_fresh(age_s: float, is_found: bool) -> None:
    """Three intervals of 10 s and two minutes for a segment to arrive."""
    now_ms = T0 + 120 * MINUTE + round(age_s * 1000)
    assert isinstance(judged(running(gpu(length=120, busy=30), idle=90), now_ms=now_ms), Seen) is is_found


@pytest.mark.parametrize(("idle", "is_found"), [(30, True), (29.9, False)])
def test_an_open_finding_stays_for_less(idle: float, is_found: bool) -> None:
    evidence = running(gpu(length=120, busy=30), idle=idle)
    assert isinstance(judged(evidence, was_open=True), Seen) is is_found
    assert judged(evidence) is None


def test_unknown_is_not_idle() -> None:
    assert judged(running(gpu(length=120, busy=0), idle=90, recent_idle_ms=None)) is None


def test_speaks_of_running_runs_only() -> None:
    rule = REGISTERED["idle_now"]
    assert rule.running
    assert not rule.finished
    assert rule.interactive


def test_who_ran_something_short_is_not_told_that_nothing_ran() -> None:
    """25 s in five hours end no idle stretch, and the words say so."""
    evidence = running(gpu(length=300, busy=25 / 60, used=False), idle=300, length=300, gpus_active=0)
    found = idle_now(evidence, IdleNow(), context(now_ms=evidence.end_ms))
    assert isinstance(found, Seen)
    assert found.sentence == "The GPU has been idle for the last 5 h. A single activity of 25 s does not count as use."
