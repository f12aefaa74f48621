import re
from typing import Any

import pytest

from analytics.evidence import GpuEvidence, RunEvidence, Seen, Undecided
from analytics.model import Confidence
from analytics.rules import REGISTERED
from analytics.rules.hollow import Hollow, hollow
from tests.factories.evidence import context, gpu, run, running
from tests.factories.ledger import MINUTE, T0


def spinning(key: int = 1, *, minutes: float = 100, **more: Any) -> GpuEvidence:
    span_ms = round(minutes * MINUTE)
    known = {"hollow_ms": span_ms, "hollow_longest_ms": span_ms, "hollow_from_ms": T0, "hollow_to_ms": T0 + span_ms}
    return gpu(key, length=120, **known | {"hollow_sm_pct": 1.8, "hollow_power_w": 120.0} | more)


def by_power(key: int = 1, **more: Any) -> GpuEvidence:
    return spinning(key, hollow_sm_pct=None, hollow_power_w=96.0, rest_power_w=78.0, **more)


def judged(evidence: RunEvidence) -> object:
    return hollow(evidence, Hollow(), context())


def test_a_collective_that_waits_for_a_lost_peer() -> None:
    found = judged(run(spinning(1), spinning(2, hollow_sm_pct=2.1), length=120))
    assert isinstance(found, Seen)
    assert found.sentence == (
        "The 2 GPUs looked busy for 1 h 40 min, but no more than 2.1 % of a GPU's processors was active on any of them."
    )
    assert [part.gpu_ms for part in found.busy] == [100 * MINUTE, 100 * MINUTE]
    assert all(part.busy for part in found.busy)
    assert found.claim.gpu_keys == (), "none of it is idle time"
    assert found.at_most is Confidence.HIGH
    assert "collective" in found.advice


@pytest.mark.parametrize(("minutes", "is_found"), [(10, True), (9.9, False)])
def test_ten_minutes_without_a_break(minutes: float, is_found: bool) -> None:
    assert isinstance(judged(run(spinning(minutes=minutes), length=120)), Seen) is is_found


def test_every_gpu_that_was_used_has_to_look_so() -> None:
    assert judged(run(spinning(1), gpu(2, length=120), length=120)) is None
    beside_an_unused_one = judged(run(spinning(1), gpu(2, length=120, busy=0), length=120))
    assert isinstance(beside_an_unused_one, Seen)
    assert beside_an_unused_one.numbers["gpus_hollow"] == 1


def test_without_counters_it_may_be_and_is_of_medium_confidence_at_most() -> None:
    found = judged(run(by_power(), length=120))
    assert isinstance(found, Seen)
    assert found.sentence == (
        "The GPU may be busy in appearance only: for 1 h 40 min it drew 96 W, at rest it is 78 W."
    )
    assert found.at_most is Confidence.MEDIUM
    assert "collective" not in found.advice


def test_what_cannot_be_told_is_said_and_not_guessed() -> None:
    unsaid = gpu(length=120, hollow_unsaid_ms=60 * MINUTE)
    outcome = judged(run(unsaid, length=120))
    assert isinstance(outcome, Undecided)
    assert re.search("at rest is not known", outcome.reason)
    assert judged(run(gpu(length=120, hollow_unsaid_ms=9 * MINUTE), length=120)) is None
    assert judged(run(gpu(length=120), length=120)) is None


def test_while_it_lasts_the_way_to_end_it_is_told() -> None:
    assert REGISTERED["hollow"].running
    found = judged(running(spinning(), spinning(2), idle=0))
    assert isinstance(found, Seen)
    assert "scancel 123_4   # if it is stuck" in found.lines
