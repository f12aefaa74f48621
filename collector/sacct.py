"""Runs sacct, which asks slurmdbd and never slurmctld: a bounded question, a time-out, one sentence when it fails."""

import secrets
from collections.abc import Iterator, Sequence
from typing import Final

from collector.slurm_command import SlurmCommand, SlurmProblem
from store.formats import sacct

_JOBS_AT_ONCE: Final = 200  # job ids in one question: bounds the command line and the answer


class Sacct:
    """Questions about stretches of time, in whole seconds since the epoch."""

    def __init__(self, command: str, timeout_s: float) -> None:
        """``command`` is the program's name or path; each call of it may take ``timeout_s``."""
        self._name = command
        self._command = SlurmCommand(
            command,
            timeout_s,
            setting="collector.sacct",
            probe="accounting",
            look="see whether slurmdbd answers (sacctmgr ping)",
        )
        self._fields: tuple[str, ...] | None = None

    def runs(self, from_s: int, to_s: int, jobs: Sequence[str] = ()) -> sacct.Parsed:
        """Returns every execution that lived in [from_s, to_s], also those of requeued jobs; raises SlurmProblem.

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
        """Returns the steps of the given jobs by run; raises SlurmProblem."""
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
            raise SlurmProblem(f"{self._name} does not know the field {missing[0]}: it is older than Slurm 21.08")
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
            return self._command.ask(*arguments)
        except SlurmProblem:
            self._fields = None  # after an upgrade of Slurm other fields may be known
            raise


def _pieces(jobs: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(jobs), _JOBS_AT_ONCE):
        yield jobs[start : start + _JOBS_AT_ONCE]
