"""When processes began, from /proc."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

PROC: Final = Path("/proc")
_TICKS_A_SECOND: Final = os.sysconf("SC_CLK_TCK")


def started(pid: int, proc: Path = PROC) -> int | None:
    """Returns a process's start in clock ticks since the kernel's; with the pid it names the process."""
    try:
        stat = (proc / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The name, in brackets, may hold anything; the start is the 20th word behind it.
    return int(stat.rpartition(")")[2].split()[19])


def by_age(pids: Iterable[int], proc: Path = PROC) -> list[int]:
    """Returns those of the processes that live, the oldest first."""
    found = [(ticks, pid) for pid in pids if (ticks := started(pid, proc)) is not None]
    return [pid for _, pid in sorted(found)]


def moment_ms(ticks: int, proc: Path = PROC) -> int | None:
    """Returns the moment of a start, UTC; None where the kernel does not tell its own."""
    try:
        lines = (proc / "stat").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    booted_s = next((int(line.split()[1]) for line in lines if line.startswith("btime ")), None)
    return None if booted_s is None else booted_s * 1000 + ticks * 1000 // _TICKS_A_SECOND
