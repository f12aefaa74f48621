"""One device of the driver: a GPU, or a MIG instance of one."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final, TypeVar

import pynvml

from collector.fields import Answer, Field, FieldBuffer
from collector.links import nvlink_mib_s, pcie_mib_s
from collector.readings import DriverLost, Memory, Reason, Utilization
from store.segment import Device

T = TypeVar("T")
MIB: Final = 1024 * 1024
_UNSUPPORTED: Final = frozenset(
    {pynvml.NVML_ERROR_NOT_SUPPORTED, pynvml.NVML_ERROR_FUNCTION_NOT_FOUND, pynvml.NVML_ERROR_ARGUMENT_VERSION_MISMATCH}
)
_LOST: Final = frozenset(
    {pynvml.NVML_ERROR_GPU_IS_LOST, pynvml.NVML_ERROR_RESET_REQUIRED, pynvml.NVML_ERROR_GPU_NOT_FOUND}
)
_DRIVER_GONE: Final = frozenset({pynvml.NVML_ERROR_UNINITIALIZED, pynvml.NVML_ERROR_DRIVER_NOT_LOADED})
# Of a single field, a driver that has never heard of it says the latter.
_NO_FIELD: Final = _UNSUPPORTED | {pynvml.NVML_ERROR_INVALID_ARGUMENT}
# How many NVLinks there are, and the MB/s of each: of all at once, and since NVLink 5 of one by its number.
_LINK_FIELDS: Final = (
    Field(pynvml.NVML_FI_DEV_NVLINK_LINK_COUNT),
    Field(pynvml.NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON),
    Field(pynvml.NVML_FI_DEV_NVLINK_GET_SPEED, 0),
)
_SAMPLE_FIELDS: Final = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")  # by NVML_VALUE_TYPE


class ActivityPair:
    """Two of the driver's buffers for GPM samples; the counters are told between the moments of both."""

    def __init__(self) -> None:
        self.older, self.newer = pynvml.nvmlGpmSampleAlloc(), pynvml.nvmlGpmSampleAlloc()
        self.request = pynvml.c_nvmlGpmMetricsGet_t(version=pynvml.NVML_GPM_METRICS_GET_VERSION)

    def free(self) -> None:
        """Gives the buffers back, also to a driver that has been closed meanwhile."""
        for sample in (self.older, self.newer):
            with suppress(pynvml.NVMLError):
                pynvml.nvmlGpmSampleFree(sample)


