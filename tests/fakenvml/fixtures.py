"""The pytest fixture `fake_nvml`: the stand-in library in this process, on a scenario file of the test's own."""

from collections.abc import Iterator
from pathlib import Path

import pynvml
import pytest

from tests.fakenvml import Fake
from tests.fakenvml.building import obstacle


@pytest.fixture
def fake_nvml(tmp_path: Path) -> Iterator[Fake]:
    """Yield the stand-in, on eight idle H100 and with no call counted; afterwards NVML is shut down again."""
    if reason := obstacle():
        pytest.skip(reason)
    fake = Fake(tmp_path / "nvml-scenario")
    fake.reset()
    yield fake
    fake.write("")
    # nvmlInit counts references: a test that failed half-way must not leave its own for the next one.
    while True:
        try:
            pynvml.nvmlShutdown()
        except pynvml.NVMLError_Uninitialized:
            return
