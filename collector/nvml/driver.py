"""Opening the driver, and who is there: GPUs, and the MIG instances that they are cut into."""

from typing import Final, NamedTuple

import pynvml

from collector.nvml.gpu import Gpu, text
from collector.readings import DriverLost, DriverMissing

_MISSING_SENTENCES: Final = {
    pynvml.NVML_ERROR_LIBRARY_NOT_FOUND: "there is no NVIDIA driver on this host (libnvidia-ml.so.1 was not found): "
    "install it, or take the gpu probe out of the configuration",
    pynvml.NVML_ERROR_DRIVER_NOT_LOADED: "the NVIDIA kernel module is not loaded: run nvidia-smi as root, or reboot",
    pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH: "the NVIDIA library and kernel module differ in version, as after an "
    "update: reload the module or reboot, then restart the agent",
    pynvml.NVML_ERROR_NO_PERMISSION: "the agent may not open the NVIDIA driver: give its user access to /dev/nvidia*",
}


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
        version = text(pynvml.nvmlSystemGetDriverVersion())
        count = pynvml.nvmlDeviceGetCount()
    except pynvml.NVMLError as error:
        close_driver()
        raise DriverMissing(f"the NVIDIA driver started but does not answer: {error}") from error
    gpus: list[Gpu] = []
    silent: list[str] = []
    for index in range(count):
        try:
            gpu = Gpu(pynvml.nvmlDeviceGetHandleByIndex(index), index, version)
            if gpu.lost:
                silent.append(f"GPU {index} of {count} was lost while it was identified")
            else:
                gpus += [gpu, *_instances(gpu, version)]
        except (pynvml.NVMLError, DriverLost) as error:
            silent.append(f"GPU {index} of {count} does not answer: {error}")
    return Enumeration(tuple(gpus), tuple(silent))


def _instances(gpu: Gpu, version: str) -> list[Gpu]:
    """Returns the MIG instances of a GPU that can be identified."""
    if not gpu.is_in_mig_mode():
        return []
    found = [Gpu(handle, 0, version, gpu) for handle in gpu.instances().values()]
    return [instance for instance in found if not instance.lost]


def close_driver() -> None:
    """Closes what open_driver opened; a driver that is gone already is no error."""
    try:
        pynvml.nvmlShutdown()
    except pynvml.NVMLError:
        return
