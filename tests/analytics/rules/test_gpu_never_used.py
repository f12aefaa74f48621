import pytest

from analytics.evidence import RunEvidence, Seen, Undecided
from analytics.rules.gpu_never_used import GpuNeverUsed, gpu_never_used
from tests.factories.evidence import context, gpu, run

PARAMS = GpuNeverUsed()
SECOND = 1 / 60


def judged(evidence: RunEvidence, params: GpuNeverUsed = PARAMS) -> object:
    return gpu_never_used(evidence, params, context())


def test_an_unused_run_explains_all_its_gpus() -> None:
    found = judged(run(gpu(1, busy=0), gpu(2, busy=0)))
    assert isinstance(found, Seen)
    assert found.claim.gpu_keys == (1, 2)
    assert found.must_be_closed == (1, 2)
    assert found.sentence == "None of the 2 GPUs computed anything in 1 h. Their memory stayed empty."
    assert "leave out the request for 2 GPUs (#SBATCH --gres=gpu:2)" in found.advice
    assert not any("SBATCH" in line for line in found.lines)


def test_memory_held_is_said() -> None:
    found = judged(run(gpu(busy=0, idle_held_ms=3_600_000, idle_ms=0)))
    assert isinstance(found, Seen)
    assert found.sentence == "The GPU computed nothing in 1 h. Memory was held, nothing was computed."


def test_a_few_seconds_are_not_called_nothing() -> None:
    one, two = judged(run(gpu(busy=5 * SECOND))), judged(run(gpu(1, busy=5 * SECOND), gpu(2, busy=0)))
    assert isinstance(one, Seen)
    assert isinstance(two, Seen)
    assert one.sentence == "The GPU computed for 5 s in 1 h. Its memory stayed empty."
    assert two.sentence == "None of the 2 GPUs computed for more than 5 s in 1 h. Their memory stayed empty."


@pytest.mark.parametrize(("minutes", "is_found"), [(15, True), (14.99, False)])
def test_a_short_run_is_not_judged(minutes: float, is_found: bool) -> None:
    assert isinstance(judged(run(gpu(length=minutes, busy=0), length=minutes)), Seen) is is_found


@pytest.mark.parametrize(("busy_s", "is_found"), [(0, True), (29.9, True), (30, False)])
def test_thirty_seconds_of_work_are_use(busy_s: float, is_found: bool) -> None:
    assert isinstance(judged(run(gpu(busy=busy_s * SECOND))), Seen) is is_found


@pytest.mark.parametrize(("busy_s", "is_found"), [(863, True), (865, False)])
def test_of_a_long_run_a_thousandth_is_use(busy_s: float, is_found: bool) -> None:
    ten_days = 10 * 24 * 60
    assert isinstance(judged(run(gpu(length=ten_days, busy=busy_s * SECOND), length=ten_days)), Seen) is is_found


def test_a_lone_blip_is_no_use_however_long_its_row() -> None:
    assert isinstance(judged(run(gpu(busy=1, used=False))), Seen)


def test_one_gpu_at_work_is_enough_to_say_nothing() -> None:
    assert judged(run(gpu(1, busy=0), gpu(2, busy=10))) is None


@pytest.mark.parametrize(("efficiency", "is_found"), [(None, True), (0.49, True), (0.5, False)])
def test_a_busy_cpu_belongs_to_cpu_only(efficiency: float | None, is_found: bool) -> None:
    assert isinstance(judged(run(gpu(busy=0), cpu_efficiency=efficiency)), Seen) is is_found


def test_without_the_request_nobody_is_accused() -> None:
    found = judged(run(gpu(busy=0), gpus_requested=None))
    assert isinstance(found, Undecided)
    assert "asked for" in found.reason


def test_a_session_is_told_of_programs_not_of_sbatch() -> None:
    found = judged(run(gpu(busy=0), kind="session", gpus_requested=None))
    assert isinstance(found, Seen)
    assert "SBATCH" not in found.advice + "".join(found.lines)
