"""The generator as a child process: prepared first, let go when its starter is."""

import select
import subprocess
import sys
from pathlib import Path
from typing import Final, Self

import msgspec

from benchmarks.load.deliver import Delivered, Order

ROOT: Final = Path(__file__).resolve().parents[2]


class Generator:
    """A context manager, inside which the generator is ready; ended by its pid."""

    def __init__(self, order: Order) -> None:
        self._order = order

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "benchmarks.load.generator"]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, encoding="utf-8"
        )
        self._say(msgspec.json.encode(self._order).decode())
        if self._hear() != "ready":
            raise RuntimeError("The generator of load ended before it was ready.")
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def go(self) -> None:
        """Begin to deliver."""
        self._say("go")

    def done(self) -> Delivered:
        """Wait until all is acknowledged."""
        line = self._hear()
        if not line:
            raise RuntimeError(f"The generator of load ended before it was done ({self._process.wait()}).")
        return msgspec.json.decode(line, type=Delivered)

    def is_done(self, wait_s: float) -> bool:
        """Wait so long at most; returns whether :meth:`done` returns at once."""
        assert self._process.stdout is not None
        return bool(select.select([self._process.stdout], [], [], wait_s)[0])

    def _say(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def _hear(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()
