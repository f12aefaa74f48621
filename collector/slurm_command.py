"""Runs a client command of Slurm: a time-out, times in seconds since the epoch, one sentence when it fails."""

import os
import signal
import subprocess
from typing import Final

_DETAIL_LETTERS: Final = 200


class SlurmProblem(Exception):
    """The command has not answered. The message is one sentence with the next step."""


class SlurmCommand:
    """One program that a probe asks, such as scontrol."""

    def __init__(self, program: str, timeout_s: float, *, setting: str, probe: str, look: str) -> None:
        """``setting`` is the key that names the program; ``look`` says where to look when it does not answer."""
        self._program = program
        self._timeout_s = timeout_s
        self._setting = setting
        self._probe = probe
        self._look = look

    def ask(self, *arguments: str) -> bytes:
        """Returns what the command prints; raises SlurmProblem."""
        try:
            process = subprocess.Popen(
                [self._program, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**os.environ, "SLURM_TIME_FORMAT": "%s"},
                start_new_session=True,
            )
        except OSError as error:
            raise SlurmProblem(
                f"{self._program} cannot be run ({error.strerror}): install Slurm's client commands here, set "
                f"{self._setting} to its path, or take {self._probe} out of collector.probes"
            ) from error
        with process:
            try:
                output, complaint = process.communicate(timeout=self._timeout_s)
            except subprocess.TimeoutExpired as error:
                os.killpg(process.pid, signal.SIGKILL)
                raise SlurmProblem(
                    f"{self._program} has not answered within {self._timeout_s:g} s: {self._look}"
                ) from error
        if process.returncode:
            raise SlurmProblem(f"{self._program} failed ({process.returncode}): {_last_line(complaint)}; {self._look}")
        return output


def _last_line(complaint: bytes) -> str:
    lines = [line.strip() for line in complaint.decode(errors="replace").splitlines() if line.strip()]
    return lines[-1][:_DETAIL_LETTERS] if lines else "it says nothing"
