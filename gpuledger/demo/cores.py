"""What runs do on the cores of one node, as an agent there would have counted it: a row a run and minute."""

from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from gpuledger.demo.incidents import Span
from gpuledger.demo.noise import Floats, Ints, channels, floats, wander
from gpuledger.demo.scheduling import Run
from store.catalog import HOST
from store.segment import Column, Table

MINUTE_S = 60
AMBLE_S = 900.0  # step of the slow walk: input and neighbours change within minutes
AFTER = 0.004  # of the cores, where the work is over and the script stays
RESIDENT = 0.55  # of the memory asked for
MIB_PER_GIB = 1024
_KEY = 0x0C0DE


class CoreRows(msgspec.Struct, frozen=True):
    """Rows of one node in order of their end; ``owner`` is the run's place in the caller's list."""

    ends_s: Ints
    spans_s: Ints
    owner: Ints
    cpu_ms: Ints
    mem_mib: Ints

    def table(self, from_s: int, to_s: int, held: Sequence[int]) -> Table:
        """Returns the rows that end in (from_s, to_s]; ``held`` are the owners of the segment's holdings, in order."""
        first, last = np.searchsorted(self.ends_s, (from_s, to_s), "right")
        place = np.full(max(held, default=0) + 1, -1)
        place[list(held)] = np.arange(len(held))
        values = {
            "ts_ms": self.ends_s * 1000,
            "span_ms": self.spans_s * 1000,
            "holding": place[self.owner[first:last]],
            "cpu_ms": self.cpu_ms,
            "mem_mib": self.mem_mib,
        }
        cut = {name: column if name == "holding" else column[first:last] for name, column in values.items()}
        columns = {name: Column(kind, cut[name].astype(f"<{kind}").tobytes()) for name, kind in HOST.items()}
        return Table(int(last - first), columns)


def read(node: int, runs: Sequence[Run], blind: Sequence[Span], from_s: int, to_s: int) -> CoreRows:
    """Returns the rows of [from_s, to_s) of the runs on a node; of the times in ``blind`` there are none."""
    parts = [_run(owner, run, node, blind, from_s, to_s) for owner, run in enumerate(runs)]
    columns = [
        np.concatenate([part[index] for part in parts]) if parts else np.empty(0, np.int64) for index in range(5)
    ]
    order = np.argsort(columns[0], kind="stable")
    return CoreRows(*(column[order] for column in columns))


def _run(owner: int, run: Run, node: int, blind: Sequence[Span], from_s: int, to_s: int) -> tuple[Ints, ...]:
    start, end = max(run.start_s, from_s), min(run.end_s, to_s)
    family, course = run.request.family, run.fate.course
    gpus = sum(1 for place, _ in run.places if place == node)
    minutes = np.arange(start // MINUTE_S * MINUTE_S + MINUTE_S, end, MINUTE_S)
    ends = np.append(minutes, end) if end > start else np.empty(0, np.int64)
    starts = np.concatenate(([start], ends))[: len(ends)]
    seen = _seen(starts, ends, blind)
    starts, ends = starts[seen], ends[seen]
    work_to = run.start_s + course.setup_s + course.work_s
    working = np.clip(np.minimum(ends, work_to) - starts, 0, None)
    share = family.does.cpu_ratio * working + AFTER * (ends - starts - working)
    cores = float(family.cores_per_gpu * gpus)
    cpu_ms = np.minimum(1000 * cores * share * _swing(run, ends), 1000 * cores * (ends - starts))
    resident = family.mem_gib_per_gpu * gpus * MIB_PER_GIB * RESIDENT
    mem_mib = resident * np.clip((ends - run.start_s) / max(course.setup_s, 1.0), 0.02, 1)
    return ends, ends - starts, np.full(len(ends), owner), cpu_ms.astype(np.int64), mem_mib.astype(np.int64)


def _swing(run: Run, ends: Ints) -> Floats:
    key = _KEY + run.db_index
    return 1 + 0.08 * wander(key, floats(ends), AMBLE_S) + 0.04 * channels(key, ends)[:, 0]


def _seen(starts: Ints, ends: Ints, blind: Sequence[Span]) -> npt.NDArray[np.bool_]:
    seen = np.ones(len(ends), dtype=np.bool_)
    for span in blind:
        seen &= (ends <= span.start_s) | (starts >= span.end_s)
    return seen