class Gpu:
    """One device of one enumeration: who it is, and one method a reading. Every method returns a value or a Reason."""

    def __init__(self, handle: Any, index: int, driver_version: str | None, parent: "Gpu | None" = None) -> None:
        """``parent``: the GPU that the device is a MIG instance of."""
        self._handle: Any = handle
        self._route: dict[str, int] = {}
        self.device = self._identify(index, driver_version) if parent is None else self._identify_instance(parent)
        highest = self._ask("limits", lambda h: pynvml.nvmlDeviceGetPowerManagementLimitConstraints(h)[1])
        self.highest_power_w = None if isinstance(highest, Reason) else highest / 1000

    @property
    def is_instance(self) -> bool:
        """Whether the device is a MIG instance."""
        return self.device.parent_uuid is not None

    @property
    def lost(self) -> bool:
        """Whether the device stopped answering; it is then not asked again."""
        return self._handle is None

    def samples(self, since_us: int) -> list[tuple[int, float]] | Reason:
        """Returns the buffered utilization readings newer than ``since_us``: (driver's time in us, percent)."""
        return self._ask("samples", lambda handle: _samples(handle, since_us))

    def utilization(self) -> Utilization | Reason:
        """Returns the current reading: share of time with a kernel running, and with memory traffic."""
        rates = self._ask("utilization", pynvml.nvmlDeviceGetUtilizationRates)
        return rates if isinstance(rates, Reason) else Utilization(rates.gpu, rates.memory)

    def is_in_mig_mode(self) -> bool:
        """Returns whether the GPU is cut into MIG instances now; it can be switched while the driver is open."""
        mode = self._ask("mig_mode", lambda h: pynvml.nvmlDeviceGetMigMode(h)[0])
        return not isinstance(mode, Reason) and bool(mode == pynvml.NVML_DEVICE_MIG_ENABLE)

    def most_instances(self) -> int:
        """Returns how many MIG instances the GPU can be cut into at most, which is how many slices it has."""
        most = self._ask("mig_most", pynvml.nvmlDeviceGetMaxMigDeviceCount)
        return 0 if isinstance(most, Reason) else int(most)

    def instances(self) -> dict[str, Any]:
        """Returns the handles of the MIG instances that the GPU is cut into now, by UUID."""
        slots = (self._ask("mig_slot", partial(_instance, slot=slot)) for slot in range(self.most_instances()))
        return dict(found for found in slots if isinstance(found, tuple))

    def memory(self) -> Memory | Reason:
        """Returns memory v2. A total of 0 (integrated memory, such as on GB10) means that it cannot be told."""
        info = self._ask("memory", lambda h: pynvml.nvmlDeviceGetMemoryInfo(h, version=pynvml.nvmlMemory_v2))
        if isinstance(info, Reason):
            return info
        if info.total == 0:
            return Reason.NOT_SUPPORTED
        return Memory(info.used // MIB, info.reserved // MIB) if info.used <= info.total else Reason.OUT_OF_RANGE

    def power_w(self) -> float | Reason:
        power = self._ask("power", pynvml.nvmlDeviceGetPowerUsage)
        return power if isinstance(power, Reason) else power / 1000

    def energy_mj(self) -> int | Reason:
        """Returns the energy counter: millijoules since the driver was loaded."""
        return self._ask("energy", pynvml.nvmlDeviceGetTotalEnergyConsumption)

    def encoder_pct(self) -> int | Reason:
        return self._ask("encoder", lambda h: pynvml.nvmlDeviceGetEncoderUtilization(h)[0])

    def decoder_pct(self) -> int | Reason:
        return self._ask("decoder", lambda h: pynvml.nvmlDeviceGetDecoderUtilization(h)[0])

    def sm_clock_mhz(self) -> int | Reason:
        return self._ask("sm_clock", lambda h: pynvml.nvmlDeviceGetClockInfo(h, pynvml.NVML_CLOCK_SM))

    def mem_clock_mhz(self) -> int | Reason:
        return self._ask("mem_clock", lambda h: pynvml.nvmlDeviceGetClockInfo(h, pynvml.NVML_CLOCK_MEM))

    def temperature_c(self) -> int | Reason:
        return self._ask(
            "temperature",
            lambda h: pynvml.nvmlDeviceGetTemperatureV(h, pynvml.NVML_TEMPERATURE_GPU),
            lambda h: pynvml.nvmlDeviceGetTemperature(h, pynvml.NVML_TEMPERATURE_GPU),
        )

    def event_reasons(self) -> int | Reason:
        """Returns the bit mask of what holds the clocks down; drivers before 535 know it as throttle reasons."""
        return self._ask(
            "event_reasons",
            pynvml.nvmlDeviceGetCurrentClocksEventReasons,
            pynvml.nvmlDeviceGetCurrentClocksThrottleReasons,
        )

    def activity_pair(self) -> ActivityPair | Reason:
        """Returns buffers for GPM where the device has it (Hopper and later), its first sample taken."""
        support = self._ask("gpm", lambda h: pynvml.nvmlGpmQueryDeviceSupport(h).isSupportedDevice)
        if isinstance(support, Reason) or not support:
            return support or Reason.NOT_SUPPORTED
        pair = ActivityPair()
        taken = self._ask("gpm_sample", lambda h: pynvml.nvmlGpmSampleGet(h, pair.newer))
        if isinstance(taken, Reason):
            pair.free()
            return taken
        return pair

    def activity(self, pair: ActivityPair, metrics: Sequence[int]) -> list[float | Reason] | Reason:
        """Takes a sample and returns NVML_GPM_METRIC_* since the one before it, which must be 0.1 s old at least."""
        taken = self._ask("gpm_sample", lambda h: pynvml.nvmlGpmSampleGet(h, pair.older))
        if isinstance(taken, Reason):
            return taken
        pair.older, pair.newer = pair.newer, pair.older
        told = self._ask("gpm_metrics", lambda _: _between(pair, metrics))
        if isinstance(told, Reason):
            return told
        return [value if code == pynvml.NVML_SUCCESS else self._of_field(code) for code, value in told]

    def fields(self, buffer: FieldBuffer) -> list[Answer | Reason] | Reason:
        """Fills the buffer in one call and returns its answers; one that is of no use is the reason for that."""
        refused = self._ask("fields", lambda handle: _fill(handle, buffer))
        if isinstance(refused, Reason):
            return refused
        told = buffer.answers()
        return [answer if answer.code == pynvml.NVML_SUCCESS else self._of_field(answer.code) for answer in told]

    def processes(self) -> list[tuple[int, int | None]] | Reason:
        """Returns (pid, memory in MiB or None where the driver does not say) of the compute processes."""
        listed = self._ask("processes", pynvml.nvmlDeviceGetComputeRunningProcesses_v3)
        if isinstance(listed, Reason):
            return listed
        return [(p.pid, _sensible_mib(p.usedGpuMemory)) for p in listed]

    def _ask(self, what: str, *calls: Callable[[Any], T]) -> T | Reason:
        """Returns the answer of the first call that the device supports, and remembers which one that was."""
        if self._handle is None:
            return Reason.GPU_LOST
        for position in range(self._route.get(what, 0), len(calls)):
            try:
                return calls[position](self._handle)
            except pynvml.NVMLError as error:
                if error.value not in _UNSUPPORTED:
                    return self._reason(error)
                self._route[what] = position + 1
        return Reason.NOT_SUPPORTED

    def _reason(self, error: Any) -> Reason:
        if error.value in _DRIVER_GONE:
            raise DriverLost(f"the NVIDIA driver is gone: {error}") from error
        return self._of_code(error.value)

    def _of_code(self, code: int) -> Reason:
        """Returns what a return code means that is not success."""
        if code in _LOST:
            self._handle = None
            return Reason.GPU_LOST
        return Reason.NO_PERMISSION if code == pynvml.NVML_ERROR_NO_PERMISSION else Reason.FAILED

    def _of_field(self, code: int) -> Reason:
        return Reason.NOT_SUPPORTED if code in _NO_FIELD else self._of_code(code)

    def _identify(self, index: int, driver_version: str | None) -> Device:
        def known(what: str, *calls: Callable[[Any], T]) -> T | None:
            answer = self._ask(what, *calls)
            return None if isinstance(answer, Reason) else answer

        uuid = pynvml.nvmlDeviceGetUUID(self._handle)  # without it the device is not usable: the caller hears why
        total = known(
            "total",
            lambda h: pynvml.nvmlDeviceGetMemoryInfo(h, version=pynvml.nvmlMemory_v2).total,
            lambda h: pynvml.nvmlDeviceGetMemoryInfo(h).total,
        )
        limit = known("limit", pynvml.nvmlDeviceGetEnforcedPowerLimit)
        return Device(
            uuid=text(uuid),
            index=index,
            minor=known("minor", pynvml.nvmlDeviceGetMinorNumber),
            pci_bus_id=known("pci", lambda h: text(pynvml.nvmlDeviceGetPciInfo_v3(h).busId)),
            model=known("model", lambda h: text(pynvml.nvmlDeviceGetName(h))),
            mem_total_mib=total // MIB if total else None,
            power_limit_w=limit / 1000 if limit else None,
            driver_version=driver_version,
            pcie_mib_s=self._pcie_mib_s(),
            nvlink_mib_s=self._nvlink_mib_s(),
        )

    def _pcie_mib_s(self) -> int | None:
        generation = self._ask("pcie_generation", pynvml.nvmlDeviceGetMaxPcieLinkGeneration)
        lanes = self._ask("pcie_width", pynvml.nvmlDeviceGetMaxPcieLinkWidth)
        return None if isinstance(generation, Reason) or isinstance(lanes, Reason) else pcie_mib_s(generation, lanes)

    def _nvlink_mib_s(self) -> int | None:
        told = self.fields(FieldBuffer(_LINK_FIELDS))
        if isinstance(told, Reason) or isinstance(told[0], Reason):
            return None
        speeds = [int(answer.value) for answer in told[1:] if isinstance(answer, Answer)]
        return nvlink_mib_s(int(told[0].value), max(speeds, default=0))

    def _identify_instance(self, parent: "Gpu") -> Device:
        total = self._ask("total", lambda h: pynvml.nvmlDeviceGetMemoryInfo(h).total)
        counted = self._ask("slices", lambda h: pynvml.nvmlDeviceGetAttributes(h).computeInstanceSliceCount)
        model = self._ask("model", lambda h: text(pynvml.nvmlDeviceGetName(h)))
        of = parent.most_instances()
        slices = 1 if isinstance(counted, Reason) or not 0 < counted <= of else int(counted)
        return Device(
            uuid=text(pynvml.nvmlDeviceGetUUID(self._handle)),
            index=parent.device.index,
            model=parent.device.model if isinstance(model, Reason) else model,
            mem_total_mib=None if isinstance(total, Reason) else total // MIB or None,
            slices=slices,
            slices_of=max(1, of),
            parent_uuid=parent.device.uuid,
            driver_version=parent.device.driver_version,
        )


def _instance(handle: Any, slot: int) -> tuple[str, Any] | None:
    try:
        found = pynvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, slot)
        return text(pynvml.nvmlDeviceGetUUID(found)), found
    except pynvml.NVMLError_NotFound:  # nothing in this slot
        return None


