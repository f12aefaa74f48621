"""What the runs at hand hold, GPU by GPU, in the order it is worked through: temp tables ``chunk`` and ``hold``."""

from collections.abc import Iterator
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from analytics.footprint.groups import Bools, Floats, Ints
from analytics.footprint.pauses import MAKE_LASTING, MAKE_PAUSES
from store.database import Cursor

# An open run lasts until the data's end; accounting may name an end that lies beyond it for a run just finished.
_CHUNK: Final = """
CREATE OR REPLACE TEMP TABLE chunk AS
SELECT run.run_key, run.end_ms IS NOT NULL AS finished,
       greatest(run.start_ms, coalesce(run.end_ms, $data_to_ms)) AS end_ms,
       greatest(coalesce(run.alloc_gpus, 0), coalesce(seen.gpus, 0))::INTEGER AS gpus
FROM run LEFT JOIN (SELECT run_key, count(*) AS gpus FROM allocation WHERE gpu_key <> 0 GROUP BY run_key) AS seen
    USING (run_key)
WHERE run.run_key IN (SELECT unnest($run_keys))"""

# A run that nobody saw end does not hold what the next one holds; shared GPUs have several holders by intent. The
# hour rollup cuts allocations in the same way. What was counted and never seen (gpu_key 0) has no footprint of its own.
# Numbers follow the order of sealed rows: node, GPU, time.
_HOLDS: Final = """
CREATE OR REPLACE TEMP TABLE hold AS
WITH following AS (
    SELECT run_key, gpu_key, CASE WHEN NOT shared THEN
           lead(allocation.start_ms) OVER (PARTITION BY gpu_key ORDER BY allocation.start_ms, job_id_raw, restart)
           END AS next_ms
    FROM allocation JOIN run USING (run_key)
    WHERE gpu_key IN (SELECT gpu_key FROM allocation JOIN chunk USING (run_key)))
SELECT (row_number() OVER (ORDER BY node_key, gpu_key, allocation.start_ms, run_key) - 1)::INTEGER AS number,
       run_key, gpu_key, node_key, allocation.start_ms, finished,
       greatest(allocation.start_ms, least(coalesce(allocation.end_ms, chunk.end_ms), next_ms)) AS end_ms
FROM allocation JOIN chunk USING (run_key) JOIN following USING (run_key, gpu_key) WHERE gpu_key <> 0"""

_READ: Final = """
SELECT hold.*, count(*) OVER (PARTITION BY run_key) AS gpus, node.interval_ms, mem_total_mib, power_limit_w,
       pcie_mib_s, nvlink_mib_s
FROM hold JOIN node USING (node_key) JOIN gpu ON gpu.gpu_key = hold.gpu_key ORDER BY number"""
_READ_LASTING: Final = """
SELECT number, lasting.start_ms, lasting.end_ms FROM lasting JOIN hold USING (run_key, gpu_key)
ORDER BY number, lasting.start_ms"""


_OF_ALL: Final = frozenset({"first", "run_keys", "lasting"})


class Holds(msgspec.Struct, frozen=True, kw_only=True):
    """Holds in order of their number, which counts from ``first``. Floats are NaN where they are not known.

    ``run`` is a position in ``run_keys``, ``gpus`` how many GPUs that run holds. ``lasting``: number, start_ms and
    end_ms of the time that pauses leave of each hold, in order.
    """

    first: int
    run_keys: Ints
    run: Ints
    gpus: Ints
    node_key: Ints
    start_ms: Ints
    end_ms: Ints
    finished: Bools
    expected_rows: Floats
    mem_total_mib: Floats
    power_limit_w: Floats
    pcie_mib_s: Floats
    nvlink_mib_s: Floats
    lasting: tuple[Ints, Ints, Ints]

    def __len__(self) -> int:
        return len(self.run)

    def part(self, first: int, last: int) -> "Holds":
        """Returns the holds from one number up to another."""
        inside = slice(*np.searchsorted(self.lasting[0], [first, last]))
        number, start_ms, end_ms = self.lasting
        columns = {name: getattr(self, name)[first:last] for name in self.__struct_fields__ if name not in _OF_ALL}
        lasting = (number[inside] - first, start_ms[inside], end_ms[inside])
        return Holds(first=first, run_keys=self.run_keys, lasting=lasting, **columns)


def make_holds(cur: Cursor, run_keys: list[int], data_to_ms: int) -> Holds:
    """Makes ``chunk``, ``hold``, ``pause`` and ``lasting`` of these runs and returns what is in them."""
    cur.execute(_CHUNK, {"data_to_ms": data_to_ms, "run_keys": run_keys})
    cur.execute(_HOLDS)
    cur.execute(MAKE_PAUSES)
    cur.execute(MAKE_LASTING)
    found, lasting = cur.arrow(_READ), cur.arrow(_READ_LASTING)
    start_ms, end_ms = _ints(found, "start_ms"), _ints(found, "end_ms")
    of_runs, run = np.unique(_ints(found, "run_key"), return_inverse=True)
    return Holds(
        first=0,
        run_keys=of_runs,
        run=run,
        gpus=_ints(found, "gpus"),
        node_key=_ints(found, "node_key"),
        start_ms=start_ms,
        end_ms=end_ms,
        finished=found["finished"].to_numpy(),
        expected_rows=(end_ms - start_ms) / np.maximum(_ints(found, "interval_ms"), 1),
        mem_total_mib=_floats(found, "mem_total_mib"),
        power_limit_w=_floats(found, "power_limit_w"),
        pcie_mib_s=_floats(found, "pcie_mib_s"),
        nvlink_mib_s=_floats(found, "nvlink_mib_s"),
        lasting=(_ints(lasting, "number"), _ints(lasting, "start_ms"), _ints(lasting, "end_ms")),
    )


def batches(holds: Holds, rows_at_once: int) -> Iterator[Holds]:
    """Yields the holds in parts of about so many raw rows, each of whole nodes unless one alone has more.

    There is at least one part, which may be empty.
    """
    upto = np.cumsum(holds.expected_rows)
    ends_of_nodes = np.flatnonzero(np.diff(holds.node_key, append=-1)) + 1
    first = last = 0
    while not last or last < len(holds):
        before = upto[first - 1] if first else 0.0
        last = max(int(np.searchsorted(upto, before + rows_at_once, side="right")), min(first + 1, len(holds)))
        whole = ends_of_nodes[(ends_of_nodes > first) & (ends_of_nodes <= last)]
        last = int(whole[-1]) if len(whole) else last
        yield holds.part(first, last)
        first = last
        if not len(holds):
            return


def _ints(table: pa.Table, name: str) -> Ints:
    found: Ints = table[name].to_numpy().astype(np.int64)
    return found


def _floats(table: pa.Table, name: str) -> Floats:
    found: npt.NDArray[np.float64] = table[name].cast(pa.float64()).to_numpy(zero_copy_only=False)
    return found
