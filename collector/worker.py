"""A thread for calls that may hang: a driver in trouble never returns, and must not take the daemon with it.

NVML calls have been seen to stay in the kernel for hours. One call is outstanding at a time; what arrives after it was
given up is dropped, so an old reading is never written with a new time.
"""

import queue
import threading
import time
from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")


class Unanswered(Exception):
    """The call has not returned in time. The message says for how long it has been out."""


class _Answer(NamedTuple):
    value: object
    error: BaseException | None


class Worker(Generic[T]):
    """Runs calls on one daemon thread, which does not keep the process from ending."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._calls: queue.SimpleQueue[Callable[[], T]] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[_Answer] = queue.SimpleQueue()
        self._since_s: float | None = None  # when the outstanding call began
        threading.Thread(target=self._serve, name=name, daemon=True).start()

    @property
    def busy(self) -> bool:
        """Whether a call is outstanding whose answer has not been taken."""
        return self._since_s is not None

    def call(self, function: Callable[[], T], timeout_s: float) -> T:
        """Returns what ``function`` returns or raises what it raises; raises Unanswered after ``timeout_s``."""
        if self._since_s is not None and self._take(0.0) is None:
            raise Unanswered(self._sentence())
        self.start(function)
        answer = self._take(timeout_s)
        if answer is None:
            raise Unanswered(self._sentence())
        return self._open(answer)

    def start(self, function: Callable[[], T]) -> None:
        """Begins a call whose answer is taken later; the caller has seen that none is outstanding."""
        self._since_s = time.monotonic()
        self._calls.put(function)

    def finished(self) -> T | None:
        """Returns the answer of the outstanding call, or raises its error; None while it is out."""
        answer = self._take(0.0)
        return None if answer is None else self._open(answer)

    def _sentence(self) -> str:
        waited_s = time.monotonic() - (self._since_s or time.monotonic())
        return f"{self._name} has not answered for {waited_s:.0f} s"

    def _take(self, timeout_s: float) -> _Answer | None:
        try:
            answer = self._answers.get(timeout=timeout_s) if timeout_s > 0 else self._answers.get_nowait()
        except queue.Empty:
            return None
        self._since_s = None
        return answer

    def _open(self, answer: _Answer) -> T:
        if answer.error is not None:
            raise answer.error
        return answer.value  # type: ignore[return-value] # what _serve put there is the T of one call

    def _serve(self) -> None:
        while True:
            function = self._calls.get()
            try:
                answer = _Answer(function(), None)
            except BaseException as error:  # noqa: BLE001 - carried to the caller, who raises it
                answer = _Answer(None, error)
            self._answers.put(answer)
