import pynvml


def test_fixture_gives_eight_gpus(fake_nvml):
    fake_nvml.write("gpu.1.power_usage_mw = 123000\n")
    pynvml.nvmlInit()
    assert pynvml.nvmlDeviceGetCount() == 8
    assert pynvml.nvmlDeviceGetPowerUsage(pynvml.nvmlDeviceGetHandleByIndex(1)) == 123000
    assert fake_nvml.called()["nvmlDeviceGetPowerUsage"] == 1
