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
def gpu(nvml: Fake) -> Callable[[int], Any]:
    """Return the handle of a GPU by index."""
    return lambda index=0: pynvml.nvmlDeviceGetHandleByIndex(index)
