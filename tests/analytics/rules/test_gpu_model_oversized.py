from typing import Any

import pytest

from analytics.evidence import GpuEvidence, RunEvidence, Seen, Undecided
from analytics.gpu_models import GpuModel, smaller
from analytics.model import Confidence
from analytics.rules.gpu_model_oversized import GpuModelOversized, gpu_model_oversized
from tests.factories.evidence import context, gpu, run

H100 = GpuModel(name="NVIDIA H100 80GB HBM3", mem_total_mib=81_559, gres="h100", partitions="h100")
A100 = GpuModel(name="NVIDIA A100-SXM4-40GB", mem_total_mib=40_960, gres="a100", partitions="a100,debug")
L40S = GpuModel(name="NVIDIA L40S", mem_total_mib=46_068)
T4 = GpuModel(name="Tesla T4", mem_total_mib=15_360)
ALL = (A100, H100, L40S, T4)


def small(key: int = 1, model: GpuModel = H100, **more: Any) -> GpuEvidence:
    known = {"util_p95_pct": 70.0, "sm_p95_pct": 9.0, "mem_p99_mib": 20_000.0, "model": model.name}
    return gpu(key, **known | more)


def judged(evidence: RunEvidence, models: tuple[GpuModel, ...] = ALL) -> object:
    return gpu_model_oversized(evidence, GpuModelOversized(), context(models=models))


def test_a_small_model_on_a_large_gpu() -> None:
    found = judged(run(small()))
    assert isinstance(found, Seen)
    assert found.numbers["model"] == "NVIDIA A100-SXM4-40GB"
    assert found.sentence == (
        "The GPU used 20 GiB of memory, and activity of its processors stayed within 9.0 % for 95 % of the time. "
        "NVIDIA A100-SXM4-40GB has 40 GiB."
    )
    assert found.advice.startswith("Try NVIDIA A100-SXM4-40GB in a100,debug:")
    assert found.lines == ("#SBATCH --gres=gpu:a100:1",)
    assert found.claim.gpu_keys == (), "it explains no hours"
    assert found.at_most is Confidence.MEDIUM, "which features matter is not measured"


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"sm_p95_pct": 20.1}, "it uses the processors"),
        ({"sm_p95_pct": None}, "without that counter utilization speaks"),
        ({"mem_p99_mib": 41_000.0}, "its memory fits no smaller one"),
        ({"mem_p99_mib": None}, "memory is not known"),
        ({"engine_p95_pct": 90.0}, "its video engines are at work"),
        ({"used": False}, "it did nothing: another rule's"),
    ],
)
def test_others_are_not(more: dict[str, Any], why: str) -> None:
    assert judged(run(small(**more))) is None, why


def test_what_is_needed_of_the_processors_is_there() -> None:
    """15 % of an H100 is more than a T4 has, 5 % is not."""
    for p95_pct, name in ((15.0, A100.name), (5.0, T4.name)):
        found = judged(run(small(sm_p95_pct=p95_pct, mem_p99_mib=9_000.0)))
        assert isinstance(found, Seen)
        assert found.numbers["model"] == name


def test_the_gpu_that_does_most_decides() -> None:
    assert judged(run(small(1), small(2, sm_p95_pct=60.0))) is None
    assert judged(run(small(1), small(2, model=A100))) is None, "two models have no smaller one in common"


def test_models_of_one_size_are_no_smaller_ones() -> None:
    on_l40s = run(small(model=L40S, sm_p95_pct=None, util_p95_pct=10.0))
    assert judged(on_l40s, (A100, L40S)) is None
    assert judged(run(small()), (H100,)) is None


def test_how_much_an_unknown_model_computes_is_not_guessed() -> None:
    other = GpuModel(name="NVIDIA X1", mem_total_mib=81_559)
    assert isinstance(judged(run(small(model=other)), (*ALL, other)), Undecided)
    assert judged(run(small()), (H100, GpuModel(name="NVIDIA X2", mem_total_mib=40_960))) is None


@pytest.mark.parametrize(
    ("name", "tflops"), [("NVIDIA L4", 121), ("NVIDIA L40S", 362), ("NVIDIA A100-PCIE-40GB", 312), ("Quadro K40", None)]
)
def test_names_as_drivers_print_them(name: str, tflops: float | None) -> None:
    assert GpuModel(name=name, mem_total_mib=1).tflops == tflops


def test_the_smallest_that_holds_it() -> None:
    assert smaller(ALL, H100, 10_000, 0.01) == T4
    assert smaller(ALL, H100, 43_000, 0.01) == L40S
    assert smaller(ALL, H100, 70_000, 0.01) is None
