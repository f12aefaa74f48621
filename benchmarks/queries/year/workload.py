"""Who held what and when: lanes of 1 to 32 GPUs that hold one run after the other, by numpy.

Lengths are lognormal with a long tail, most runs are short tasks of one GPU in arrays, people come in bursts and a few
of them submit most.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmarks.queries.year.sizes import END_MS, HOT_FROM_MS, RAW_RUN_MS, SEALED_FROM_MS, YearSizes

Ints = npt.NDArray[np.int64]

PARTITIONS: Final = ("short", "single", "pair", "half", "node", "multi")


class Kind(NamedTuple):
    """Lanes of one width: their share of the nodes, the mean slot beside a single GPU's, and how wide lengths vary."""

    partition: int
    gpus: int
    share: float
    slot: float
    sigma: float
    burst: float


KINDS: Final = (
    Kind(0, 1, 0.24, 0.6, 1.1, 40.0),
    Kind(1, 1, 0.24, 2.2, 1.5, 12.0),
    Kind(2, 2, 0.18, 6.0, 1.6, 5.0),
    Kind(3, 4, 0.14, 8.0, 1.6, 4.0),
    Kind(4, 8, 0.14, 10.0, 1.6, 3.0),
    Kind(5, 32, 0.06, 16.0, 1.4, 2.0),
)


class Workload(NamedTuple):
    """``runs``: lane, burst, partition, user, start_ms, end_ms, in order of start. ``lanes``: lane, GPU, node."""

    runs: pa.Table
    lanes: pa.Table
    sealed_run: int
    hot_run: int


def workload(sizes: YearSizes, seed: int = 7) -> Workload:
    """Returns the year's runs; the last of each lane still runs at its end."""
    rng = np.random.default_rng(seed)
    lanes = _lanes(sizes)
    widths = {kind.partition: len(members) for kind, members in lanes}
    # The mean slot of a single GPU follows from the number of runs asked for.
    lane_ms = float(END_MS - sizes.start_ms)
    unit_ms = lane_ms * sum(widths[kind.partition] / kind.slot for kind, _ in lanes) / sizes.runs
    parts, keys, first = [], [], 0
    for kind, members in lanes:
        parts.append(_runs_of(rng, kind, len(members), first, unit_ms * kind.slot, sizes))
        keys += [(first + place, gpu) for place, gpus in enumerate(members) for gpu in gpus]
        first += len(members)
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    order = np.lexsort((columns[0], columns[4]))
    lane, burst, partition, user, start, end = (column[order] for column in columns)
    special = first - len(lanes[-1][1]) - 1  # the last lane of a whole node
    marked = lane == special
    lane_gpu = np.array(keys, dtype=np.int64)
    return Workload(
        runs=pa.table(
            {"run_key": np.arange(1, len(lane) + 1), "lane": lane, "burst": burst, "partition": partition}
            | {"user": user, "start_ms": start, "end_ms": end}
        ),
        lanes=pa.table(
            {"lane": lane_gpu[:, 0], "gpu_key": lane_gpu[:, 1], "node_key": (lane_gpu[:, 1] - 1) // sizes.gpus + 1}
        ),
        sealed_run=int(np.flatnonzero(marked & (start == SEALED_FROM_MS))[0]) + 1,
        hot_run=int(np.flatnonzero(marked & (start == HOT_FROM_MS))[0]) + 1,
    )


def _lanes(sizes: YearSizes) -> list[tuple[Kind, list[list[int]]]]:
    """Each kind with its lanes, a lane being its GPUs; every kind has at least one node."""
    counts = [max(1, round(kind.share * sizes.nodes)) for kind in KINDS]
    counts[-1] = max(1, counts[-1] // 4) * 4 if sizes.nodes >= 32 else 1
    counts[0] += sizes.nodes - sum(counts)
    found, gpu = [], 1
    for kind, nodes in zip(KINDS, counts, strict=True):
        gpus = list(range(gpu, gpu + nodes * sizes.gpus))
        gpu += len(gpus)
        width = min(kind.gpus, len(gpus))
        found.append((kind, [gpus[at : at + width] for at in range(0, len(gpus), width)]))
    return found


def _runs_of(
    rng: np.random.Generator, kind: Kind, lanes: int, first: int, slot_ms: float, sizes: YearSizes
) -> tuple[Ints, Ints, Ints, Ints, Ints, Ints]:
    count = int((END_MS - sizes.start_ms) / slot_ms * 1.2) + 30
    mean = 0.8 * slot_ms / np.exp(kind.sigma**2 / 2)
    lengths = np.clip(rng.lognormal(np.log(mean), kind.sigma, (lanes, count)), 20_000, 7 * 86_400_000)
    lengths *= 0.8 * slot_ms / lengths.mean()  # what the limits cut off
    gaps = rng.exponential(0.2 * slot_ms, (lanes, count))
    gaps[rng.random((lanes, count)) < 0.5] = 1000.0
    gaps *= 0.2 * slot_ms / gaps.mean()
    ends = sizes.start_ms + np.cumsum(lengths + gaps, axis=1)
    starts, ends = ((ends - lengths) // 1000 * 1000).astype(np.int64), (ends // 1000 * 1000).astype(np.int64)
    bursts = np.cumsum(rng.random((lanes, count)) < 1 / kind.burst, axis=1)
    lane = np.broadcast_to(np.arange(first, first + lanes)[:, None], starts.shape)
    if kind.partition == 4:
        starts[-1], ends[-1] = _with_raw_runs(starts[-1], ends[-1])
    kept = (starts < END_MS) & (ends > starts)
    lane, bursts, starts, ends = lane[kept], bursts[kept], starts[kept], ends[kept]
    burst = lane * 1_000_000 + bursts
    return lane, burst, np.full(len(lane), kind.partition), _users(burst, sizes.users), starts, ends


def _with_raw_runs(starts: Ints, ends: Ints) -> tuple[Ints, Ints]:
    """Two runs of 7 h at the end of a lane: one whose rows are sealed, and one that runs."""
    ends = np.minimum(ends, SEALED_FROM_MS - 1000)
    places = np.flatnonzero(starts < ends)
    last = int(places[-1]) + 1
    starts[last:], ends[last:] = END_MS + 1, END_MS + 1
    starts[last : last + 2] = SEALED_FROM_MS, HOT_FROM_MS
    ends[last : last + 2] = SEALED_FROM_MS + RAW_RUN_MS, END_MS + RAW_RUN_MS
    return starts, ends


def _users(burst: Ints, users: int) -> Ints:
    """One person a burst; the n-th most active submits about 1/n as much as the first."""
    share = 1 / np.arange(1, users + 1) ** 0.9
    edges = np.cumsum(share / share.sum())
    values, inverse = np.unique(burst, return_inverse=True)
    mixed = (values * 0x9E3779B1 + 0x7F4A7C15) % 2**32
    draw = (mixed ^ (mixed >> 15)) * 0x2C1B3C6D % 2**32 / 2**32
    return np.minimum(np.searchsorted(edges, draw), users - 1).astype(np.int64)[inverse]
