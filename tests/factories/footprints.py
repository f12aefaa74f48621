"""Footprints as the analysis would have written them, for tests of what reads them."""

from typing import Any

from tests.factories.ledger import HOUR, Ledger

_COUNTS = (
    *("held_ms", "rows", "readings", "covered_ms", "watched_ms", "longest_gap_ms", "active_ms", "low_ms"),
    *("idle_held_ms", "idle_ms", "unknown_ms", "parked_ms", "busy_ms"),
)


def footprint_gpu(ledger: Ledger, run: int, gpu: int, **more: Any) -> None:
    """One GPU's footprint; counts are 0 and the rest is unknown unless given."""
    life = ledger.tables["run"][run - 1]
    place = {"run_key": run, "gpu_key": gpu, "node_key": ledger.tables["gpu"][gpu - 1]["node_key"]}
    times = {"start_ms": life["start_ms"], "end_ms": life["end_ms"] or life["start_ms"] + HOUR}
    ledger.put("footprint_gpu", **(place | times | dict.fromkeys(_COUNTS, 0) | more))


def footprint_run(ledger: Ledger, run: int, **more: Any) -> None:
    """A run's footprint; counts are 0 and the rest is unknown unless given."""
    life = ledger.tables["run"][run - 1]
    times = {"start_ms": life["start_ms"], "end_ms": life["end_ms"] or life["start_ms"] + HOUR}
    counts = dict.fromkeys(("held_ms", "covered_ms", "active_ms", "low_ms", "idle_held_ms", "idle_ms", "unknown_ms"), 0)
    state = {"finished": life["end_ms"] is not None, "gpus": 1, "gpus_seen": 1, "gpus_active": 0, "judged": True}
    ledger.put("footprint_run", **({"run_key": run, "coverage": 1.0, "min_rows": 100} | times | counts | state | more))
