import pytest

from analytics.evidence import RunEvidence, Seen, Undecided
from analytics.rules import REGISTERED
from analytics.rules.cpu_only import CpuOnly, cpu_only
from tests.factories.evidence import context, gpu, run


def judged(evidence: RunEvidence) -> object:
    return cpu_only(evidence, CpuOnly(), context())


@pytest.mark.parametrize(("efficiency", "is_found"), [(0.5, True), (0.95, True), (0.49, False), (None, False)])
def test_needs_busy_cores(efficiency: float | None, is_found: bool) -> None:
    assert isinstance(judged(run(gpu(busy=0), cpu_efficiency=efficiency)), Seen) is is_found


def test_says_how_busy_the_cores_were() -> None:
    found = judged(run(gpu(busy=0), cpu_efficiency=0.93))
    assert isinstance(found, Seen)
    assert found.sentence == "The GPU computed nothing in 1 h. Its CPU cores were 93 % busy."
    assert found.numbers["cpu_efficiency"] == 0.93


@pytest.mark.parametrize(("minutes", "is_found"), [(15, True), (14.99, False)])
def test_a_short_run_is_not_judged(minutes: float, is_found: bool) -> None:
    evidence = run(gpu(length=minutes, busy=0), length=minutes, cpu_efficiency=0.9)
    assert isinstance(judged(evidence), Seen) is is_found


@pytest.mark.parametrize(("busy_s", "is_found"), [(29.9, True), (30, False)])
def test_thirty_seconds_of_gpu_work_are_use(busy_s: float, is_found: bool) -> None:
    assert isinstance(judged(run(gpu(busy=busy_s / 60), cpu_efficiency=0.9)), Seen) is is_found


def test_a_pipeline_that_feeds_a_busy_gpu_is_healthy() -> None:
    assert judged(run(gpu(busy=50), cpu_efficiency=0.9)) is None


def test_without_the_request_it_is_undecided() -> None:
    assert isinstance(judged(run(gpu(busy=0), cpu_efficiency=0.9, gpus_requested=None)), Undecided)


def test_is_not_judged_without_slurm() -> None:
    assert not REGISTERED["cpu_only"].sessions
