"""One reading of everything that is read here, for a person: `gpuledger collect --once`."""

from collections.abc import Sequence

import msgspec

from collector.host import user_name
from collector.readings import GpuProcess, Reason, Report, Row, add_values
from store.catalog import BY_NAME, METRICS, NULL_REASONS
from store.segment import Device, Holding, ProbeRun


class OnceReading(msgspec.Struct, frozen=True, kw_only=True):
    """One metric of one device; ``value`` in natural units, or None with the reason in words."""

    metric: str
    label: str
    value: float | None
    unit: str
    reason: str | None = None


class OnceProcess(msgspec.Struct, frozen=True, kw_only=True):
    """One compute process."""

    pid: int
    name: str
    user: str | None
    used_mib: int | None


class OnceDevice(msgspec.Struct, frozen=True, kw_only=True):
    """One device with what was read of it."""

    device: Device
    readings: tuple[OnceReading, ...]
    processes: tuple[OnceProcess, ...]


class Once(msgspec.Struct, frozen=True, kw_only=True):
    """The whole reading; ``problems`` are sentences with the next step."""

    node: str
    cluster: str
    slurm: bool
    devices: tuple[OnceDevice, ...]
    holdings: tuple[Holding, ...]
    probes: tuple[ProbeRun, ...]
    problems: tuple[str, ...]
    gpu_list: str = ""  # what Slurm's own list of GPUs was read from; empty where it is not known
    gpu_list_problem: str = ""


def gpus_said(count: int) -> str:
    """Returns ``1 GPU``, ``8 GPUs``."""
    return f"{count} GPU{'' if count == 1 else 's'}"


def describe_device(device: Device, position: int, reports: Sequence[Report]) -> OnceDevice:
    """Returns what the reports say about one device."""
    row = next((row for report in reports for row in report.rows if row.device == position), None)
    listed = next((report.processes[position] for report in reports if position in report.processes), ())
    return OnceDevice(
        device=device,
        readings=() if row is None else _readings(row, position, reports),
        processes=tuple(_process(process) for process in listed),
    )


def lines(once: Once) -> list[str]:
    """Returns the reading as lines of plain text."""
    kind = "Slurm node" if once.slurm else "host without Slurm"
    text = [f"{once.node} ({kind}, cluster {once.cluster}): {gpus_said(len(once.devices))}"]
    for item in once.devices:
        device = item.device
        text += ["", f"GPU {device.index}  {device.model or 'unknown model'}  {device.uuid}"]
        text += [_reading_line(reading) for reading in item.readings] or ["  no answer"]
        text += [
            f"  process {process.pid} {process.name or '(ended)'} of {process.user or 'unknown'}"
            + (f", {process.used_mib} MiB" if process.used_mib is not None else "")
            for process in item.processes
        ]
    text += ["", *(f"{holding.kind} {holding.job_id} of {holding.user or holding.uid}" for holding in once.holdings)]
    text += [f"probe {run.probe}: {run.duration_ms:.1f} ms" + ("" if run.ok else ", failed") for run in once.probes]
    return text + [f"problem: {sentence}" for sentence in once.problems]


def _readings(row: Row, position: int, reports: Sequence[Report]) -> tuple[OnceReading, ...]:
    values = dict(row.values)
    for report in reports:
        add_values(values, report.values.get(position, {}))
    known = [metric for metric in METRICS if metric.name in values]
    return tuple(_reading(metric.name, values[metric.name]) for metric in known)


def _reading(name: str, value: int | Reason) -> OnceReading:
    metric = BY_NAME[name]
    if isinstance(value, Reason):
        reason = NULL_REASONS[value]
        return OnceReading(metric=name, label=metric.label, value=None, unit=metric.unit, reason=reason)
    return OnceReading(metric=name, label=metric.label, value=value / metric.per_unit, unit=metric.unit)


def _reading_line(reading: OnceReading) -> str:
    if reading.value is None:
        return f"  {reading.label:<30} unknown: {reading.reason}"
    if reading.metric.endswith("_ratio"):
        return f"  {reading.label:<30} {100 * reading.value:.3g} %"
    return f"  {reading.label:<30} {reading.value:g} {reading.unit}".rstrip()


def _process(process: GpuProcess) -> OnceProcess:
    return OnceProcess(
        pid=process.pid,
        name=process.name,
        user=None if process.uid is None else user_name(process.uid),
        used_mib=process.used_mib,
    )
