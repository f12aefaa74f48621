"""Rows, holds and records on their way into a segment.

A segment is closed when it is long enough, and early when a hold begins or ends: so each row lies within one hold, and
each device's baseline is valid for the whole segment.
"""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from collector.columns import ROW_DTYPES, TableWriter
from collector.holdings import key_of
from collector.readings import GpuProcess, HostRow, Reason, Row
from collector.sightings import Sightings
from store.catalog import HOST
from store.segment import (
    AccountingRun,
    Device,
    Event,
    Holding,
    InventoryReading,
    NullReason,
    ProbeRun,
    QueuePoll,
    Segment,
)


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """What all segments of one start of the agent share."""

    node: str
    boot_id: str
    cluster: str
    agent: str
    interval_ms: int
    slurm: bool


class Segmenter:
    """Gathers one segment at a time; ``close`` returns it and begins the next."""

    def __init__(self, origin: Origin, now_ms: int, live: Sequence[Holding], baselines: dict[int, int]) -> None:
        self._origin = origin
        self._seq = 0
        self.live = {key_of(holding): holding for holding in live}
        self._begin(now_ms, baselines)

    @property
    def first_ms(self) -> int:
        """When the segment began."""
        return self._first_ms

    @property
    def seq(self) -> int:
        """How many segments were closed before this one."""
        return self._seq

    def add(self, row: Row) -> None:
        """Adds a row; it belongs to the hold that its device has in this segment."""
        values = {"ts_ms": row.ts_ms, "span_ms": row.span_ms, "device": row.device}
        holding = self._holding_of.get(row.device)
        if holding is not None:
            values["holding"] = holding
        for metric, value in row.values.items():
            if isinstance(value, Reason):
                self.note_null(row.device, metric, value, row.ts_ms - row.span_ms, row.ts_ms)
            else:
                values[metric] = value
        self._table.add(values)

    def note_null(self, device: int, metric: str, reason: Reason, from_ms: int, to_ms: int) -> None:
        """Records why a metric has no value; a reason that lasts is one entry."""
        entries = self._nulls.setdefault((device, metric), [])
        if entries and entries[-1].reason == reason and entries[-1].to_ms >= from_ms:
            entries[-1] = msgspec.structs.replace(entries[-1], to_ms=to_ms)
        else:
            entries.append(NullReason(device=device, metric=metric, reason=reason, from_ms=from_ms, to_ms=to_ms))

    def note_processes(self, at_ms: int, processes: Mapping[int, Sequence[GpuProcess]]) -> None:
        """Records the processes that are on each device now."""
        for device, listed in processes.items():
            for process in listed:
                self._sightings.note(at_ms, device, process, self._holding_of_process(device, process))

    def note_events(self, events: Iterable[Event]) -> None:
        """Records what happened."""
        self._events += events

    def note_accounting(self, runs: Iterable[AccountingRun]) -> None:
        """Records what accounting says about runs."""
        self._accounting += runs

    def note_queue(self, polls: Iterable[QueuePoll]) -> None:
        """Records the queue of the cluster."""
        self._queue += polls

    def note_inventory(self, reading: InventoryReading | None) -> None:
        """Records what Slurm says that the cluster has."""
        if reading is not None:
            self._inventory.append(reading)

    def note_hosts(self, rows: Iterable[HostRow]) -> None:
        """Records what jobs did on the cores; of one that holds nothing in this segment there is nothing to say."""
        for row in rows:
            holding = self._holding_of_job.get(row.job_id)
            if holding is None:
                continue
            values = {"ts_ms": row.ts_ms, "span_ms": row.span_ms, "holding": holding, "cpu_ms": row.cpu_ms}
            if row.mem_mib is not None:
                values["mem_mib"] = row.mem_mib
            self._hosts.add(values)

    def note_probe(self, run: ProbeRun) -> None:
        """Adds a run of a probe to its record: the longest duration, all rows, the last error."""
        before = self._probes.get(run.probe)
        if before is not None:
            run = msgspec.structs.replace(
                run,
                duration_ms=max(before.duration_ms, run.duration_ms),
                rows=before.rows + run.rows,
                runs=before.runs + run.runs,
                ok=before.ok and run.ok,
                error=run.error or before.error,
            )
        self._probes[run.probe] = run

    def note_ended(self, ended: Iterable[Holding]) -> None:
        """Records holds that are over, also ones that never lasted at a reading."""
        self._ended += ended

    def differs(self, live: Sequence[Holding], ended: Sequence[Holding]) -> bool:
        """Returns whether a hold has begun or ended; what is newly known about the same holds is taken in."""
        now = {key_of(holding): holding for holding in live}
        if ended or now.keys() != self.live.keys():
            return True
        self.live.update(now)
        return False

    def close(
        self,
        now_ms: int,
        devices: Sequence[Device],
        live: Sequence[Holding],
        baselines: dict[int, int],
    ) -> Segment:
        """Returns the segment up to ``now_ms`` and begins the next.

        Args:
            now_ms: the end of this segment and the begin of the next.
            devices: the node's devices by position.
            live: the holds that last in the next segment.
            baselines: by device, for the next segment.
        """
        said = self.live | {key_of(holding): holding for holding in self._ended}
        segment = Segment(
            **msgspec.structs.asdict(self._origin),
            seq=self._seq,
            first_ms=self._first_ms,
            last_ms=now_ms,
            written_ms=now_ms,
            devices=tuple(
                msgspec.structs.replace(device, baseline_mib=self._baselines.get(position))
                for position, device in enumerate(devices)
            ),
            holdings=tuple(said.values()),
            samples=self._table.table(),
            accounting=tuple(self._accounting),
            events=tuple(self._events),
            processes=self._sightings.told(),
            nulls=tuple(entry for entries in self._nulls.values() for entry in entries),
            probes=tuple(self._probes.values()),
            queue=tuple(self._queue),
            inventory=tuple(self._inventory),
            hosts=self._hosts.table(),
        )
        self._seq += 1
        self.live = {key_of(holding): holding for holding in live}
        self._begin(now_ms, baselines)
        return segment

    def _begin(self, now_ms: int, baselines: dict[int, int]) -> None:
        self._first_ms = now_ms
        self._baselines = baselines
        self._table = TableWriter(ROW_DTYPES)
        self._hosts = TableWriter(HOST)
        self._holding_of_job = {
            holding.job_id: position for position, holding in enumerate(self.live.values()) if holding.kind == "job"
        }
        self._nulls: dict[tuple[int, str], list[NullReason]] = {}
        self._events: list[Event] = []
        self._ended: list[Holding] = []
        self._accounting: list[AccountingRun] = []
        self._queue: list[QueuePoll] = []
        self._inventory: list[InventoryReading] = []
        self._probes: dict[str, ProbeRun] = {}
        self._sightings = Sightings()
        self._holders = _holders(self.live.values())
        # Where several hold one device, nobody can say whose work a row shows.
        self._holding_of = {device: held[0] for device, held in self._holders.items() if len(held) == 1}

    def _holding_of_process(self, device: int, process: GpuProcess) -> int | None:
        """Returns the hold that a process belongs to; of several on its device the only one of the same user."""
        holders = self._holders.get(device, [])
        if len(holders) > 1:
            uids = [holding.uid for holding in self.live.values()]
            holders = [position for position in holders if process.uid is not None and uids[position] == process.uid]
        return holders[0] if len(holders) == 1 else None


def _holders(live: Iterable[Holding]) -> dict[int, list[int]]:
    """Returns the positions of the holds of each device."""
    holders: dict[int, list[int]] = {}
    for position, holding in enumerate(live):
        for device in holding.devices:
            holders.setdefault(device, []).append(position)
    return holders
