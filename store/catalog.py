"""The metric catalogue: every reading that a row can hold, defined once.

A metric is one entry here plus the probe that reads it. Column, storage type, rollup, unit, axis, Prometheus name and
documentation all follow from the entry. Structural columns (time, span, device, run) are not metrics and live in
:data:`STRUCTURE`.

Values travel and rest as scaled integers: ``stored = round(natural * per_unit)``. A value outside ``low..high``
(natural units) is NULL with the reason ``out_of_range``: drivers print 4294967295 or 808334905 % now and then.
"""

from functools import partial
from typing import Final

from store.metric import Dtype, Kind, Metric

__all__ = ["BY_NAME", "HOST", "METRICS", "NULL_REASONS", "STRUCTURE", "Dtype", "Kind", "Metric"]

# Shares of time by hardware counters, in tenths of a percent; amounts of data in whole MiB.
_ACTIVITY: Final = partial(Metric, unit="%", dtype="u2", kind=Kind.GAUGE, low=0, high=100, per_unit=10)
_MOVED: Final = partial(Metric, unit="MiB", dtype="u4", kind=Kind.DELTA, low=0, high=4_000_000_000)

METRICS: tuple[Metric, ...] = (
    Metric(
        name="util_pct",
        unit="%",
        dtype="u2",
        kind=Kind.GAUGE,
        low=0,
        high=100,
        per_unit=10,
        is_utilization=True,
        label="Utilization",
        source="nvmlDeviceGetSamples(GPU_UTILIZATION), else nvmlDeviceGetUtilizationRates",
        help="Share of time in which at least one kernel ran; time-weighted mean over the row's span.",
    ),
    Metric(
        name="util_max_pct",
        unit="%",
        dtype="u1",
        kind=Kind.COUNT,
        low=0,
        high=100,
        label="Utilization, highest reading",
        source="as util_pct",
        help="The highest driver reading of the span.",
    ),
    Metric(
        name="util_readings",
        unit="",
        dtype="u2",
        kind=Kind.COUNT,
        low=0,
        high=65535,
        label="Utilization readings",
        source="as util_pct",
        help="Number of driver readings behind the mean.",
    ),
    Metric(
        name="util_below1_ratio",
        unit="",
        dtype="u2",
        kind=Kind.GAUGE,
        low=0,
        high=1,
        per_unit=1000,
        label="Share of time below 1 %",
        source="as util_pct",
        help="Share of the span in which the driver's readings were below 1 %.",
    ),
    Metric(
        name="util_watched_ms",
        unit="ms",
        dtype="u4",
        kind=Kind.DELTA,
        low=0,
        high=86_400_000,
        label="Watched time",
        source="as util_pct",
        help="Part of the span that driver readings stand for; the rest took the current reading.",
    ),
    Metric(
        name="enc_pct",
        unit="%",
        dtype="u1",
        kind=Kind.GAUGE,
        low=0,
        high=100,
        is_utilization=True,
        label="Encoder",
        source="nvmlDeviceGetEncoderUtilization",
        help="Video encoder utilization.",
    ),
    Metric(
        name="dec_pct",
        unit="%",
        dtype="u1",
        kind=Kind.GAUGE,
        low=0,
        high=100,
        is_utilization=True,
        label="Decoder",
        source="nvmlDeviceGetDecoderUtilization",
        help="Video decoder utilization.",
    ),
    Metric(
        name="mem_util_pct",
        unit="%",
        dtype="u1",
        kind=Kind.GAUGE,
        low=0,
        high=100,
        label="Memory controller",
        source="nvmlDeviceGetUtilizationRates",
        help="Share of time in which device memory was read or written.",
    ),
    _ACTIVITY(
        name="sm_active_pct",
        label="SM activity",
        source="GPM SM_UTIL (Hopper and later), imported DCGM fields",
        help="Share of streaming multiprocessors with at least one warp, averaged over the span.",
    ),
    _ACTIVITY(
        name="sm_occupancy_pct",
        label="SM occupancy",
        source="GPM SM_OCCUPANCY (Hopper and later)",
        help="Warps that were resident, as a share of the most that the streaming multiprocessors can hold.",
    ),
    _ACTIVITY(
        name="gr_active_pct",
        label="Graphics engine",
        source="GPM GRAPHICS_UTIL (Hopper and later)",
        help="Share of time in which the compute or graphics engine was active; also known where MIG is on.",
    ),
    _ACTIVITY(
        name="tensor_active_pct",
        label="Tensor activity",
        source="GPM ANY_TENSOR_UTIL, imported DCGM fields",
        help="Share of cycles in which the tensor pipes were active.",
    ),
    _ACTIVITY(
        name="dram_active_pct",
        label="DRAM activity",
        source="GPM DRAM_BW_UTIL, imported DCGM fields",
        help="Share of device memory bandwidth in use.",
    ),
    Metric(
        name="mem_used_mib",
        unit="MiB",
        dtype="u4",
        kind=Kind.GAUGE,
        low=0,
        high=4_194_304,
        label="Memory used",
        source="nvmlDeviceGetMemoryInfo_v2.used",
        help="Device memory in use, the driver's reserve apart.",
    ),
    Metric(
        name="mem_reserved_mib",
        unit="MiB",
        dtype="u4",
        kind=Kind.GAUGE,
        low=0,
        high=4_194_304,
        label="Memory reserved by the driver",
        source="nvmlDeviceGetMemoryInfo_v2.reserved",
        help="Device memory kept by driver and firmware.",
    ),
    Metric(
        name="power_w",
        unit="W",
        dtype="u2",
        kind=Kind.GAUGE,
        low=0,
        high=6500,
        per_unit=10,
        label="Power",
        source="nvmlDeviceGetPowerUsage",
        help="Board power; a one-second average from Ampere on, instantaneous before.",
    ),
    Metric(
        name="energy_j",
        unit="J",
        dtype="u4",
        kind=Kind.DELTA,
        low=0,
        high=4_000_000_000,
        label="Energy",
        source="nvmlDeviceGetTotalEnergyConsumption, as a difference",
        help="Energy spent during the span, by the device's own counter.",
    ),
    Metric(
        name="sm_clock_mhz",
        unit="MHz",
        dtype="u2",
        kind=Kind.GAUGE,
        low=0,
        high=10_000,
        label="SM clock",
        source="nvmlDeviceGetClockInfo(SM)",
        help="Clock of the streaming multiprocessors.",
    ),
    Metric(
        name="mem_clock_mhz",
        unit="MHz",
        dtype="u2",
        kind=Kind.GAUGE,
        low=0,
        high=30_000,
        label="Memory clock",
        source="nvmlDeviceGetClockInfo(MEM)",
        help="Clock of the device memory.",
    ),
    Metric(
        name="temp_c",
        unit="°C",
        dtype="i2",
        kind=Kind.GAUGE,
        low=-40,
        high=150,
        label="Temperature",
        source="nvmlDeviceGetTemperatureV, else nvmlDeviceGetTemperature",
        help="GPU die temperature.",
    ),
    Metric(
        name="event_reasons",
        unit="",
        dtype="u4",
        kind=Kind.FLAGS,
        low=0,
        high=4_294_967_294,
        label="Clock event reasons",
        source="nvmlDeviceGetCurrentClocksEventReasons",
        help="Why the clocks are below their maximum: the driver's bit mask at the time of the row.",
    ),
    _MOVED(
        name="pcie_rx_mib",
        label="PCIe, received",
        source="nvmlDeviceGetFieldValues(PCIE_COUNT_RX_BYTES), as a difference; where that wraps, GPM PCIE_RX_PER_SEC",
        help="What the GPU received over PCIe during the span: from the host, the network or another GPU.",
    ),
    _MOVED(
        name="pcie_tx_mib",
        label="PCIe, sent",
        source="nvmlDeviceGetFieldValues(PCIE_COUNT_TX_BYTES), as a difference; where that wraps, GPM PCIE_TX_PER_SEC",
        help="What the GPU sent over PCIe during the span.",
    ),
    _MOVED(
        name="nvlink_rx_mib",
        label="NVLink, received",
        source="nvmlDeviceGetFieldValues(NVLINK_THROUGHPUT_DATA_RX, else NVLINK_COUNT_RCV_BYTES), as a difference",
        help="Data received over all NVLinks of the GPU during the span.",
    ),
    _MOVED(
        name="nvlink_tx_mib",
        label="NVLink, sent",
        source="nvmlDeviceGetFieldValues(NVLINK_THROUGHPUT_DATA_TX, else NVLINK_COUNT_XMIT_BYTES), as a difference",
        help="Data sent over all NVLinks of the GPU during the span.",
    ),
    Metric(
        name="processes",
        unit="",
        dtype="u2",
        kind=Kind.COUNT,
        low=0,
        high=65535,
        label="Compute processes",
        source="nvmlDeviceGetComputeRunningProcesses_v3",
        help="Number of compute processes on the device.",
    ),
)

