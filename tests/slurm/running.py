"""A running cluster as tests see it: submit as a user, wait, read the accounting, run a program inside a node."""

import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

_REPOSITORY = Path(__file__).parents[2]
_FOLDER_PREFIX = "slurm-test-"
_POLL_S = 0.1
_Found = TypeVar("_Found")

ENDED_STATES = frozenset({"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED"})


@dataclass(frozen=True, slots=True)
class SlurmCluster:
    """A cluster that is up. All its files are below folder; it ends with `stop`."""

    folder: Path
    nodes: tuple[str, ...]
    gpus_per_node: int

    @classmethod
    def start(
        cls, *, nodes: int = 1, gpus: int = 4, gpu_type: str = "a100", options: Sequence[str] = ()
    ) -> "SlurmCluster":
        """Start a cluster of its own folder and node names, for the life of this process at most.

        options are further ones of `up`, such as ("--assoc", "physics:alice"). Raises RuntimeError when it
        does not come up; nothing of it is left then.
        """
        _end_orphans()
        folder = Path(tempfile.mkdtemp(prefix=_FOLDER_PREFIX, dir="/tmp"))  # short: Unix sockets are made below it
        # Slurm's control groups are called after the node alone: clusters side by side need different names.
        prefix = f"t{secrets.token_hex(2)}n"
        shape = ["--nodes", str(nodes), "--gpus", str(gpus), "--gpu-type", gpu_type, "--prefix", prefix]
        cluster = cls(folder, tuple(f"{prefix}{number}" for number in range(1, nodes + 1)), gpus)
        try:
            cluster.operate("up", "--owner", str(os.getpid()), *shape, *options)
        except BaseException:
            cluster.stop()
            raise
        return cluster

    def stop(self) -> None:
        """End it and remove all of it: processes, control groups, users that no other cluster needs, files."""
        self.operate("down", "--purge", "--remove-users")
        shutil.rmtree(self.folder, ignore_errors=True)  # there still when `up` refused to make a cluster in it

    @property
    def environment(self) -> dict[str, str]:
        """Variables that let a Slurm client of the machine, as root, talk to this cluster."""
        return {"SLURM_CONF": str(self.folder / "etc/slurm.conf")}

    @property
    def prolog_folder(self) -> Path:
        """Executables put here run, as root on the node, when a job gets its GPUs and before it starts."""
        return self.folder / "etc/prolog.d"

    @property
    def epilog_folder(self) -> Path:
        """Executables put here run, as root on the node, after a job's last process has ended."""
        return self.folder / "etc/epilog.d"

    def home(self, user: str) -> Path:
        """Return the folder in which the user's jobs start and leave slurm-JOBID.out."""
        return self.folder / "home" / user

    def hook_environment(self, node: str, job_id: int, hook: Literal["prolog", "epilog"]) -> dict[str, str] | None:
        """Return the variables a hook was given for a job, or None when it has not run."""
        dump = self.folder / "hooks" / f"{node}.{job_id}.{hook}"
        if not dump.exists():
            return None
        pairs = dump.read_bytes().decode(errors="surrogateescape").split("\0")
        return dict(pair.split("=", 1) for pair in pairs if "=" in pair)

    def as_user(self, user: str, *argv: str) -> str:
        """Run a command (sbatch, scancel, squeue) as a user to its end; return what it printed."""
        return self.operate("as", user, "--", *argv)

    def start_as_user(self, user: str, *argv: str) -> subprocess.Popen[bytes]:
        """Start a command that goes on (srun) as a user; who starts it ends it. What it prints is dropped."""
        nowhere = subprocess.DEVNULL
        command = self._operation("as", user, "--", *argv)
        return subprocess.Popen(command, cwd=_REPOSITORY, stdin=nowhere, stdout=nowhere, stderr=nowhere)

    def as_root(self, *argv: str) -> str:
        """Run a Slurm client as root on the machine; return what it printed."""
        return _run(argv, {**os.environ, **self.environment})

    def submit(self, user: str, *options: str, wrap: str | None = None, script: str | None = None) -> int:
        """Submit a batch job as a user, a shell line (wrap) or the text of a script; return its job id."""
        if (wrap is None) == (script is None):
            raise ValueError("Give either wrap or script.")
        if script is None:
            last = f"--wrap={wrap}"
        else:
            path = self.home(user) / f"{secrets.token_hex(4)}.sh"
            path.write_text(script, encoding="utf-8")
            last = str(path)
        return int(self.as_user(user, "sbatch", "--parsable", *options, last).split(";")[0])

    def state(self, job_id: int) -> str:
        """Return slurmctld's word for a job: PENDING, RUNNING, COMPLETED; it forgets jobs 300 s after their end."""
        return self.as_root("squeue", "-h", "--states=all", "-j", str(job_id), "-o", "%T").split()[0]

    def wait(self, job_id: int, states: Collection[str] = ENDED_STATES, timeout_s: float = 60) -> str:
        """Wait until slurmctld has the job in one of the states, and return it."""
        return self.eventually(lambda: found if (found := self.state(job_id)) in states else None, timeout_s)

    def sacct(self, *options: str, fields: Sequence[str]) -> list[dict[str, str]]:
        """Return the accounting's records as sacct prints them: epoch times, no units, duplicates kept.

        Without further options all users' jobs of two days; the record of a change arrives within a second or two.
        """
        delimiter = secrets.token_hex(8)  # a job's name may hold any byte that one could think of
        shown = ["--duplicates", "--allusers", "--noconvert", "--noheader", "--starttime=now-2days"]
        shown += ["--parsable", f"--delimiter={delimiter}"]
        environment = {**os.environ, **self.environment, "SLURM_TIME_FORMAT": "%s"}
        output = _run(["sacct", *shown, f"--format={','.join(fields)}", *options], environment)
        values = output.split(delimiter)[:-1]
        rows = [values[start : start + len(fields)] for start in range(0, len(values), len(fields))]
        return [dict(zip(fields, [row[0].lstrip("\n"), *row[1:]], strict=True)) for row in rows]

    def run_in_node(
        self, node: str, argv: Sequence[str], env: Mapping[str, str] | None = None, output: Path | None = None
    ) -> subprocess.Popen[bytes]:
        """Start a program as root beside a node's slurmd: with its host name, /proc, /run and GPU devices.

        env is added to a small fixed environment. terminate() reaches the program, and wait() returns its exit
        status, 128 + the signal's number when a signal ended it. Its output goes to a file, or into a pipe.
        """
        pairs = [f"--env={name}={value}" for name, value in (env or {}).items()]
        command = self._operation("exec", *pairs, node, "--", *argv)
        if output is None:
            return subprocess.Popen(command, cwd=_REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        with output.open("ab") as file:
            return subprocess.Popen(command, cwd=_REPOSITORY, stdout=file, stderr=subprocess.STDOUT)

    def change_node(self, node: str, what: Literal["start", "stop", "kill"]) -> None:
        """Stop a node in order, crash it, or start it again."""
        self.operate("node", node, what)

    def status(self) -> dict[str, object]:
        """Return which processes run (pids by name), and the state of each node."""
        done = subprocess.run(self._operation("status", "--json"), cwd=_REPOSITORY, capture_output=True, check=False)
        found: dict[str, object] = json.loads(done.stdout)
        return found

    def eventually(self, probe: Callable[[], _Found | None], timeout_s: float = 60) -> _Found:
        """Call probe until it returns something, and return that; TimeoutError after timeout_s."""
        deadline_s = time.monotonic() + timeout_s
        while (found := probe()) is None:
            if time.monotonic() > deadline_s:
                raise TimeoutError(f"not within {timeout_s:g} s on the cluster at {self.folder}")
            time.sleep(_POLL_S)
        return found

    def operate(self, operation: str, *arguments: str) -> str:
        """Run an operation of the cluster's command line; return what it printed, RuntimeError when it failed."""
        return _run(self._operation(operation, *arguments), os.environ)

    def _operation(self, operation: str, *arguments: str) -> list[str]:
        command = [sys.executable, "-m", "tests.slurm.cluster", operation]
        return [*command, "--state-dir", str(self.folder), *arguments]


def _run(argv: Sequence[str], environment: Mapping[str, str]) -> str:
    done = subprocess.run(
        argv, cwd=_REPOSITORY, env=dict(environment), stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(argv)} ended with {done.returncode}: {done.stderr.decode(errors='replace')}")
    return done.stdout.decode(errors="surrogateescape")


def _end_orphans() -> None:
    """Remove clusters of test runs that were killed before they could do it."""
    for folder in Path("/tmp").glob(f"{_FOLDER_PREFIX}*"):
        SlurmCluster(folder, (), 0).operate("down", "--orphan", "--purge", "--remove-users")
