"""The truth about each run, to score what is found; written beside the store, never into it."""

from pathlib import Path

import msgspec

from gpuledger.demo.labels import RULE, Label
from gpuledger.demo.scheduling import Run
from gpuledger.demo.world import World

TRUTH = "truth.jsonl"
AT_ONCE_S = 600.0  # a run that failed within this was a try, whatever it would have become


class Truth(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the truth file. GPU-seconds up to ``as_of_ms``; idle: no kernel ran, whatever was held in memory.

    ``advice``: rules that would advise a smaller request. ``resting_s``: how long at the end, or up to ``as_of_ms``, no
    kernel ran on any of its GPUs.
    """

    db_index: int
    job_id: str
    job_id_raw: str
    restart: int
    user: str
    name: str
    partition: str
    label: Label
    rule: str | None
    advice: tuple[str, ...]
    state: str
    gpus: int
    gpus_used: int
    start_ms: int
    end_ms: int | None
    as_of_ms: int
    setup_s: float
    after_s: float
    held_gpu_s: float
    idle_gpu_s: float
    resting_s: float
    limit_s: int


def write_truth(world: World, as_of_s: int, directory: Path) -> None:
    """Writes a line for every run that began before ``as_of_s`` to ``directory``/truth.jsonl."""
    lines = [msgspec.json.encode(truth) + b"\n" for truth in truths(world, as_of_s)]
    (directory / TRUTH).write_bytes(b"".join(lines))


def truths(world: World, as_of_s: int) -> list[Truth]:
    """Returns the truth about every run that began before ``as_of_s``, in order of start."""
    return [_truth(world, run, as_of_s) for run in world.runs if run.start_s < as_of_s]


def _truth(world: World, run: Run, as_of_s: int) -> Truth:
    ended = run.end_s <= as_of_s
    held_s = min(run.end_s, as_of_s) - run.start_s
    seen = [activity.lasting(held_s) for activity in world.activities(run)]
    course, request = run.fate.course, run.request
    label = _label(run, held_s, failed=ended and run.state in ("FAILED", "OUT_OF_MEMORY"))
    return Truth(
        db_index=run.db_index,
        job_id=request.job_id,
        job_id_raw=str(request.job_id_raw),
        restart=run.restart,
        user=request.family.user,
        name=request.name,
        partition=request.family.partition,
        label=label,
        rule=RULE[label],
        advice=request.family.asks_much,
        state=run.state if ended else "RUNNING",
        gpus=len(run.places),
        gpus_used=sum(activity.used for activity in seen),
        start_ms=run.start_s * 1000,
        end_ms=run.end_s * 1000 if ended else None,
        as_of_ms=as_of_s * 1000,
        setup_s=min(course.setup_s, held_s),
        after_s=max(0.0, held_s - course.setup_s - course.work_s),
        held_gpu_s=float(held_s * len(run.places)),
        idle_gpu_s=sum(activity.idle_s for activity in seen),
        resting_s=min(activity.resting_s for activity in seen),
        limit_s=request.limit_s,
    )


def _label(run: Run, held_s: float, *, failed: bool) -> Label:
    """What came to pass: a run that ended before its work did never slept after it."""
    if failed and held_s < AT_ONCE_S:
        return Label.SHORT
    course = run.fate.course
    at_work = held_s <= course.setup_s + course.work_s
    return run.request.family.does.label if at_work else course.label
