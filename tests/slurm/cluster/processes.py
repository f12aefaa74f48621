"""The cluster's processes: started, recorded by pid and start time, and ended only if still the same ones."""

import json
import os
import pwd
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tests.slurm.cluster import ClusterError, report

_POLL_S = 0.05
_AFTER_KILL_S = 20


def start_time(pid: int) -> int | None:
    """Return when a live process began, in clock ticks since boot; None once it is gone or a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return None if fields[0] in "ZX" else int(fields[19])
    except (OSError, IndexError, ValueError):
        return None


def signal_if_same(pid: int, started: int, number: int) -> None:
    """Signal a process if it still is the one that began then; a pid that was given to another is left alone."""
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return
    try:
        if start_time(pid) == started:
            signal.pidfd_send_signal(handle, number)
    except ProcessLookupError:
        pass
    finally:
        os.close(handle)


def attempt(argv: Sequence[str], environment: Mapping[str, str], timeout_s: float = 60) -> tuple[int, str]:
    """Run a command to its end and return its exit status and all that it printed; 124 when it took too long."""
    try:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=dict(environment),
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        return 124, f"not done after {timeout_s:g} s: {(error.output or b'').decode(errors='replace')}"
    return done.returncode, done.stdout.decode(errors="replace")


def run(argv: Sequence[str], environment: Mapping[str, str], timeout_s: float = 60) -> str:
    """Run a command that must succeed and return all that it printed."""
    status, output = attempt(argv, environment, timeout_s)
    if status:
        raise ClusterError(f"`{' '.join(argv)}` ended with {status}:\n{output}")
    return output


class Processes:
    """The long-running processes of one cluster, by name, with their records and logs in its state folder."""

    def __init__(self, records: Path, logs: Path, environment: Mapping[str, str]) -> None:
        self._records, self._logs, self._environment = records, logs, environment

    def record(self, name: str, pid: int) -> None:
        """Write down a process that was just started."""
        fresh = self._records / f"{name}.pid.json.new"
        fresh.write_text(json.dumps({"pid": pid, "start": start_time(pid)}))
        fresh.replace(self._record(name))

    def alive(self, name: str) -> int | None:
        """Return the pid of the named process while it runs; a record of one that died at once counts as dead."""
        found = self._read(name)
        return found[0] if found and start_time(found[0]) == found[1] else None

    def spawn(
        self, name: str, argv: Sequence[str], user: str | None = None, environment: Mapping[str, str] | None = None
    ) -> None:
        """Start a process that outlives this program, its output in the logs, as a user when one is given."""
        account = pwd.getpwnam(user) if user else None
        with (self._logs / f"{name}.out").open("ab") as output:
            child = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env=dict(environment or self._environment),
                cwd="/",
                user=account.pw_uid if account else None,
                group=account.pw_gid if account else None,
                extra_groups=[] if account else None,
            )
        self.record(name, child.pid)
        child.returncode = 0  # as if waited for, else Popen warns: it outlives this program

    def end(
        self,
        names: Sequence[str],
        number: int = signal.SIGTERM,
        timeout_s: float = 15,
        while_waiting: Callable[[], None] = lambda: None,
    ) -> None:
        """Signal the named processes and wait until they are gone; kill those that outstay the time.

        while_waiting is called before each look, for what would keep them from ending.
        """
        running = [name for name in names if self.alive(name)]
        self._signal(running, number)
        left = self._left_after(running, timeout_s, while_waiting)
        if left:
            report(f"{', '.join(left)} still there after {timeout_s:g} s: killing")
            self._signal(left, signal.SIGKILL)
            left = self._left_after(left, _AFTER_KILL_S, while_waiting)
        if left:
            raise ClusterError(f"{', '.join(left)} cannot be ended, even by SIGKILL: look at /proc/PID/stack.")
        for name in names:
            self._record(name).unlink(missing_ok=True)
        if running:
            report(f"ended {', '.join(running)}")

    def wait(self, what: str, ready: Callable[[], str | None], timeout_s: float, needed: Sequence[str]) -> None:
        """Poll until ready() returns None; else it returns what is amiss. Fails early when a needed process dies."""
        deadline_s = time.monotonic() + timeout_s
        while (amiss := ready()) is not None:
            dead = [name for name in needed if not self.alive(name)]
            if dead or time.monotonic() > deadline_s:
                why = f"{', '.join(dead)} died" if dead else f"not after {timeout_s:g} s: {amiss}"
                raise ClusterError(f"waiting for {what}: {why}\n" + "".join(map(self.log_tail, dead or needed)))
            time.sleep(_POLL_S)

    def log_tail(self, name: str, lines: int = 15) -> str:
        """Return the last lines of a process's own log and of its output."""
        files = (self._logs / f"{name}{suffix}" for suffix in (".log", ".out"))
        tails = ((file, file.read_text(errors="replace").splitlines()[-lines:]) for file in files if file.exists())
        return "".join(f"--- {file}\n" + "\n".join(tail) + "\n" for file, tail in tails)

    def _record(self, name: str) -> Path:
        return self._records / f"{name}.pid.json"

    def _read(self, name: str) -> tuple[int, int] | None:
        try:
            found = json.loads(self._record(name).read_text())
            return int(found["pid"]), int(found["start"])
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def _signal(self, names: Sequence[str], number: int) -> None:
        for found in filter(None, map(self._read, names)):
            signal_if_same(*found, number)

    def _left_after(self, names: Sequence[str], timeout_s: float, while_waiting: Callable[[], None]) -> list[str]:
        deadline_s = time.monotonic() + timeout_s
        while left := [name for name in names if self.alive(name)]:
            if time.monotonic() > deadline_s:
                break
            while_waiting()
            time.sleep(_POLL_S)
        return left
