import pytest

from analytics.evidence import RunEvidence, Seen, Undecided
from analytics.model import Confidence
from analytics.rules import REGISTERED
from analytics.rules.gpus_unused import GpusUnused, gpus_unused
from tests.factories.evidence import context, gpu, run, running


def judged(evidence: RunEvidence) -> object:
    return gpus_unused(evidence, GpusUnused(), context())


def test_one_of_four_at_work_leaves_three() -> None:
    found = judged(run(gpu(1), *(gpu(key, busy=0) for key in (2, 3, 4))))
    assert isinstance(found, Seen)
    assert (found.numbers["k"], found.numbers["n"]) == (3, 4)
    assert REGISTERED["gpus_unused"].title.format_map(found.numbers) == "3 of 4 GPUs not used"
    assert found.claim.gpu_keys == (2, 3, 4)
    assert found.lines[0] == "#SBATCH --gres=gpu:1"
    assert found.advice.startswith("Ask for 1 GPU next time")
    assert found.at_most is Confidence.HIGH


def test_a_request_over_two_nodes_shrinks_by_nodes_first() -> None:
    found = judged(run(gpu(1), *(gpu(key, busy=0) for key in range(2, 9)), nodes=2))
    assert isinstance(found, Seen)
    assert found.lines[0] == "#SBATCH --gres=gpu:1"
    found = judged(run(*(gpu(key) for key in range(1, 7)), gpu(7, busy=0), gpu(8, busy=0), nodes=2))
    assert isinstance(found, Seen)
    assert found.lines[:2] == ("#SBATCH --nodes=2", "#SBATCH --gres=gpu:3")


def test_memory_on_the_idle_ones_asks_to_check_first() -> None:
    found = judged(run(gpu(1), gpu(2, busy=0, idle_held_ms=3_600_000, idle_ms=0)))
    assert isinstance(found, Seen)
    assert found.at_most is Confidence.MEDIUM
    assert "check first" in found.sentence


@pytest.mark.parametrize(("minutes", "is_found"), [(15, True), (14.99, False)])
def test_a_short_run_is_not_judged(minutes: float, is_found: bool) -> None:
    evidence = run(gpu(1, length=minutes), gpu(2, length=minutes, busy=0), length=minutes)
    assert isinstance(judged(evidence), Seen) is is_found


@pytest.mark.parametrize(("minutes", "is_found"), [(60, True), (59.9, False)])
def test_a_run_that_lasts_gets_an_hour(minutes: float, is_found: bool) -> None:
    evidence = running(gpu(1, length=minutes), gpu(2, length=minutes, busy=0), length=minutes, idle=0)
    assert isinstance(judged(evidence), Seen) is is_found


@pytest.mark.parametrize(("busy_s", "is_found"), [(29.9, True), (30, False)])
def test_thirty_seconds_are_use(busy_s: float, is_found: bool) -> None:
    assert isinstance(judged(run(gpu(1), gpu(2, busy=busy_s / 60))), Seen) is is_found


@pytest.mark.parametrize(("busy_min", "is_found"), [(5, True), (4.99, False)])
def test_the_other_one_must_have_worked(busy_min: float, is_found: bool) -> None:
    assert isinstance(judged(run(gpu(1, busy=busy_min), gpu(2, busy=0))), Seen) is is_found


def test_low_but_even_use_of_all_is_no_finding() -> None:
    assert judged(run(gpu(1, busy=10), gpu(2, busy=11), gpu(3, busy=9))) is None


def test_without_the_request_it_is_undecided() -> None:
    assert isinstance(judged(run(gpu(1), gpu(2, busy=0), gpus_requested=None)), Undecided)
