"""What each simulated node has to say in each of its segments.

Telemetry is made for a few nodes and told by many: the hub does the same work for equal values.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt

from benchmarks import telemetry
from store.catalog import BY_NAME, HOST, STRUCTURE
from store.segment import Column, Device, Holding, NullReason, ProbeRun, ProcessSeen, Segment, Table

CLUSTER: Final = "bench"
AGENT: Final = "0.1.0"
MODEL: Final = "NVIDIA A100-SXM4-80GB"
MEMORY_MIB: Final = 81_920
METRICS: Final = (
    *("util_pct", "mem_util_pct", "mem_used_mib", "power_w", "energy_j", "sm_clock_mhz", "temp_c", "event_reasons"),
    *("pcie_rx_mib", "pcie_tx_mib"),
)
NOT_OFFERED: Final = ("sm_active_pct", "sm_occupancy_pct", "gr_active_pct", "tensor_active_pct", "dram_active_pct")
_STEADY: Final = {"enc_pct": 0, "dec_pct": 0, "mem_reserved_mib": 610, "mem_clock_mhz": 1593}
PROBES: Final = ("gpu", "activity", "processes", "holds", "host")

_Columns = Mapping[str, npt.NDArray[Any]]


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes and what they send: ``segments`` each, of ``segment_s`` with a row every ``interval_s`` of every GPU.

    The first begins at ``from_ms`` at the earliest: nodes are spread evenly over the time of a segment.
    """

    nodes: int
    gpus: int = 8
    interval_s: int = 1
    segment_s: int = 60
    segments: int = 1
    sent: tuple[int, int] | None = None  # which of these are delivered, from and up to; None: all
    from_ms: int
    told_by: int = 32  # nodes whose telemetry is made
    seed: int = 7

    @property
    def readings(self) -> int:
        """Readings of a GPU in a segment."""
        return self.segment_s // self.interval_s

    @property
    def last_ms(self) -> int:
        """The last row of all."""
        return max(self.span_ms(node, self.segments - 1)[1] + self.shift_ms(node) for node in range(self.nodes))

    def span_ms(self, node: int, number: int) -> tuple[int, int]:
        """Return begin and end of a node's segment, before its grid is shifted."""
        later = node * self.readings // self.nodes + number * self.readings
        first_ms = self.from_ms + later * self.interval_s * 1000
        return first_ms, first_ms + self.segment_s * 1000

    def shift_ms(self, node: int) -> int:
        """Return by how much a node reads later than the grid says, as an agent does: they do not read at once."""
        return self.interval_s * (node * 617 % 1000)


