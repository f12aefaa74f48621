"""`gpuledger` as a child process: a command that ends, or a hub that runs until it is told to stop."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-c", "from gpuledger.cli import main; main()")
START_S = 60.0  # two cores, shared with the rest of the tests
STOP_S = 20.0


def until(what: str, done: Callable[[], Any], timeout_s: float = START_S, every_s: float = 0.05) -> Any:
    """Returns the first true answer of ``done``; fails with ``what`` after ``timeout_s``."""
    deadline = time.monotonic() + timeout_s
    pause = threading.Event()
    while not (found := done()):
        assert time.monotonic() < deadline, f"still not after {timeout_s:g} s: {what}"
        pause.wait(every_s)
    return found


def run(*arguments: object, env: Mapping[str, str] | None = None, timeout_s: float = START_S) -> Any:
    """Runs a command to its end; returns its exit code and what it said."""
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        cwd=ROOT,
        env=_environment(env),
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )


def _environment(more: Mapping[str, str] | None) -> dict[str, str]:
    """Returns the environment without a site's own configuration of the caller."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM_", "NOTIFY_"))}
    return kept | dict(more or {})


def write_config(path: Path, **sections: Mapping[str, Any]) -> Path:
    """Writes a configuration; a section's name may hold dots as ``__``."""
    lines = []
    for section, values in sections.items():
        lines.append(f"[{section.replace('__', '.')}]")
        lines += [f"{key} = {json.dumps(value)}" for key, value in values.items()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


class Running:
    """A command that goes on: its log is in a file, its address is known once it said so."""

    def __init__(
        self,
        log: Path,
        *arguments: object,
        env: Mapping[str, str] | None = None,
        command: Sequence[str] = COMMAND,
    ) -> None:
        self.log = log
        with log.open("ab") as file:
            self.process = subprocess.Popen(
                [*command, *map(str, arguments)],
                cwd=ROOT,
                env=_environment(env) | {"PYTHONUNBUFFERED": "1"},
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
            )

    @property
    def said(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")

    @property
    def address(self) -> str:
        """The address that the hub gave; waits until it is there."""
        return str(until(f"no address in\n{self.said}", self._address))

    def _address(self) -> str | None:
        assert self.process.poll() is None, self.said
        found = re.findall(r"on (https?://[^, ]+),", self.said)
        return found[-1] if found else None

    def json(self, path: str) -> Any:
        status, body = fetch(self.address + path)
        assert status == 200, body
        return json.loads(body)

    def stop(self, number: int = signal.SIGTERM, timeout_s: float = STOP_S) -> int:
        """Sends a signal and returns the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(timeout_s)

    def end(self) -> None:
        """Ends the process whatever it does: for clearing up."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


def fetch(url: str, data: bytes | None = None, **headers: str) -> tuple[int, bytes]:
    """Returns status and body of a GET, or of a POST where there is data. No proxy is asked."""
    request = urllib.request.Request(url, data, {name.replace("_", "-"): value for name, value in headers.items()})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=30) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()
