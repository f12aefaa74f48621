"""Runs a client command of Slurm: bounded in time and size, times as epoch seconds, one sentence when it fails."""

import contextlib
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Mapping
from typing import Final

MOST_BYTES: Final = 512 << 20  # of one answer; a job takes 4 to 9 KB of squeue's: some 60,000 jobs
_FOR_PEOPLE: Final = ("SQUEUE_", "SACCT_", "SINFO_")  # what a site sets for its users would narrow the answers
_DETAIL_LETTERS: Final = 200
_COMPLAINT_BYTES: Final = 1 << 16


class SlurmProblem(Exception):
    """The command has not answered. The message is one sentence with the next step."""


class SlurmCommand:
    """One program that a probe asks, such as scontrol."""

    def __init__(
        self,
        program: str,
        timeout_s: float,
        *,
        setting: str,
        probe: str,
        look: str,
        environment: Mapping[str, str] | None = None,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        """``setting`` is the key that names the program; ``look`` says where to look when it does not answer."""
        self._program = program
        self._timeout_s = timeout_s
        self._setting = setting
        self._probe = probe
        self._look = look
        self._environment = {"SLURM_TIME_FORMAT": "%s", **(environment or {})}
        self._most_bytes = most_bytes

    def ask(self, *arguments: str) -> bytes:
        """Returns what the command prints; raises SlurmProblem."""
        with tempfile.TemporaryFile() as complaints, self._start(complaints.fileno(), arguments) as process:
            late = threading.Event()

            def give_up() -> None:
                late.set()
                _kill(process)

            timer = threading.Timer(self._timeout_s, give_up)
            timer.start()
            try:
                assert process.stdout is not None  # noqa: S101 - asked for in _start
                output = process.stdout.read(self._most_bytes + 1)
                if len(output) > self._most_bytes:
                    _kill(process)
                    raise SlurmProblem(
                        f"{self._program} answered more than {self._most_bytes >> 20} MiB: take {self._probe} out of "
                        "collector.probes, so long an answer costs Slurm too much"
                    )
                process.wait()
            finally:
                timer.cancel()
            complaints.seek(0)
            complaint = complaints.read(_COMPLAINT_BYTES)
        if late.is_set():
            raise SlurmProblem(f"{self._program} has not answered within {self._timeout_s:g} s: {self._look}")
        if process.returncode:
            raise SlurmProblem(f"{self._program} failed ({process.returncode}): {_last_line(complaint)}; {self._look}")
        return output

    def _start(self, complaints: int, arguments: tuple[str, ...]) -> subprocess.Popen[bytes]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(_FOR_PEOPLE)}
        try:
            return subprocess.Popen(
                [self._program, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=complaints,
                env=inherited | self._environment,
                start_new_session=True,
            )
        except OSError as error:
            raise SlurmProblem(
                f"{self._program} cannot be run ({error.strerror}): install Slurm's client commands here, set "
                f"{self._setting} to its path, or take {self._probe} out of collector.probes"
            ) from error


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):  # it ended by itself meanwhile
        os.killpg(process.pid, signal.SIGKILL)


def _last_line(complaint: bytes) -> str:
    lines = [line.strip() for line in complaint.decode(errors="replace").splitlines() if line.strip()]
    return lines[-1][:_DETAIL_LETTERS] if lines else "it says nothing"
