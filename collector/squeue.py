"""Runs squeue, which asks slurmctld one question (JOB_INFO) for the whole cluster.

Bounded in time and size; one sentence when it fails.
"""

import contextlib
import os
import signal
import subprocess
import tempfile
import threading
from typing import Final

from store.formats import squeue

MOST_BYTES: Final = 512 << 20  # a job takes 4 to 9 KB: some 60,000 jobs
_ENVIRONMENT: Final = {
    "SLURM_BITSTR_LEN": "0",  # else a long list of an array's tasks is broken off after 64 letters
    "SLURM_TIME_FORMAT": "%s",
}
_SETTINGS_OF_A_USER: Final = ("SQUEUE_", "SLURM_CLUSTERS")  # in the environment they would narrow the answer
_DETAIL_LETTERS: Final = 200


class SqueueProblem(Exception):
    """squeue has not answered. The message is one sentence with the next step."""


class Squeue:
    """Asks for the whole queue."""

    def __init__(self, command: str, timeout_s: float, most_bytes: int = MOST_BYTES) -> None:
        """``command`` is the program's name or path; each call of it may take ``timeout_s``."""
        self._command = command
        self._timeout_s = timeout_s
        self._most_bytes = most_bytes

    def queue(self, cluster: str) -> squeue.Queue:
        """Returns the queue as it is now; raises SqueueProblem."""
        data = self._call("--json")
        try:
            return squeue.parse(data, cluster)
        except squeue.NoQueue as error:
            raise SqueueProblem(
                f"{self._command} --json gives no queue: {error}; it needs Slurm 21.08 or later, built with JSON"
            ) from error

    def _call(self, *arguments: str) -> bytes:
        with tempfile.TemporaryFile() as complaints, self._start(complaints.fileno(), arguments) as process:
            late = threading.Event()

            def give_up() -> None:
                late.set()
                _kill(process)

            timer = threading.Timer(self._timeout_s, give_up)
            timer.start()
            try:
                assert process.stdout is not None  # noqa: S101 - asked for below
                output = process.stdout.read(self._most_bytes + 1)
                if len(output) > self._most_bytes:
                    _kill(process)
                    raise SqueueProblem(
                        f"{self._command} answered more than {self._most_bytes >> 20} MiB: take queue out of "
                        "collector.probes, such a queue costs slurmctld too much"
                    )
                process.wait()
            finally:
                timer.cancel()
            complaints.seek(0)
            complaint = complaints.read(1 << 16)
        if late.is_set():
            raise SqueueProblem(
                f"{self._command} has not answered within {self._timeout_s:g} s: see whether slurmctld answers "
                "(scontrol ping)"
            )
        if process.returncode:
            raise SqueueProblem(
                f"{self._command} failed ({process.returncode}): {_last_line(complaint)}; see whether slurmctld "
                "answers (scontrol ping)"
            )
        return output

    def _start(self, complaints: int, arguments: tuple[str, ...]) -> subprocess.Popen[bytes]:
        own = {name: value for name, value in os.environ.items() if not name.startswith(_SETTINGS_OF_A_USER)}
        try:
            return subprocess.Popen(
                [self._command, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=complaints,
                env=own | _ENVIRONMENT,
                start_new_session=True,
            )
        except OSError as error:
            raise SqueueProblem(
                f"{self._command} cannot be run ({error.strerror}): install Slurm's client commands here, set "
                "collector.squeue to its path, or take queue out of collector.probes"
            ) from error


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):  # it ended by itself meanwhile
        os.killpg(process.pid, signal.SIGKILL)


def _last_line(complaint: bytes) -> str:
    lines = [line.strip() for line in complaint.decode(errors="replace").splitlines() if line.strip()]
    return lines[-1][:_DETAIL_LETTERS] if lines else "it says nothing"
