"""Runs told as what each GPU did, phase by phase, and sent into a store as the segments a node would write."""

import array
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from store.catalog import BY_NAME, HOST, STRUCTURE
from store.database import Database
from store.ingest import ingest
from store.rollup import roll_up
from store.segment import AccountingRun, Column, Device, Event, Holding, NullReason, Segment, Table, encode
from tests.factories.ledger import MINUTE, T0

CODES: Final = {"u1": "B", "u2": "H", "u4": "I", "i2": "h", "i8": "q"}
IDLE_W: Final = 70.0
CONTEXT_MIB: Final = 2_000


class Phase(msgspec.Struct, frozen=True, kw_only=True):
    """What a GPU does for a while; ``rows`` False leaves a gap, ``util_pct`` None rows without that reading."""

    minutes: float
    util_pct: float | None = 0.0
    below1_ratio: float | None = None
    mem_mib: int = 4
    power_w: float | None = None
    rows: bool = True
    more: dict[str, float | None] = {}


def idle(minutes: float, *, held: bool = False, **more: float | None) -> Phase:
    return Phase(minutes=minutes, mem_mib=CONTEXT_MIB if held else 4, below1_ratio=1.0, more=more)


def busy(minutes: float, pct: float = 90.0, mem_mib: int = 20_000, **more: float | None) -> Phase:
    return Phase(minutes=minutes, util_pct=pct, mem_mib=mem_mib, more=more)


def gap(minutes: float, power_w: float | None = None) -> Phase:
    """No rows; with ``power_w`` the next row's energy holds what was spent meanwhile, as an agent's does."""
    return Phase(minutes=minutes, rows=False, power_w=power_w)


def blind(minutes: float, power_w: float | None = IDLE_W) -> Phase:
    return Phase(minutes=minutes, util_pct=None, power_w=power_w)


