import pynvml
import pytest

from collector.nvml import close_driver, open_driver
from collector.readings import DriverLost, DriverMissing, Memory, Reason
from store.catalog import NULL_REASONS


def test_reasons_are_those_of_the_contract():
    assert {reason.value for reason in Reason} == set(NULL_REASONS)


def only_gpu():
    (gpu,) = open_driver().gpus
    return gpu


def test_a_device_says_who_it_is(fake_nvml):
    fake_nvml.write("count=1\nmodel=h100\ngpu.0.minor=6\ndriver_version=580.95.05\n")
    device = only_gpu().device
    assert device.uuid.startswith("GPU-")
    assert (device.index, device.minor, device.model) == (0, 6, "NVIDIA H100 80GB HBM3")
    assert (device.mem_total_mib, device.power_limit_w, device.driver_version) == (81559, 700.0, "580.95.05")


def test_what_is_not_supported_is_asked_once(fake_nvml):
    fake_nvml.write("count=1\ngpu.0.return.nvmlDeviceGetPowerUsage = NOT_SUPPORTED\n")
    gpu = only_gpu()
    assert [gpu.power_w() for _ in range(5)] == [Reason.NOT_SUPPORTED] * 5
    assert fake_nvml.calls("nvmlDeviceGetPowerUsage") == 1


@pytest.mark.parametrize(("answer", "reason"), [("UNKNOWN", Reason.FAILED), ("NO_PERMISSION", Reason.NO_PERMISSION)])
def test_what_failed_is_asked_again(fake_nvml, answer, reason):
    fake_nvml.write(f"count=1\ngpu.0.return.nvmlDeviceGetPowerUsage = {answer}\n")
    gpu = only_gpu()
    assert gpu.power_w() is reason
    fake_nvml.write("count=1\n")
    assert gpu.power_w() == 70


def test_the_second_way_is_taken_where_the_first_is_not_supported(fake_nvml):
    fake_nvml.write("count=1\nreturn.nvmlDeviceGetTemperatureV = FUNCTION_NOT_FOUND\ngpu.0.temp_gpu = 51\n")
    gpu = only_gpu()
    assert (gpu.temperature_c(), gpu.temperature_c()) == (51, 51)
    assert fake_nvml.calls("nvmlDeviceGetTemperatureV") == 1


def test_one_failing_call_leaves_the_others(fake_nvml):
    fake_nvml.write("count=1\ngpu.0.return.nvmlDeviceGetMemoryInfo = UNKNOWN\n")
    gpu = only_gpu()
    assert gpu.memory() is Reason.FAILED
    assert gpu.power_w() == 70


def test_the_handle_of_a_lost_gpu_is_not_used_again(fake_nvml):
    fake_nvml.write("count=1\n")
    gpu = only_gpu()
    fake_nvml.write("count=1\ngpu.0.lost=1\n")
    assert gpu.power_w() is Reason.GPU_LOST
    fake_nvml.reset()
    assert (gpu.memory(), gpu.processes(), gpu.lost) == (Reason.GPU_LOST, Reason.GPU_LOST, True)
    assert fake_nvml.calls() == 0


def test_memory_leaves_the_drivers_reserve_apart(fake_nvml):
    fake_nvml.write("count=1\ngpu.0.mem_reserved=551MiB\ngpu.0.mem_used=12MiB\n")
    assert only_gpu().memory() == Memory(used=12, reserved=551)


def test_memory_of_no_size_is_unknown(fake_nvml):
    fake_nvml.write("count=1\ngpu.0.mem_total=0\ngpu.0.mem_reserved=0\ngpu.0.mem_used=0\n")
    gpu = only_gpu()
    assert gpu.memory() is Reason.NOT_SUPPORTED
    assert gpu.device.mem_total_mib is None


def test_process_memory_that_is_not_available_is_none(fake_nvml):
    fake_nvml.write("count=1\ngpu.0.proc.0 = pid=77 type=C mem=N/A\ngpu.0.proc.1 = pid=78 type=C mem=2GiB\n")
    assert only_gpu().processes() == [(77, None), (78, 2048)]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("DRIVER_NOT_LOADED", "kernel module is not loaded"),
        ("LIB_RM_VERSION_MISMATCH", "restart the agent"),
        ("NO_PERMISSION", "/dev/nvidia"),
        ("LIBRARY_NOT_FOUND", "no NVIDIA driver on this host"),
        ("UNKNOWN", "did not start"),
    ],
)
def test_no_driver_is_one_sentence(fake_nvml, answer, words):
    fake_nvml.write(f"return.nvmlInit = {answer}\n")
    with pytest.raises(DriverMissing, match=words):
        open_driver()


def test_a_driver_that_counts_no_devices_is_closed_again(fake_nvml):
    fake_nvml.write("return.nvmlDeviceGetCount = UNKNOWN\n")
    with pytest.raises(DriverMissing, match="does not answer"):
        open_driver()
    with pytest.raises(pynvml.NVMLError_Uninitialized):
        pynvml.nvmlShutdown()


def test_a_gpu_without_a_handle_leaves_the_others(fake_nvml):
    fake_nvml.write("count=4\ngpu.2.return.nvmlDeviceGetHandle = UNKNOWN\n")
    found = open_driver()
    assert [gpu.device.index for gpu in found.gpus] == [0, 1, 3]
    assert found.silent == ("GPU 2 of 4 does not answer: Unknown Error",)


def test_a_driver_that_is_unloaded_is_noticed(fake_nvml):
    fake_nvml.write("count=1\n")
    gpu = only_gpu()
    close_driver()
    with pytest.raises(DriverLost):
        gpu.power_w()


def test_closing_a_driver_that_is_gone_is_no_error(fake_nvml):
    close_driver()
    close_driver()
