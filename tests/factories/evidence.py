"""Evidence on a run made by hand, for tests of a rule alone: times in minutes, a busy GPU unless said otherwise."""

from typing import Any

from analytics.evidence import GpuEvidence, RunEvidence
from analytics.rules.registry import Context
from tests.factories.ledger import MINUTE, T0


def gpu(key: int = 1, *, length: float = 60, busy: float | None = None, **more: Any) -> GpuEvidence:
    """One GPU; ``busy`` minutes at full load, the rest idle and empty; None: busy all the time."""
    busy_ms = round((length if busy is None else busy) * MINUTE)
    length_ms = round(length * MINUTE)
    row: dict[str, Any] = {"run_key": 1, "gpu_key": key, "held_ms": length_ms, "covered_ms": length_ms}
    states = {"active_ms": busy_ms, "idle_ms": length_ms - busy_ms, "busy_ms": busy_ms, "used": busy_ms > 0}
    known = {"gaps_closed": True, "util_mean_pct": 100.0 * busy_ms / length_ms}
    return GpuEvidence(**row | states | known | more)


def run(*gpus: GpuEvidence, length: float = 60, **more: Any) -> RunEvidence:
    """A finished job with full coverage that asked for what it holds."""
    each = gpus or (gpu(length=length),)
    length_ms = round(length * MINUTE)
    covered_ms = sum(one.covered_ms for one in each)
    mean_pct = sum((one.util_mean_pct or 0) * one.covered_ms for one in each) / covered_ms if covered_ms else None
    row: dict[str, Any] = {
        "run_key": 1,
        "kind": "job",
        "cluster": "c1",
        "job_id": "123_4",
        "job_id_raw": "127",
        "state": "COMPLETED",
        "user": "ann",
        "account": "physics",
        "partition": "gpu",
        "qos": "normal",
        "name": "train",
        "start_ms": T0,
        "end_ms": T0 + length_ms,
        "finished": True,
        "gpus": len(each),
        "gpus_seen": len(each),
        "gpus_active": sum(one.busy_ms > 0 for one in each),
        "gpus_requested": len(each),
        "held_ms": sum(one.held_ms for one in each),
        "covered_ms": covered_ms,
        "coverage": 1.0,
        "watched_ratio": 1.0,
        "min_rows": length_ms // 10_000,
        "util_mean_pct": mean_pct,
        "leading_idle_ms": 0,
        "trailing_idle_ms": 0,
        "last_row_ms": T0 + length_ms,
        "interval_ms": 10_000,
        "each": each,
    }
    return RunEvidence(**row | more)


def running(*gpus: GpuEvidence, idle: float, length: float = 120, **more: Any) -> RunEvidence:
    """A run that lasts, all of its GPUs idle for the last ``idle`` minutes."""
    now: dict[str, Any] = {"finished": False, "state": "RUNNING", "trailing_idle_ms": None}
    return run(*gpus, length=length, **now | {"recent_idle_ms": round(idle * MINUTE)} | more)


def context(**more: Any) -> Context:
    """Now is the end of :func:`running`'s data."""
    return Context(**{"now_ms": T0 + 120 * MINUTE} | more)
