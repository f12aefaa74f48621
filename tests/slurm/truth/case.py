"""A case: a job as somebody submits it, what its GPUs do while it runs, what becomes of it and what is found."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Doing: TypeAlias = Literal["busy", "low", "idle", "parked", "blind"]
State: TypeAlias = Literal["active", "low", "idle_held", "idle_empty", "unknown"]
Deed: TypeAlias = Literal[
    "cancel", "requeue", "suspend", "resume", "crash node", "boot node", "restart daemon", "hub down", "hub up", "look"
]  # fmt: skip
Plan: TypeAlias = tuple[tuple[float, str], ...]
"""Seconds after the start, and from then on one word for each GPU in order of node and device file, or one for all."""

SCENARIO: Final[Mapping[Doing, tuple[str, ...]]] = {
    "busy": ("util_gpu = 90", "power_usage_mw = 300000", "mem_used = 20GiB"),
    "low": ("util_gpu = 10", "mem_used = 20GiB"),
    "idle": (),
    "parked": ("mem_used = 60GiB",),
    "blind": ("return.nvmlDeviceGetUtilizationRates = UNKNOWN", "return.nvmlDeviceGetSamples = UNKNOWN"),
}
STATES: Final[Mapping[Doing, State]] = {
    "busy": "active",
    "low": "low",
    "idle": "idle_empty",
    "parked": "idle_held",
    "blind": "unknown",
}
IDLE: Final[Plan] = ((0, "idle"),)
BUSY: Final[Plan] = ((0, "busy"),)
HALF: Final[Plan] = ((0, "busy idle"),)


@dataclass(frozen=True, slots=True)
class Act:
    """Something done to a job, its node or the product, so many seconds after the job's first start."""

    after_s: float
    what: Deed


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One submission, with ``gpus`` a node, or with nothing said of GPUs where that is 0.

    A part is a task of an array or a component of a heterogeneous job; else there is one. ``ends`` has the state of
    each execution of a part in turn. ``plans`` and ``finds`` have an entry a part, the last one for all that follow; a
    rule is found of the last execution, "" is none.
    """

    name: str
    user: str
    nodes: tuple[int, ...]
    lasts_s: int = 30
    gpus: int = 1
    how: Literal["sbatch", "srun", "salloc", "het"] = "sbatch"
    options: tuple[str, ...] = ()
    body: str = ""
    parts: int = 1
    plans: tuple[Plan, ...] = (IDLE,)
    acts: tuple[Act, ...] = ()
    ends: tuple[str, ...] = ("COMPLETED",)
    finds: tuple[str, ...] = ("",)

    def plan(self, part: int) -> Plan:
        return self.plans[min(part, len(self.plans) - 1)]

    def rule(self, part: int) -> str:
        return self.finds[min(part, len(self.finds) - 1)]

    @property
    def nodes_a_part(self) -> int:
        return 1 if self.how == "het" else len(self.nodes)
