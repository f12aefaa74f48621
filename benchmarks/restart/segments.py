"""A minute of a fleet as the segments that its nodes deliver, moved on by whole minutes."""

from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmarks.telemetry import CATALOGUE, Fleet, plan, rows
from store.catalog import BY_NAME, STRUCTURE
from store.segment import Column, Device, Segment, Table, encode

MINUTE_MS: Final = 60_000
GPUS: Final = 8


class Minutes:
    """Nodes with 8 GPUs read once a second: 480 rows of 14 metrics a node and minute."""

    def __init__(self, nodes: int, from_ms: int) -> None:
        self._from_ms = from_ms
        fleet = Fleet(nodes=nodes, gpus=GPUS, from_ms=from_ms, to_ms=from_ms + MINUTE_MS, interval_ms=1000)
        made = plan(fleet)
        self._tables = [rows(made, node) for node in range(nodes)]

    def of(self, minute: int) -> Iterator[tuple[str, bytes]]:
        """Yield name and bytes of each node's segment of the minute number ``minute``."""
        for node, table in enumerate(self._tables):
            segment = self._segment(node, minute, table)
            yield segment.name, encode(segment)

    def _segment(self, node: int, minute: int, table: pa.Table) -> Segment:
        later_ms = minute * MINUTE_MS
        columns = {name: _column(table[name].to_numpy(), BY_NAME[name].dtype) for name in CATALOGUE}
        columns["ts_ms"] = _column(table["ts_ms"].to_numpy() + later_ms, STRUCTURE["ts_ms"])
        columns["span_ms"] = _column(table["span_ms"].to_numpy(), STRUCTURE["span_ms"])
        columns["device"] = _column(table["gpu"].to_numpy(), STRUCTURE["device"])
        first_ms = self._from_ms + later_ms
        owned = [
            Device(uuid=f"GPU-{node}-{index}", index=index, model="NVIDIA H100 80GB HBM3", mem_total_mib=81_559)
            for index in range(GPUS)
        ]
        return Segment(
            node=f"node{node}", boot_id="boot", seq=minute, cluster="bench", agent="0.1.0", interval_ms=1000,
            slurm=True, first_ms=first_ms, last_ms=first_ms + MINUTE_MS, written_ms=first_ms + MINUTE_MS,
            devices=tuple(owned), samples=Table(table.num_rows, columns),
        )  # fmt: skip


def _column(values: npt.NDArray[np.generic], dtype: str) -> Column:
    return Column(dtype, values.astype(f"<{dtype}").tobytes())
