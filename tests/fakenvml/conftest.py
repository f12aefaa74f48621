"""What the tests of the stand-in share: NVML initialised on a stopped clock."""

from collections.abc import Callable
from typing import Any

import pynvml
import pytest

from tests.fakenvml import Fake


@pytest.fixture
def nvml(fake_nvml: Fake) -> Fake:
    fake_nvml.write("clock_s=1000000")
    pynvml.nvmlInit()
    return fake_nvml


@pytest.fixture
def gpu(nvml: Fake) -> Callable[..., Any]:
    """Return what finds the handle of a GPU by its index, the first one by default."""

    def handle(index: int = 0) -> Any:
        return pynvml.nvmlDeviceGetHandleByIndex(index)

    return handle
