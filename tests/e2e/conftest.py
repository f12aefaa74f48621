"""Fixtures of the end-to-end tests; every process that a test starts ends with it."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.browser import CHROMIUM, Chromium
from tests.e2e.ledger import Running
from tests.fakenvml.building import obstacle


@pytest.fixture(scope="module")
def chromium() -> Iterator[Chromium]:
    """A browser for the tests of one module: Playwright's loop must not outlive them on this worker."""
    if not Path(CHROMIUM).exists():
        pytest.skip(f"{CHROMIUM} is not there: apt install chromium")
    with Chromium.started() as browser:
        yield browser


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Running]]:
    """Starts commands that go on; each is ended when the test is."""
    running: list[Running] = []

    def started(*arguments: object, **how: Any) -> Running:
        running.append(Running(tmp_path / f"log-{len(running)}", *arguments, **how))
        return running[-1]

    yield started
    for each in running:
        each.end()


@pytest.fixture(scope="session")
def stand_in() -> None:
    """Skips where the stand-in for the driver's library cannot be built."""
    if reason := obstacle():
        pytest.skip(reason)


@pytest.fixture(scope="session")
def mounts() -> None:
    """Skips what mounts a small disk where that is not allowed."""
    tried = subprocess.run(["unshare", "--mount", "true"], capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip(f"A private mount namespace cannot be made here: {tried.stderr.strip()}")