def _between(pair: ActivityPair, metrics: Sequence[int]) -> list[tuple[int, float]]:
    request = pair.request
    request.sample1, request.sample2, request.numMetrics = pair.older, pair.newer, len(metrics)
    for place, metric in enumerate(metrics):
        request.metrics[place].metricId = metric
    pynvml.nvmlGpmMetricsGet(request)
    return [(told.nvmlReturn, told.value) for told in request.metrics[: len(metrics)]]


def _fill(handle: Any, buffer: FieldBuffer) -> None:
    call = pynvml._nvmlGetFunctionPointer("nvmlDeviceGetFieldValues")  # noqa: SLF001 - see collector.fields
    pynvml._nvmlCheckReturn(call(handle, len(buffer.fields), buffer.memory))  # noqa: SLF001


def _samples(handle: Any, since_us: int) -> list[tuple[int, float]]:
    try:
        kind, samples = pynvml.nvmlDeviceGetSamples(handle, pynvml.NVML_GPU_UTILIZATION_SAMPLES, since_us)
    except pynvml.NVMLError_NotFound:
        return []
    field = _SAMPLE_FIELDS[kind] if kind < len(_SAMPLE_FIELDS) else "uiVal"
    return [(sample.timeStamp, getattr(sample.sampleValue, field)) for sample in samples]


def _sensible_mib(used_bytes: int | None) -> int | None:
    # 2^64-1, or anything in its neighbourhood, is the driver's "not available" (WDDM, MIG without permission).
    return None if used_bytes is None or used_bytes >= 1 << 62 else used_bytes // MIB


def text(value: str | bytes) -> str:
    """Returns what the driver calls something: bytes in older versions of the binding."""
    return value.decode(errors="replace") if isinstance(value, bytes) else value
