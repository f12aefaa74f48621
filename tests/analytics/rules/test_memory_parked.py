import pytest

from analytics.evidence import ALL_PARTS, RunEvidence, Seen
from analytics.judge.decide import decide
from analytics.rules import RULES
from analytics.rules.idle_head import IdleHead, idle_head
from analytics.rules.idle_tail import IdleTail, idle_tail
from analytics.rules.memory_parked import MemoryParked, memory_parked
from analytics.settings import AnalyticsSettings
from tests.factories.evidence import context, gpu, run, running
from tests.factories.ledger import MINUTE

PARKED = context(found=frozenset({"memory_parked"}))


def judged(evidence: RunEvidence, **more: frozenset[str]) -> object:
    return memory_parked(evidence, MemoryParked(), context(**more))


def server(*, busy: float = 30, parked: float = 1400, head: float = 720, tail: float = 60) -> RunEvidence:
    """A day of a server that holds memory and is asked now and then."""
    one = gpu(length=1440, busy=busy, parked_ms=round(parked * MINUTE))
    return run(one, length=1440, leading_idle_ms=round(head * MINUTE), trailing_idle_ms=round(tail * MINUTE))


def test_a_server_that_is_hardly_asked() -> None:
    found = judged(server())
    assert isinstance(found, Seen)
    assert found.claim.parts == ALL_PARTS
    assert found.sentence == (
        "The GPU was idle for 23 h 30 min, 98 % of the run, before, between and after short pieces of work; memory was "
        "held for 23 h 20 min of it."
    )
    assert "DataLoader" not in "".join(found.lines)


@pytest.mark.parametrize(
    ("evidence", "why"),
    [
        (server(parked=59), "memory was held for less than an hour"),
        (server(parked=600), "most of the idle time was with little memory"),
        (server(busy=400, head=720, tail=320), "it worked from the first work to the last: set-up and a forgotten end"),
        (server(busy=0), "it never worked: another rule's"),
    ],
)
def test_others_are_not(evidence: RunEvidence, why: str) -> None:
    assert judged(evidence) is None, why


def test_every_gpu_has_to_wait() -> None:
    waits, works = gpu(1, length=600, busy=10, parked_ms=590 * MINUTE), gpu(2, length=600)
    assert judged(run(waits, works, length=600)) is None


def test_one_thing_is_said_of_one_run() -> None:
    """Neither set-up nor a forgotten end."""
    assert idle_head(server(), IdleHead(), PARKED) is None
    assert idle_tail(server(), IdleTail(), PARKED) is None
    order = [rule.id for rule in RULES]
    assert order.index("idle_now") < order.index("memory_parked") < order.index("idle_head")


def test_of_a_server_that_waits_right_now_the_earlier_idle_time_is_explained_too() -> None:
    evidence = running(gpu(length=6000, busy=100, parked_ms=5900 * MINUTE), idle=270, length=6000)
    decision = decide(evidence, AnalyticsSettings(), evidence.end_ms, frozenset())
    explained = {found.rule: found.gpu_ms // MINUTE for found in decision.found}
    assert explained == {"idle_now": 270, "memory_parked": 5900 - 270}