BY_NAME: dict[str, Metric] = {metric.name: metric for metric in METRICS}

# Columns that say when, where and whose. ``ts_ms`` is the end of the span, UTC epoch milliseconds; ``span_ms`` the time
# the row stands for (back to the row before it, at most 2.5 intervals); ``device`` and ``holding`` index the segment's
# own lists, ``holding`` being NULL where no allocation is known to hold the device.
STRUCTURE: dict[str, Dtype] = {"ts_ms": "i8", "span_ms": "u4", "device": "u2", "holding": "u2"}

# Columns of what a job did on the cores of a node: ``cpu_ms`` of all cores together within ``span_ms``, ``mem_mib`` at
# its end, NULL where memory is not counted. ``holding`` is a position in the segment's list.
HOST: dict[str, Dtype] = {"ts_ms": "i8", "span_ms": "u4", "holding": "u2", "cpu_ms": "u4", "mem_mib": "u4"}

# Reasons for a NULL, as they are stored and shown.
NULL_REASONS: dict[str, str] = {
    "not_supported": "the driver or device does not offer this reading",
    "out_of_range": "the driver returned a value that cannot be",
    "failed": "the driver call failed",
    "gpu_lost": "the GPU did not answer",
    "no_permission": "the agent may not read this",
    "wraps": "the driver's counter begins anew more often than it is read",
}