class Scene:
    """Collects segments; :meth:`play` stores them. Each run has nodes of its own, so GPUs never meet by accident."""

    def __init__(self, *, interval_s: float = 30.0, slurm: bool = True) -> None:
        self.interval_ms = round(interval_s * 1000)
        self.slurm = slurm
        self.segments: list[Segment] = []
        self.job = 100

    def run(
        self,
        *gpus: Sequence[Phase],
        start_ms: int = T0,
        nodes: int = 1,
        running: bool = False,
        accounting: bool = True,
        length_min: float | None = None,
        events: Sequence[Event] = (),
        nulls: Sequence[NullReason] = (),
        device: dict[str, Any] | None = None,
        cores: Sequence[float | None] = (),
        cores_minutes: float | None = None,
        **described: Any,
    ) -> str:
        """Adds a run of one phase list a GPU and returns its raw job id. ``described`` goes to accounting's row.

        ``cores``: busy cores on each node, for the first ``cores_minutes`` where those are given.
        """
        self.job += 1
        job_id = described.pop("job_id_raw", str(self.job))
        length = max(sum(phase.minutes for phase in phases) for phases in gpus) if gpus else length_min or 60
        end_ms = start_ms + round((length_min or length) * MINUTE)
        each = -(-len(gpus) // nodes)
        shared = described.pop("shared", False)
        for number in range(nodes):
            part = gpus[number * each : (number + 1) * each]
            self._node(
                f"n{self.job}-{number}",
                job_id,
                part,
                start_ms,
                None if running else end_ms,
                end_ms,
                shared=shared,
                events=events,
                nulls=nulls,
                device=device or {},
                described=described,
            )
            if number < len(cores) and (busy_cores := cores[number]) is not None:
                counted = _hosts(start_ms, round((cores_minutes or length) * MINUTE), busy_cores)
                self.segments[-1] = msgspec.structs.replace(self.segments[-1], hosts=counted)
        if accounting and self.slurm:
            self._accounting(job_id, len(gpus), nodes, start_ms, end_ms, running=running, described=described)
        return job_id

    def _node(
        self,
        name: str,
        job_id: str,
        gpus: Sequence[Sequence[Phase]],
        start_ms: int,
        end_ms: int | None,
        last_ms: int,
        *,
        shared: bool,
        events: Sequence[Event],
        nulls: Sequence[NullReason],
        device: dict[str, Any],
        described: dict[str, Any],
    ) -> None:
        devices = tuple(
            Device(
                **{"uuid": f"GPU-{name}-{i}", "index": i, "model": "H100", "mem_total_mib": 80_000, "baseline_mib": 4}
                | {"power_limit_w": 700.0}
                | device
            )
            for i in range(len(gpus))
        )
        holding = Holding(
            kind="job" if self.slurm else "session",
            cluster="c1",
            job_id=job_id,
            start_ms=start_ms,
            end_ms=end_ms,
            user=described.get("user", "ann"),
            account=described.get("account", "physics") if self.slurm else None,
            partition=described.get("partition", "gpu") if self.slurm else None,
            name=described.get("name", "train"),
            devices=tuple(range(len(gpus))),
            source="hook" if self.slurm else "process",
            shared=shared,
        )
        rows = [row for i, phases in enumerate(gpus) for row in self._rows(i, phases, start_ms)]
        self.segments.append(
            Segment(
                node=name,
                boot_id="boot",
                seq=1,
                cluster="c1",
                agent="test",
                interval_ms=self.interval_ms,
                first_ms=start_ms,
                last_ms=last_ms,
                written_ms=last_ms,
                slurm=self.slurm,
                devices=devices,
                holdings=(holding,),
                samples=table(rows),
                events=tuple(events),
                nulls=tuple(nulls),
            )
        )

    def _rows(self, index: int, phases: Sequence[Phase], start_ms: int) -> list[dict[str, float | None]]:
        rows: list[dict[str, float | None]] = []
        at, owed_j = float(start_ms), 0.0
        for phase in phases:
            end = at + phase.minutes * MINUTE
            if not phase.rows:
                owed_j = (phase.power_w or 0) * (end - at) / 1000
                at = end
            while at < end - 0.5:
                until = min(end, at + self.interval_ms)
                rows.append(self._row(index, phase, at, until, owed_j))
                at, owed_j = until, 0.0
        return rows

    @staticmethod
    def _row(index: int, phase: Phase, at: float, until: float, owed_j: float) -> dict[str, float | None]:
        span = round(until) - round(at)
        power = phase.power_w if phase.power_w is not None else IDLE_W + 5 * (phase.util_pct or 0)
        row: dict[str, float | None] = {
            "ts_ms": round(until),
            "span_ms": span,
            "device": index,
            "holding": 0,
            "util_pct": phase.util_pct,
            "util_max_pct": phase.util_pct,
            "util_readings": None if phase.util_pct is None else span // 1000,
            "util_below1_ratio": phase.below1_ratio,
            "util_watched_ms": None if phase.util_pct is None else span,
            "mem_used_mib": phase.mem_mib,
            "power_w": power,
            "energy_j": power * span / 1000 + owed_j,
            "processes": 0,
        }
        return row | phase.more

    def _accounting(
        self,
        job_id: str,
        gpus: int,
        nodes: int,
        start_ms: int,
        end_ms: int,
        *,
        running: bool,
        described: dict[str, Any],
    ) -> None:
        elapsed_s = (end_ms - start_ms) // 1000
        row = {
            "cluster": "c1",
            "db_index": 1000 + self.job,
            "job_id_raw": job_id,
            "job_id": job_id,
            "state": "RUNNING" if running else "COMPLETED",
            "user": "ann",
            "account": "physics",
            "partition": "gpu",
            "qos": "normal",
            "name": "train",
            "submit_ms": start_ms - MINUTE,
            "start_ms": start_ms,
            "end_ms": None if running else end_ms,
            "elapsed_s": elapsed_s,
            "suspended_s": 0,
            "timelimit_s": 86_400,
            "nodes": tuple(f"n{self.job}-{number}" for number in range(nodes)),
            "req_gpus": gpus,
            "alloc_gpus": gpus,
            "alloc_cpus": 8 * max(1, gpus),
            "cpu_s": None if running else elapsed_s * 1.0,
            "has_batch_step": True,
        }
        self.segments.append(
            Segment(
                node="head",
                boot_id="boot",
                seq=self.job,
                cluster="c1",
                agent="test",
                interval_ms=self.interval_ms,
                first_ms=start_ms,
                last_ms=end_ms,
                written_ms=end_ms,
                slurm=True,
                accounting=(AccountingRun(**row | described),),
            )
        )

    def play(self, db: Database, *, rolled_up: bool = True) -> None:
        """Stores what was collected, in one batch, and rolls it up where somebody reads the hours."""
        received_ms = max(segment.last_ms for segment in self.segments)
        ingest(db, [(segment.name, encode(segment)) for segment in self.segments], received_ms)
        self.segments = []
        while rolled_up and roll_up(db):
            pass


def _hosts(start_ms: int, length_ms: int, busy_cores: float) -> Table:
    """Returns a row a minute of a job that keeps so many cores busy."""
    rows = [
        {"ts_ms": start_ms + end, "span_ms": MINUTE, "holding": 0, "cpu_ms": busy_cores * MINUTE, "mem_mib": 4096}
        for end in range(MINUTE, length_ms + 1, MINUTE)
    ]
    columns = {name: [row[name] for row in rows] for name in HOST}
    return Table(len(rows), {name: _column(name, values) for name, values in columns.items()})


def table(rows: Sequence[dict[str, float | None]]) -> Table:
    """Returns rows as the columns of a segment: values scaled, NULLs in a bitmap, little-endian."""
    names = sorted({name for row in rows for name in row})
    return Table(len(rows), {name: _column(name, [row.get(name) for row in rows]) for name in names})


def _column(name: str, values: Sequence[float | None]) -> Column:
    dtypes = {**STRUCTURE, **HOST}
    dtype = dtypes.get(name) or BY_NAME[name].dtype
    scale = 1 if name in dtypes else BY_NAME[name].per_unit
    bits = bytearray((len(values) + 7) // 8)
    for i, value in enumerate(values):
        bits[i // 8] |= (value is not None) << (i % 8)
    data = array.array(CODES[dtype], [round((value or 0) * scale) for value in values]).tobytes()
    return Column(dtype, data, b"" if None not in values else bytes(bits))
