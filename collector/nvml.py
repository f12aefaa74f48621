"""The driver, through pynvml: every call isolated, every answer a value or the reason why there is none.

Nothing else in the project imports pynvml. Facts about the driver that the code leans on:

- A handle belongs to one nvmlInit. The handle of a GPU that fell off the bus may crash the caller, so it is dropped at
  the first "GPU is lost" and the device is not asked again before it was enumerated anew.
- What a device does not offer it does not offer later either, short of a new enumeration: asked once, then remembered.
- nvmlDeviceGetSamples answers NOT_FOUND when nothing is newer than the time stamp given; its buffer then holds rubbish.
- Memory v2 keeps the driver's reserve apart; v1 adds it to ``used`` (close to 1 GiB on an idle A100).
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, TypeVar

import pynvml

from collector.fields import Answer, FieldBuffer
from collector.readings import DriverLost, DriverMissing, Memory, Reason, Utilization
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
_SAMPLE_FIELDS: Final = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")  # by NVML_VALUE_TYPE

_MISSING_SENTENCES: Final = {
    pynvml.NVML_ERROR_LIBRARY_NOT_FOUND: "there is no NVIDIA driver on this host (libnvidia-ml.so.1 was not found): "
    "install it, or take the gpu probe out of the configuration",
    pynvml.NVML_ERROR_DRIVER_NOT_LOADED: "the NVIDIA kernel module is not loaded: run nvidia-smi as root, or reboot",
    pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH: "the NVIDIA library and kernel module differ in version, as after an "
    "update: reload the module or reboot, then restart the agent",
    pynvml.NVML_ERROR_NO_PERMISSION: "the agent may not open the NVIDIA driver: give its user access to /dev/nvidia*",
}


class ActivityPair:
    """Two of the driver's buffers for GPM samples; the counters are told between the moments of both."""

    def __init__(self) -> None:
        self.older, self.newer = pynvml.nvmlGpmSampleAlloc(), pynvml.nvmlGpmSampleAlloc()
        self.request = pynvml.c_nvmlGpmMetricsGet_t(version=pynvml.NVML_GPM_METRICS_GET_VERSION)

    def free(self) -> None:
        """Gives the buffers back."""
        for sample in (self.older, self.newer):
            pynvml.nvmlGpmSampleFree(sample)


class Gpu:
    """One device of one enumeration: who it is, and one method a reading. Every method returns a value or a Reason."""

    def __init__(self, handle: Any, index: int, driver_version: str | None) -> None:
        self._handle: Any = handle
        self._route: dict[str, int] = {}
        self.device = self._identify(index, driver_version)
        highest = self._ask("limits", lambda h: pynvml.nvmlDeviceGetPowerManagementLimitConstraints(h)[1])
        self.highest_power_w = None if isinstance(highest, Reason) else highest / 1000

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

    def pcie_link(self) -> tuple[int, int] | Reason:
        """Returns generation and lanes of the link, the most that GPU and slot do together."""
        return self._ask(
            "pcie_link",
            lambda h: (pynvml.nvmlDeviceGetMaxPcieLinkGeneration(h), pynvml.nvmlDeviceGetMaxPcieLinkWidth(h)),
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
            uuid=_text(uuid),
            index=index,
            minor=known("minor", pynvml.nvmlDeviceGetMinorNumber),
            pci_bus_id=known("pci", lambda h: _text(pynvml.nvmlDeviceGetPciInfo_v3(h).busId)),
            model=known("model", lambda h: _text(pynvml.nvmlDeviceGetName(h))),
            mem_total_mib=total // MIB if total else None,
            power_limit_w=limit / 1000 if limit else None,
            driver_version=driver_version,
        )


class Enumeration(NamedTuple):
    """The GPUs that answered, and one sentence for each that did not."""

    gpus: tuple[Gpu, ...]
    silent: tuple[str, ...]


def open_driver() -> Enumeration:
    """Opens the driver and enumerates its GPUs; raises DriverMissing. Close it with close_driver."""
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        raise DriverMissing(_MISSING_SENTENCES.get(error.value, f"the NVIDIA driver did not start: {error}")) from error
    try:
        version = _text(pynvml.nvmlSystemGetDriverVersion())
        count = pynvml.nvmlDeviceGetCount()
    except pynvml.NVMLError as error:
        close_driver()
        raise DriverMissing(f"the NVIDIA driver started but does not answer: {error}") from error
    gpus, silent = [], []
    for index in range(count):
        try:
            gpu = Gpu(pynvml.nvmlDeviceGetHandleByIndex(index), index, version)
            if gpu.lost:
                silent.append(f"GPU {index} of {count} was lost while it was identified")
            else:
                gpus.append(gpu)
        except (pynvml.NVMLError, DriverLost) as error:
            silent.append(f"GPU {index} of {count} does not answer: {error}")
    return Enumeration(tuple(gpus), tuple(silent))


def close_driver() -> None:
    """Closes what open_driver opened; a driver that is gone already is no error."""
    try:
        pynvml.nvmlShutdown()
    except pynvml.NVMLError:
        return


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


def _text(value: str | bytes) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else value
