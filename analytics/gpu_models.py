"""How much the GPU models compute, by the makers' data sheets: what a smaller model is, where no price says it."""

import re
from typing import Final

import msgspec

# Dense FP16 tensor TFLOPS without sparsity. The first pattern that is found in the driver's name counts, so the longer
# names of a line stand before the shorter ones.
_TFLOPS: Final = tuple(
    (re.compile(rf"(?<![A-Z0-9]){pattern}(?![A-Z0-9])"), tflops)
    for pattern, tflops in (
        ("B200", 2250.0),
        ("GH200|H200|H800", 989.0),
        ("H100 PCIE", 756.0),
        ("H100 NVL", 835.0),
        ("H100", 989.0),
        ("A100|A800", 312.0),
        ("RTX 6000 ADA", 364.0),
        ("L40S", 362.0),
        ("L40", 181.0),
        ("L4", 121.0),
        ("RTX A6000", 155.0),
        ("A40", 150.0),
        ("A30", 165.0),
        ("A10", 125.0),
        ("V100", 125.0),
        ("T4", 65.0),
    )
)


CLEARLY: Final = 0.75
"""A model is smaller with at most this share of memory and of compute: lines of different years are hard to compare."""


class GpuModel(msgspec.Struct, frozen=True, kw_only=True):
    """A model that the cluster has, whole devices only. ``gres`` and ``partitions`` are Slurm's, where it told them."""

    name: str
    mem_total_mib: int
    gres: str | None = None
    partitions: str | None = None  # with commas

    @property
    def tflops(self) -> float | None:
        """What it computes at most, None where it is not known."""
        name = self.name.upper()
        return next((tflops for pattern, tflops in _TFLOPS if pattern.search(name)), None)


def smaller(models: tuple[GpuModel, ...], now: GpuModel, mem_mib: float, used_ratio: float) -> GpuModel | None:
    """Returns the smallest model with clearly less memory and compute than ``now`` that holds what was used, or None.

    Args:
        models: what the cluster has.
        now: the model in use; its compute has to be known.
        mem_mib: memory that is needed.
        used_ratio: share of the compute of ``now`` that is needed (0-1).
    """
    assert now.tflops is not None  # noqa: S101 - the caller's duty
    fitting = [
        (model.mem_total_mib, model.tflops, model)
        for model in models
        if model.tflops is not None
        and mem_mib <= model.mem_total_mib <= CLEARLY * now.mem_total_mib
        and used_ratio * now.tflops <= model.tflops <= CLEARLY * now.tflops
    ]
    return min(fitting, key=lambda each: each[:2])[2] if fitting else None