class Nodes:
    """The segments of a load."""

    def __init__(self, load: Load) -> None:
        self.load = load
        self._telling = min(load.told_by, load.nodes)
        fleet = telemetry.Fleet(
            nodes=self._telling,
            gpus=load.gpus,
            from_ms=load.from_ms,
            to_ms=load.from_ms + (load.segments + 1) * load.segment_s * 1000,
            interval_ms=load.interval_s * 1000,
            seed=load.seed,
        )
        self._plan = telemetry.plan(fleet)
        self._told = [_told(self._plan, node) for node in range(self._telling)]

    def in_order(self) -> Iterator[tuple[float, Segment]]:
        """Yield (seconds after the begin, segment) as an even stream: a segment is due when its time is over."""
        load = self.load
        first, end = load.sent or (0, load.segments)
        for number in range(first, end):
            for node in range(load.nodes):
                yield load.segment_s * (number - first + node / load.nodes), self.segment(node, number)

    def segment(self, node: int, number: int) -> Segment:
        """Return what a node says in its segment ``number``."""
        load = self.load
        copy, told_by = divmod(node, self._telling)
        span_ms, shift_ms = load.span_ms(node, number), load.shift_ms(node)
        runs, holdings = self._holdings(told_by, copy, span_ms, shift_ms)
        samples = _samples(self._told[told_by], span_ms, runs, shift_ms)
        first_ms, last_ms = (at_ms + shift_ms for at_ms in span_ms)
        return Segment(
            node=f"gpu{node:05d}",
            boot_id="b1a2c3d4e5f6",
            seq=number,
            cluster=CLUSTER,
            agent=AGENT,
            interval_ms=load.interval_s * 1000,
            first_ms=first_ms,
            last_ms=last_ms,
            written_ms=last_ms,
            slurm=True,
            devices=tuple(_device(node, gpu) for gpu in range(load.gpus)),
            holdings=holdings,
            samples=samples,
            nulls=tuple(
                NullReason(device=gpu, metric=metric, reason="not_supported", from_ms=first_ms, to_ms=last_ms)
                for gpu in range(load.gpus)
                for metric in NOT_OFFERED
            ),
            processes=tuple(_processes(node, holdings, first_ms, last_ms)),
            probes=tuple(
                ProbeRun(probe=name, at_ms=last_ms, duration_ms=3.5, rows=load.readings, runs=load.readings)
                for name in PROBES
            ),
            hosts=_hosts(holdings, load, first_ms),
        )

    def _holdings(
        self, told_by: int, copy: int, span: tuple[int, int], shift_ms: int
    ) -> tuple[list[int], tuple[Holding, ...]]:
        """Return the runs that hold GPUs in a span, by number in the plan, and their holds as the node tells them."""
        fleet, devices = self._plan.fleet, dict[tuple[int, int, int], list[int]]()
        for gpu, holds in enumerate(self._plan.held(told_by)):
            for run, *told_ms in holds:
                # Rows begin and end on the grid, and so must what holds them.
                readings = ((at_ms - fleet.from_ms) // fleet.interval_ms for at_ms in told_ms)
                start_ms, end_ms = (fleet.from_ms + reading * fleet.interval_ms for reading in readings)
                if start_ms < span[1] and end_ms > span[0] and end_ms > start_ms:
                    devices.setdefault((run, start_ms, end_ms), []).append(gpu)
        return [run for run, _, _ in devices], tuple(
            Holding(
                kind="job",
                cluster=CLUSTER,
                job_id=str(1 + copy * len(self._plan.runs) + run),
                start_ms=start_ms + shift_ms,
                end_ms=end_ms + shift_ms if end_ms <= span[1] and end_ms < fleet.to_ms else None,
                uid=20_000 + run,
                user=self._plan.runs[run].user,
                account=self._plan.runs[run].account,
                partition=self._plan.runs[run].partition,
                name="train",
                devices=tuple(gpus),
            )
            for (run, start_ms, end_ms), gpus in devices.items()
        )


def _told(plan: telemetry.Plan, node: int) -> _Columns:
    """Return the rows of a telling node in the order in which an agent writes them: by time, then GPU."""
    rows = telemetry.rows(plan, node, {name: telemetry.CATALOGUE[name] for name in METRICS})
    columns = {name: rows[name].to_numpy() for name in ("ts_ms", "span_ms", "gpu", *METRICS)}
    columns["run"] = rows["run"].fill_null(-1).to_numpy()
    order = np.lexsort((columns["gpu"], columns["ts_ms"]))
    sorted_rows = {name: values[order] for name, values in columns.items()}
    util, span = sorted_rows["util_pct"], sorted_rows["span_ms"]
    return sorted_rows | {
        "util_max_pct": util // BY_NAME["util_pct"].per_unit,
        "util_readings": span // 167,  # the driver takes six a second
        "util_below1_ratio": np.where(util < BY_NAME["util_pct"].per_unit, 1000, 0),
        "util_watched_ms": span,
        "processes": np.minimum(sorted_rows["run"] + 1, 1),
        **{name: np.full(len(span), value) for name, value in _STEADY.items()},
    }


def _samples(told: _Columns, span: tuple[int, int], runs: list[int], shift_ms: int) -> Table:
    first, last = np.searchsorted(told["ts_ms"], span, side="right")
    rows = {name: values[first:last] for name, values in told.items()}
    holding = np.full(last - first, -1, np.int64)
    for position, run in enumerate(runs):
        holding[rows["run"] == run] = position
    held = holding >= 0
    columns = {
        "ts_ms": _column(rows["ts_ms"] + shift_ms, STRUCTURE["ts_ms"]),
        "span_ms": _column(rows["span_ms"], STRUCTURE["span_ms"]),
        "device": _column(rows["gpu"], STRUCTURE["device"]),
        "holding": _column(np.where(held, holding, 0), STRUCTURE["holding"], held),
    }
    columns |= {name: _column(rows[name], BY_NAME[name].dtype) for name in told if name in BY_NAME}
    return Table(int(last - first), columns)


def _column(values: npt.NDArray[Any], dtype: str, valid: npt.NDArray[np.bool_] | None = None) -> Column:
    bitmap = b"" if valid is None or valid.all() else np.packbits(valid, bitorder="little").tobytes()
    return Column(dtype, values.astype(f"<{dtype}").tobytes(), bitmap)


def _device(node: int, gpu: int) -> Device:
    return Device(
        uuid=f"GPU-{node:08x}-{gpu:04x}-4000-8000-0123456789ab",
        index=gpu,
        minor=gpu,
        pci_bus_id=f"00000000:{0x10 + gpu:02X}:00.0",
        model=MODEL,
        mem_total_mib=MEMORY_MIB,
        baseline_mib=4,
        power_limit_w=400.0,
        driver_version="570.86.15",
        position=gpu,
        pcie_mib_s=30_000,
        nvlink_mib_s=286_000,
    )


def _processes(node: int, holdings: tuple[Holding, ...], first_ms: int, last_ms: int) -> Iterator[ProcessSeen]:
    for position, holding in enumerate(holdings):
        from_ms, to_ms = max(first_ms, holding.start_ms), min(last_ms, holding.end_ms or last_ms)
        for gpu in holding.devices:
            pid = 10_000 + (node + int(holding.job_id) * 8 + gpu) % 4_000_000
            seen = {"device": gpu, "pid": pid, "name": "python3", "uid": holding.uid}
            yield ProcessSeen(**seen, from_ms=from_ms, to_ms=to_ms, mem_max_mib=40_000, holding=position)


def _hosts(holdings: tuple[Holding, ...], load: Load, first_ms: int) -> Table:
    """The probe of the cores is asked at each reading."""
    step_ms, count = load.interval_s * 1000, load.readings * len(holdings)
    ends = first_ms + step_ms * np.arange(1, load.readings + 1)
    values = {
        "ts_ms": np.repeat(ends, len(holdings)),
        "span_ms": np.full(count, step_ms),
        "holding": np.tile(np.arange(len(holdings)), load.readings),
        "cpu_ms": np.full(count, 7 * step_ms),
        "mem_mib": np.full(count, 90_000),
    }
    return Table(count, {name: _column(values[name], dtype) for name, dtype in HOST.items()} if count else {})
