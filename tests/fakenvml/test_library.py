import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pynvml
import pytest

from tests.fakenvml import Fake, build, building, child_env, write_scenario

Gpu = Callable[..., Any]
INIT_ERRORS = {
    "DRIVER_NOT_LOADED": pynvml.NVMLError_DriverNotLoaded,
    "LIB_RM_VERSION_MISMATCH": pynvml.NVMLError_LibRmVersionMismatch,
    "NO_PERMISSION": pynvml.NVMLError_NoPermission,
}


@pytest.mark.parametrize("name", INIT_ERRORS)
def test_init_errors(fake_nvml: Fake, name: str) -> None:
    fake_nvml.write(f"return.nvmlInit = {name}")
    with pytest.raises(INIT_ERRORS[name]):
        pynvml.nvmlInit()
    with pytest.raises(INIT_ERRORS[name]):
        pynvml.nvmlInitWithFlags(0)


def test_init_is_counted(fake_nvml: Fake) -> None:
    with pytest.raises(pynvml.NVMLError_Uninitialized):
        pynvml.nvmlDeviceGetCount()
    pynvml.nvmlInit()
    pynvml.nvmlInit()
    pynvml.nvmlShutdown()
    assert pynvml.nvmlDeviceGetCount() == 8
    pynvml.nvmlShutdown()
    for call in (pynvml.nvmlDeviceGetCount, pynvml.nvmlShutdown):
        with pytest.raises(pynvml.NVMLError_Uninitialized):
            call()


def test_system(nvml: Fake) -> None:
    nvml.write("driver_version=570.1\nnvml_version=12.570.1\ncuda_version=12080")
    assert (pynvml.nvmlSystemGetDriverVersion(), pynvml.nvmlSystemGetNVMLVersion()) == ("570.1", "12.570.1")
    assert (pynvml.nvmlSystemGetCudaDriverVersion(), pynvml.nvmlSystemGetCudaDriverVersion_v2()) == (12080, 12080)
    assert pynvml.nvmlErrorString(15) == "GPU is lost"
    assert "python" in pynvml.nvmlSystemGetProcessName(os.getpid())
    with pytest.raises(pynvml.NVMLError_NotFound):
        pynvml.nvmlSystemGetProcessName(2**22 + 5)


def test_count_is_fixed_at_init_unless_said_otherwise(nvml: Fake, gpu: Gpu) -> None:
    nvml.write("count=3")
    assert pynvml.nvmlDeviceGetCount() == 8
    pynvml.nvmlShutdown()
    pynvml.nvmlInit()
    assert pynvml.nvmlDeviceGetCount() == 3
    with pytest.raises(pynvml.NVMLError_InvalidArgument):
        gpu(3)
    for count in (5, 0):
        nvml.write(f"count={count}\ncount_latch=0")
        assert pynvml.nvmlDeviceGetCount() == count


def test_child_process_needs_only_the_environment(tmp_path: Path) -> None:
    scenario = tmp_path / "scenario"
    write_scenario(scenario, "count=2\ngpu.*.name=Child GPU")
    script = (
        "import pynvml as p; p.nvmlInit(); "
        "print(p.nvmlDeviceGetCount(), p.nvmlDeviceGetName(p.nvmlDeviceGetHandleByIndex(1)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, **child_env(scenario)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == "2 Child GPU", done.stderr


def test_the_rest_of_nvml_h_is_exported(nvml: Fake, gpu: Gpu) -> None:
    with pytest.raises(pynvml.NVMLError_NotSupported):
        pynvml.nvmlDeviceGetCurrentDriverModel(gpu())
    assert [name for name in dir(pynvml) if name.startswith("nvmlDeviceGet") and is_missing(name, gpu())] == []
    nvml.write("return.nvmlDeviceGetDriverModel=UNKNOWN")
    with pytest.raises(pynvml.NVMLError_Unknown):
        pynvml.nvmlDeviceGetCurrentDriverModel(gpu())


def test_an_older_driver_lacks_a_function(nvml: Fake, gpu: Gpu) -> None:
    nvml.write("return.nvmlDeviceGetPowerUsage=FUNCTION_NOT_FOUND")
    with pytest.raises(pynvml.NVMLError_FunctionNotFound):
        pynvml.nvmlDeviceGetPowerUsage(gpu())


def test_it_is_compiled_again_only_when_a_source_changed(fake_nvml: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[object] = []
    monkeypatch.setattr(building, "_compile", lambda *arguments: compiled.append(arguments))
    assert build().exists()
    assert compiled == []


def is_missing(name: str, handle: Any) -> bool:
    try:
        getattr(pynvml, name)(handle)
    except TypeError:  # it wants more arguments than a handle
        return False
    except pynvml.NVMLError as error:
        return bool(error.value == pynvml.NVML_ERROR_FUNCTION_NOT_FOUND)
    return False
