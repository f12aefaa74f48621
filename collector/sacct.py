"""Runs sacct, which asks slurmdbd and never slurmctld: a bounded question, a time-out, one sentence when it fails."""

import os
import secrets
import signal
import subprocess
from collections.abc import Iterator, Sequence
from typing import Final

from store.formats import sacct

_JOBS_AT_ONCE: Final = 200  # job ids in one question: bounds the command line and the answer
_DETAIL_LETTERS: Final = 200


class SacctProblem(Exception):
    """sacct has not answered. The message is one sentence with the next step."""


class Sacct:
    """Questions about stretches of time, in whole seconds since the epoch."""

    def __init__(self, command: str, timeout_s: float) -> None:
        """``command`` is the program's name or path; each call of it may take ``timeout_s``."""
        self._command = command
        self._timeout_s = timeout_s
        self._fields: tuple[str, ...] | None = None

    def runs(self, from_s: int, to_s: int, jobs: Sequence[str] = ()) -> sacct.Parsed:
        """Returns every execution that lived in [from_s, to_s], also those of requeued jobs; raises SacctProblem.

        With ``jobs``, raw job ids, only those of these jobs.
        """
        fields = self._fields or self._known_fields()
        parts = []
        for ids in _pieces(jobs) if jobs else [()]:
            wanted = ["--jobs=" + ",".join(ids)] if ids else []
            token = secrets.token_hex(16)
            # Without -X each of a job's steps is a record as well, four times the output or more.
            data = self._ask(from_s, to_s, token, fields, "--allocations", *wanted)
            parts.append(sacct.parse_runs(data, fields, token))
        return sacct.Parsed(
            tuple(run for part in parts for run in part.runs),
            tuple(refusal for part in parts for refusal in part.refusals),
        )

    def steps(self, from_s: int, to_s: int, jobs: Sequence[str]) -> dict[sacct.Key, list[sacct.Step]]:
        """Returns the steps of the given jobs by run; raises SacctProblem."""
        found: dict[sacct.Key, list[sacct.Step]] = {}
        for ids in _pieces(jobs):
            token = secrets.token_hex(16)
            data = self._ask(from_s, to_s, token, sacct.STEP_FIELDS, "--jobs=" + ",".join(ids))
            found |= sacct.parse_steps(data, sacct.STEP_FIELDS, token)
        return found

    def _known_fields(self) -> tuple[str, ...]:
        known = {word.lower() for word in self._call("--helpformat").decode(errors="replace").split()}
        missing = [field for field in sacct.RUN_FIELDS if field.lower() not in known]
        if missing:
            raise SacctProblem(f"{self._command} does not know the field {missing[0]}: it is older than Slurm 21.08")
        optional = (field for field in sacct.OPTIONAL_FIELDS if field.lower() in known)
        # The job's name stays last: where a version breaks it off, nothing is behind it.
        self._fields = (*sacct.RUN_FIELDS[:-1], *optional, sacct.RUN_FIELDS[-1])
        return self._fields

    def _ask(self, from_s: int, to_s: int, token: str, fields: Sequence[str], *more: str) -> bytes:
        return self._call(
            *("--allusers", "--duplicates", "--parsable", "--noheader", "--noconvert", f"--delimiter={token}"),
            *(f"--starttime=uts{from_s}", f"--endtime=uts{to_s}", f"--format={','.join(fields)}"),
            *more,
        )

    def _call(self, *arguments: str) -> bytes:
        try:
            process = subprocess.Popen(
                [self._command, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**os.environ, "SLURM_TIME_FORMAT": "%s"},
                start_new_session=True,
            )
        except OSError as error:
            raise SacctProblem(
                f"{self._command} cannot be run ({error.strerror}): install Slurm's client commands here, set "
                "collector.sacct to its path, or take accounting out of collector.probes"
            ) from error
        with process:
            try:
                output, complaint = process.communicate(timeout=self._timeout_s)
            except subprocess.TimeoutExpired as error:
                os.killpg(process.pid, signal.SIGKILL)
                raise SacctProblem(
                    f"{self._command} has not answered within {self._timeout_s:g} s: see whether slurmdbd answers "
                    "(sacctmgr ping)"
                ) from error
        if process.returncode:
            self._fields = None  # after an upgrade of Slurm other fields may be known
            raise SacctProblem(
                f"{self._command} failed ({process.returncode}): {_last_line(complaint)}; see whether slurmdbd answers "
                "(sacctmgr ping)"
            )
        return output


def _pieces(jobs: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(jobs), _JOBS_AT_ONCE):
        yield jobs[start : start + _JOBS_AT_ONCE]


def _last_line(complaint: bytes) -> str:
    lines = [line.strip() for line in complaint.decode(errors="replace").splitlines() if line.strip()]
    return lines[-1][:_DETAIL_LETTERS] if lines else "it says nothing"
