"""What a poll of the queue changes on a run: it describes one that accounting has not told yet, and knows its end."""

from typing import Final

from store.identity import CERTAIN, Run, later
from store.segment import LiveRun
from store.suspensions import SUSPENDED

_FIELDS: Final = {
    **{name: name for name in ("uid", "account", "partition", "qos", "name", "submit_ms")},
    **{name: name for name in ("req_gpus", "alloc_gpus", "gpu_type")},
    "user": "user_name",
}


def apply_live(run: Run, live: LiveRun, at_ms: int) -> None:
    """Works in a run that the poll at ``at_ms`` listed.

    What accounting said stays; of several polls the newest counts.
    """
    newer = at_ms >= run.polled_ms
    described = run.db_index is not None
    for theirs, ours in _FIELDS.items():
        value = getattr(live, theirs)
        if value is not None and (getattr(run, ours) is None or (newer and not described)):
            setattr(run, ours, value)
    run.restart = max(run.restart, live.restart or 0)
    run.shares = max(run.shares, CERTAIN if live.shared else 0)
    if run.is_final:
        return
    run.polled_ms = max(run.polled_ms, at_ms)
    run.seen_ms = max(run.seen_ms, at_ms if live.end_ms is None else min(at_ms, live.end_ms))
    if described:
        return
    run.job_id = live.job_id
    run.start_ms = min(run.start_ms, live.start_ms)
    run.nodes = len(live.places) or run.nodes
    if newer:
        run.state = SUSPENDED if live.state == SUSPENDED else "RUNNING"
        run.timelimit_ms = None if live.timelimit_s is None else live.timelimit_s * 1000
        run.timelimit_unlimited = live.timelimit_unlimited
        run.end_ms = None
    run.end_ms = later(run.end_ms, live.end_ms)


def settle_polled(run: Run, whole_ms: int) -> None:
    """Ends a run that only polls have told of and that a later poll of every live run, at ``whole_ms``, does not list.

    What it lasted beyond the last poll that listed it is not known.
    """
    if run.end_ms is None and whole_ms > run.polled_ms:
        run.end_ms = max(run.start_ms, run.seen_ms)
