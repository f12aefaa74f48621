"""The cases. Those of one node fit on its four GPUs together, or wait for each other in this order."""

from typing import Final

from tests.slurm.truth.case import BUSY, HALF, IDLE, Act, Case

NEVER_USED: Final = "gpu_never_used"
_EATS_MEMORY: Final = "sleep 20; python3 -c 'import time; x = b\"x\" * (400 << 20); time.sleep(60)'"

CASES: Final = (
    # The first node: shared by several people, then given away as a whole, then by jobs that follow each other.
    Case(name="train", user="alice", nodes=(1,), plans=(BUSY,), acts=(Act(8, "hub down"), Act(20, "hub up"))),
    Case(name="forgotten", user="bob", nodes=(1,), finds=(NEVER_USED,)),
    Case(name="half", user="carol", nodes=(1,), gpus=2, plans=(HALF,), finds=("gpus_unused",)),
    Case(name="whole", user="bob", nodes=(1,), lasts_s=20, options=("--exclusive",), finds=(NEVER_USED,)),
    Case(name="unasked", user="alice", nodes=(1,), lasts_s=20, gpus=0, options=("--exclusive",)),
    Case(name="quick", user="carol", nodes=(1,), lasts_s=1, gpus=4, options=("--array=0-3%1",), parts=4),
    # The second: by its time limit, by its owner, by Slurm, and with a daemon that is started anew.
    Case(name="limit", user="bob", nodes=(2,), lasts_s=300, options=("--time=1",), plans=(BUSY,), ends=("TIMEOUT",)),
    Case(name="wide", user="carol", nodes=(2, 3), plans=(BUSY,)),
    Case(name="step", user="alice", nodes=(2,), how="srun", plans=(BUSY,), acts=(Act(12, "restart daemon"),)),
    Case(name="mixed", user="bob", nodes=(4, 2), how="het", parts=2, plans=(BUSY, IDLE), finds=("", NEVER_USED)),
    Case(name="regret", user="bob", nodes=(2,), lasts_s=300, plans=(BUSY,), acts=(Act(20, "cancel"),),
         ends=("CANCELLED",)),
    Case(name="again", user="alice", nodes=(2,), lasts_s=20, acts=(Act(16, "requeue"),),
         ends=("REQUEUED", "COMPLETED"), finds=(NEVER_USED,)),
    Case(name="paused", user="carol", nodes=(2,), lasts_s=25, plans=(BUSY,),
         acts=(Act(8, "suspend"), Act(30, "resume"))),
    # The third: tasks of an array, an end that comes late, an open session.
    Case(name="tasks", user="alice", nodes=(3,), options=("--array=0-1",), parts=2, plans=(BUSY, IDLE),
         finds=("", NEVER_USED)),
    Case(name="tail", user="bob", nodes=(3,), lasts_s=40, plans=(((0, "busy"), (15, "idle")),), finds=("idle_tail",)),
    Case(name="open", user="carol", nodes=(3,), how="salloc", acts=(Act(40, "look"), Act(45, "cancel")),
         ends=("CANCELLED",)),
    # The fourth: readings that fail, memory that does not suffice, and a crash; then somebody else has its GPUs.
    Case(name="blind", user="alice", nodes=(4,), plans=(((0, "idle"), (8, "blind"), (24, "idle")),)),
    Case(name="memory", user="carol", nodes=(4,), options=("--mem=60M",), body=_EATS_MEMORY, ends=("OUT_OF_MEMORY",),
         finds=(NEVER_USED,)),
    Case(name="crash", user="bob", nodes=(4,), lasts_s=300, options=("--no-requeue",),
         acts=(Act(38, "crash node"), Act(98, "boot node")), ends=("NODE_FAIL",)),
    Case(name="after", user="alice", nodes=(4,), lasts_s=16, gpus=4, plans=(BUSY,)),
)  # fmt: skip
"""In order of submission."""
