"""Kinds of jobs that the people submit again and again: what they ask for, how often, and what the program does."""

from typing import Literal

import msgspec

from gpuledger.demo.mechanisms.course import Mechanism

MINUTE_S, HOUR_S, DAY_S = 60, 3600, 86_400


class Family(msgspec.Struct, frozen=True, kw_only=True):
    """``per_day``: submissions on a working day of a 128-GPU cluster. ``{n}`` in the name is a number that changes.

    ``limit_s`` None asks for the partition's longest time. ``fails`` and ``runs_out``: how often a run dies early of an
    error, or of GPU memory in its first minutes. ``cancelled``: its user ends it, as sessions end.
    """

    name: str
    user: str
    partition: str
    gpus: int = 1
    nodes: int = 1
    limit_s: int | None = None
    per_day: float
    work_s: float
    spread: float = 0.35
    does: Mechanism
    tasks: int = 1
    cores_per_gpu: int = 8
    mem_gib_per_gpu: int = 64
    when: Literal["office", "any"] = "office"
    batch: bool = True
    fails: float = 0.03
    runs_out: float = 0.0
    cancelled: bool = False
    program: str = "python"  # as the kernel names it
    asks_much: tuple[str, ...] = ()  # rules that advise a smaller request, whatever else is true of a run
    restarts: int = 0  # a chain that requeues itself to go on where it stopped
