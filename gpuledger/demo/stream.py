"""The cluster as segments: the newest day first, then backwards; or any stretch of time as it passes."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gpuledger.demo import cores
from gpuledger.demo.accounting import holding, record
from gpuledger.demo.cluster import HOUR_S, NAME
from gpuledger.demo.cores import CoreRows
from gpuledger.demo.incidents import Span
from gpuledger.demo.inventory import EVERY_S as INVENTORY_EVERY_S
from gpuledger.demo.programs import Programs
from gpuledger.demo.queueing import EVERY_S
from gpuledger.demo.scheduling import Run
from gpuledger.demo.telemetry import Rows, Watch, read
from gpuledger.demo.timeline import Stay
from gpuledger.demo.world import World
from store.catalog import METRICS, STRUCTURE
from store.segment import AccountingRun, Column, Event, NullReason, ProbeRun, Segment, Table

AGENT = "0.1.0"
ACCOUNTING_NODE = 0
PROBE_MS = 11.4
SACCT_MS = 180.0
SQUEUE_MS = 95.0
SCONTROL_MS = 60.0
NOT_OF_ALL = (
    *("sm_active_pct", "sm_occupancy_pct", "gr_active_pct", "tensor_active_pct", "dram_active_pct"),
    *("nvlink_rx_mib", "nvlink_tx_mib"),
)


class _Read(NamedTuple):
    """What was read on one node."""

    rows: Rows
    cores: CoreRows


def newest_hours(from_s: int, to_s: int, hours: int) -> int:
    """Returns where the last hours of [from_s, to_s) begin, the one under way counted as one."""
    return max(from_s, -(-to_s // HOUR_S) * HOUR_S - hours * HOUR_S)


def segments(world: World, from_s: int, to_s: int, started_since_s: int | None = None) -> Iterator[Segment]:
    """Yields one segment a node and hour of [from_s, to_s), node by node.

    Accounting tells of runs that ended; of those that still run at ``to_s`` only where ``started_since_s`` is given,
    and then of those that started since: nothing older may be told of a run than what a newer segment said.
    """
    programs = Programs(world)
    for node in range(len(world.cluster.nodes)):
        yield from _node_segments(world, programs, node, from_s, to_s, started_since_s)


def _node_segments(
    world: World, programs: Programs, node: int, from_s: int, to_s: int, started_since_s: int | None
) -> Iterator[Segment]:
    runs = [run for run in world.by_node[node] if run.start_s < to_s and run.end_s > from_s - HOUR_S]
    watch = _watch(world, node, runs)
    rows = read(watch, from_s, to_s)
    on_cores = cores.read(node, runs, watch.blind, from_s, to_s)
    hours = (rows.ends_s - 1) // HOUR_S
    order = np.argsort(hours, kind="stable")  # by hour, then GPU, then time
    hours = hours[order]
    for hour in range(from_s // HOUR_S, -(-to_s // HOUR_S)):
        first, last = np.searchsorted(hours, (hour, hour + 1))
        if first == last:
            continue  # nobody was there to write a segment
        picked = order[first:last]
        start_s, end_s = max(from_s, hour * HOUR_S), min(to_s, (hour + 1) * HOUR_S)
        since_s = started_since_s if end_s == to_s else None
        accounting = _accounting(world, start_s, end_s, since_s) if node == ACCOUNTING_NODE else ()
        yield _segment(world, programs, node, (start_s, end_s), runs, _Read(rows, on_cores), picked, accounting)


def _watch(world: World, node: int, runs: list[Run]) -> Watch:
    stays: tuple[list[Stay], ...] = tuple([] for _ in world.cluster.nodes[node].devices)
    for owner, run in enumerate(runs):
        for (place, gpu), activity in zip(run.places, world.activities(run), strict=True):
            if place == node:
                stays[gpu].append(Stay(owner, run.start_s, run.end_s, activity))
    broken = world.incidents
    return Watch(
        node=world.cluster.nodes[node],
        interval_s=world.settings.interval_s,
        stays=stays,
        blind=tuple(span for span in (*broken.down, *broken.silent) if span.node == node),
        lost=tuple(span for span in broken.lost if span.node == node),
        hot=tuple(gpu for place, gpu in broken.hot if place == node),
    )


def _segment(
    world: World,
    programs: Programs,
    node: int,
    span: tuple[int, int],
    runs: list[Run],
    read_here: _Read,
    picked: npt.NDArray[np.intp],
    accounting: tuple[AccountingRun, ...],
) -> Segment:
    start_s, end_s = span
    rows = read_here.rows
    here = world.cluster.nodes[node]
    held = [owner for owner, run in enumerate(runs) if run.start_s < end_s and run.end_s > start_s]
    holders = [runs[owner] for owner in held]
    last_s = int(rows.ends_s[picked].max())
    count, ticks = len(picked), len(picked) // len(here.devices)
    probes = [ProbeRun(probe="gpu", at_ms=last_s * 1000, duration_ms=PROBE_MS, rows=count, runs=ticks)]
    if node == ACCOUNTING_NODE:
        told = len(accounting)
        probes.append(ProbeRun(probe="accounting", at_ms=last_s * 1000, duration_ms=SACCT_MS, rows=told))
        read = -(-end_s // INVENTORY_EVERY_S) - -(-start_s // INVENTORY_EVERY_S)
        if read:
            probes.append(ProbeRun(probe="cluster", at_ms=last_s * 1000, duration_ms=SCONTROL_MS, rows=read, runs=read))
        asked = (end_s - start_s) // EVERY_S
        probes.append(ProbeRun(probe="queue", at_ms=last_s * 1000, duration_ms=SQUEUE_MS, rows=asked, runs=asked))
    return Segment(
        node=here.name,
        boot_id=f"demo{world.settings.seed}",
        seq=start_s,  # the second it begins: hours and minutes share one rising sequence
        cluster=NAME,
        agent=AGENT,
        interval_ms=world.settings.interval_s * 1000,
        first_ms=start_s * 1000,
        last_ms=last_s * 1000,
        written_ms=last_s * 1000 + 40,
        synthetic=True,
        slurm=True,
        devices=here.devices,
        holdings=tuple(holding(run, node, end_s) for run in holders),
        samples=_table(rows, picked, held),
        accounting=accounting,
        events=tuple(_events(world.incidents.lost, node, start_s, end_s)),
        nulls=_nulls(world, node, rows, start_s, end_s),
        processes=tuple(programs.seen(node, holders, start_s, last_s)),
        probes=tuple(probes),
        queue=tuple(world.backlog.polls(start_s, end_s)) if node == ACCOUNTING_NODE else (),
        inventory=tuple(world.inventory.readings(start_s, end_s)) if node == ACCOUNTING_NODE else (),
        hosts=read_here.cores.table(start_s, end_s, held),
    )


def _table(rows: Rows, picked: npt.NDArray[np.intp], held: list[int]) -> Table:
    answered = rows.valid[picked]
    bits = b"" if answered.all() else np.packbits(answered, bitorder="little").tobytes()
    columns = {
        metric.name: Column(metric.dtype, rows.columns[metric.name][picked].tobytes(), bits)
        for metric in METRICS
        if metric.name in rows.columns
    }
    for name, dtype in (("ts_ms", "i8"), ("span_ms", "u4"), ("device", "u2")):
        columns[name] = Column(dtype, rows.columns[name][picked].tobytes())
    owner = rows.owner[picked]
    place = np.zeros(max(held, default=0) + 2, dtype="<u2")  # the last one answers for owner -1
    place[held] = np.arange(len(held))
    owned = owner >= 0
    columns["holding"] = Column("u2", place[owner].tobytes(), np.packbits(owned, bitorder="little").tobytes())
    return Table(rows=len(picked), columns=columns)


def _accounting(world: World, start_s: int, end_s: int, started_since_s: int | None) -> tuple[AccountingRun, ...]:
    def told(run: Run) -> bool:
        if run.end_s <= end_s:
            return run.end_s > start_s
        return started_since_s is not None and started_since_s <= run.start_s < end_s

    return tuple(record(world.cluster, run, end_s) for run in world.runs if told(run))


def _events(lost: tuple[Span, ...], node: int, start_s: int, end_s: int) -> Iterator[Event]:
    for span in lost:
        if span.node == node and start_s <= span.start_s < end_s:
            yield Event(
                ts_ms=span.start_s * 1000, kind="gpu_lost", device=span.gpu, detail="GPU is lost (NVML error 15)"
            )
        if span.node == node and start_s <= span.end_s < end_s:
            yield Event(ts_ms=span.end_s * 1000, kind="gpu_back", device=span.gpu)


def _nulls(world: World, node: int, rows: Rows, start_s: int, end_s: int) -> tuple[NullReason, ...]:
    devices = range(len(world.cluster.nodes[node].devices))
    names = [name for name in NOT_OF_ALL if name not in rows.columns]
    found = [
        NullReason(device=device, metric=name, reason="not_supported", from_ms=start_s * 1000, to_ms=end_s * 1000)
        for device in devices
        for name in names
    ]
    for span in world.incidents.lost:
        from_s, to_s = max(span.start_s, start_s), min(span.end_s, end_s)
        if span.node == node and span.gpu is not None and from_s < to_s:
            found += [
                NullReason(device=span.gpu, metric=name, reason="gpu_lost", from_ms=from_s * 1000, to_ms=to_s * 1000)
                for name in rows.columns
                if name not in STRUCTURE
            ]
    return tuple(found)
