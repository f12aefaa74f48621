"""The same values in other stores, each metric of a GPU as one series of natural decimals."""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, Final

import msgspec
import numpy as np

from benchmarks.peers.child import PeerMissing
from benchmarks.peers.prometheus import Blocks, prometheus_version
from benchmarks.peers.series import Series, json_lines
from benchmarks.peers.victoria import VictoriaMetrics, victoria_version
from benchmarks.telemetry import CATALOGUE, EXACT, Plan, rows
from store.catalog import BY_NAME

_FINER: Final = {"ppm": 1_000_000, "mw": 1000, "mj": 1000, "kib": 1}
"""Of the finer values, how many make a natural one (a ratio, W, J, KiB), by the end of the name."""
_COUNTERS: Final = ("energy", "pcie")


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """What a store keeps: bytes of the values and of the index of their names, CPU seconds of taking them."""

    bytes: int
    index_bytes: int
    cpu_s: float


def victoria(plan: Plan, *, exact: bool) -> Kept | None:
    """Returns what VictoriaMetrics keeps, its parts merged; None where it is not installed."""
    try:
        with VictoriaMetrics() as store:
            for node in range(plan.fleet.nodes):
                for gpu in range(plan.fleet.gpus):
                    store.import_json(json_lines(_of_gpu(plan, node, gpu, exact=exact)))
            cpu_s = store.cpu_s()
            store.settle()
            return Kept(bytes=store.data_bytes(), index_bytes=store.index_bytes(), cpu_s=cpu_s)
    except PeerMissing:
        return None


def prometheus(plan: Plan) -> Kept | None:
    """Returns what Prometheus keeps in its blocks, written by promtool; None where it is not installed."""
    try:
        found = Blocks.of(_by_metric(plan))
    except PeerMissing:
        return None
    return Kept(bytes=found.chunk_bytes, index_bytes=found.index_bytes, cpu_s=found.cpu_s)


def versions() -> Mapping[str, str]:
    """Returns the versions of both."""
    return {"VictoriaMetrics": victoria_version(), "Prometheus": prometheus_version()}


def _of_gpu(plan: Plan, node: int, gpu: int, *, exact: bool) -> list[Series]:
    found = rows(plan, node, EXACT if exact else CATALOGUE)
    first, last = np.searchsorted(found["gpu"].to_numpy(), [gpu, gpu + 1])
    mine = found.slice(first, last - first)
    return [_series(mine, name, node, gpu) for name in (EXACT if exact else CATALOGUE)]


def _by_metric(plan: Plan) -> Iterator[Series]:
    """Yields the series of the catalogue's units, those of one metric after each other."""
    tables = [rows(plan, node) for node in range(plan.fleet.nodes)]
    for name in CATALOGUE:
        for node, found in enumerate(tables):
            places = np.searchsorted(found["gpu"].to_numpy(), np.arange(plan.fleet.gpus + 1))
            for gpu, (first, last) in enumerate(pairwise(places)):
                yield _series(found.slice(first, last - first), name, node, gpu)


def _series(found: Any, name: str, node: int, gpu: int) -> Series:
    values = found[name].to_numpy().astype(np.int64)
    return Series(
        metric=f"gpu_{name}",
        labels={"node": f"node-{node:04d}", "gpu": str(gpu)},
        ts_ms=found["ts_ms"].to_numpy(),
        # What the device counts is a counter there, as its exporters have it, and a difference in our rows.
        scaled=np.cumsum(values) if name.startswith(_COUNTERS) else values,
        per_unit=BY_NAME[name].per_unit if name in BY_NAME else _FINER[name.rpartition("_")[2]],
    )
