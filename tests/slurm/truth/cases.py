"""The cases. Those of one node fit on its four GPUs together, or wait for each other."""

from typing import Final

from tests.slurm.truth.case import BUSY, HALF, IDLE, Act, Case

CASES: Final = (
    Case(name="train", user="alice", nodes=(1,), plans=(BUSY,)),
    Case(name="forgotten", user="bob", nodes=(1,), finds=("gpu_never_used",)),
    Case(name="half", user="carol", nodes=(1,), gpus=2, plans=(HALF,), finds=("gpus_unused",)),
    Case(name="limit", user="bob", nodes=(2,), lasts_s=300, options=("--time=1",), plans=(BUSY,), ends=("TIMEOUT",)),
    Case(name="wide", user="carol", nodes=(2, 3), plans=(BUSY,)),
    Case(name="tasks", user="alice", nodes=(3,), options=("--array=0-1",), parts=2, plans=(BUSY, IDLE),
         finds=("", "gpu_never_used")),
    Case(name="step", user="alice", nodes=(2,), how="srun", plans=(BUSY,)),
    Case(name="regret", user="bob", nodes=(2,), lasts_s=300, plans=(BUSY,), acts=(Act(25, "cancel"),),
         ends=("CANCELLED",)),
    Case(name="tail", user="bob", nodes=(3,), lasts_s=40, plans=(((0, "busy"), (15, "idle")),), finds=("idle_tail",)),
    Case(name="open", user="carol", nodes=(1,), how="salloc", acts=(Act(40, "look"), Act(45, "cancel")),
         ends=("CANCELLED",)),
)  # fmt: skip
"""In order of submission."""
