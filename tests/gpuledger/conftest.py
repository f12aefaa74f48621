"""Fixtures of the tests of the composition root."""

import signal
from collections.abc import Iterator

import pytest

MOST_S = 60


@pytest.fixture
def in_time() -> Iterator[None]:
    """Ends a test whose command does not refuse but begins to serve, in this process."""

    def out_of_time(*_: object) -> None:
        raise TimeoutError(f"the command did not end within {MOST_S} s")

    before = signal.signal(signal.SIGALRM, out_of_time)
    signal.alarm(MOST_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(autouse=True)
def quick_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a stand-in GPU says does not depend on how long it is looked at; commands look for a second."""
    monkeypatch.setattr("collector.runner._ONCE_SPAN_S", 0.12)  # samples of GPM lie 0.1 s apart
