from typing import Any

import pytest

from analytics.evidence import RunEvidence, Seen, Undecided
from analytics.rules.cpu_starved import CpuStarved, cpu_starved
from analytics.rules.low_utilization import LowUtilization, low_utilization
from tests.factories.evidence import context, gpu, run
from tests.factories.ledger import MINUTE


def starved(mean: float = 14.0, **more: Any) -> RunEvidence:
    known = {"cpu_efficiency": 0.97, "cpu_source": "cgroup", "cores_per_gpu": 2.0, "node_cores_per_gpu": 8.0}
    return run(gpu(util_mean_pct=mean), **known | more)


def judged(evidence: RunEvidence, explained: float = 0, **more: Any) -> object:
    return cpu_starved(evidence, CpuStarved(), context(explained_ms=round(explained * MINUTE), **more))


def test_two_cores_that_cannot_feed_a_gpu() -> None:
    found = judged(starved())
    assert isinstance(found, Seen)
    assert found.sentence == (
        "The 2 CPU cores per GPU were 97 % busy and the GPU 14 %: it waited for them. The node has 8 cores for each of "
        "its GPUs."
    )
    assert found.lines[0] == "#SBATCH --cpus-per-gpu=8"
    assert found.numbers["cpu_source"] == "cgroup"


@pytest.mark.parametrize(
    ("evidence", "why"),
    [
        (starved(mean=50), "the GPU works half of the time"),
        (starved(cpu_efficiency=0.84), "its cores wait, too"),
        (starved(cores_per_gpu=8.0), "it has the share of the node that belongs to a GPU"),
        (starved(cores_per_gpu=8.0, cpu_efficiency=None), "whatever its cores did, no more of them are its due"),
        (run(gpu(busy=0), cpu_efficiency=0.97, cores_per_gpu=2.0), "it used no GPU: another rule's"),
    ],
)
def test_others_are_not(evidence: RunEvidence, why: str) -> None:
    assert judged(evidence) is None, why


@pytest.mark.parametrize(
    ("unknown", "reason"),
    [("cpu_efficiency", "how busy its CPU cores were"), ("node_cores_per_gpu", "how many CPU cores its node has")],
)
def test_what_is_not_known_is_not_guessed(unknown: str, reason: str) -> None:
    outcome = judged(starved(**{unknown: None}))
    assert isinstance(outcome, Undecided)
    assert reason in outcome.reason


def test_idle_time_that_is_explained_is_no_waiting_for_cores() -> None:
    """An hour of work at 28 % over two, the second of which was a forgotten end."""
    assert isinstance(judged(starved(mean=14), explained=10), Seen)
    assert judged(starved(mean=26), explained=29) is None


def test_beside_it_no_cause_is_called_unclear() -> None:
    found = context(found=frozenset({"cpu_starved"}))
    assert low_utilization(starved(), LowUtilization(), found) is None
    assert judged(starved(), found=frozenset({"hollow"})) is None
