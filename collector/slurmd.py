"""The slurmd of this node: which process it is, when it began, and what it says about the node's GPUs."""

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Final

import msgspec

from collector.host import SBIN, SLURM_CONFS
from collector.proc import PROC, started

_CLUSTER: Final = re.compile(r"(?im)^\s*ClusterName\s*=\s*([\w.-]+)")


_PROLOG_FLAGS: Final = re.compile(r"(?im)^\s*PrologFlags\s*=\s*([\w,]+)")


class SlurmdProblem(Exception):
    """slurmd has not answered. The message is one sentence."""


class Slurmd(msgspec.Struct, frozen=True):
    """A running slurmd; ``started`` is in clock ticks since the kernel's start, and with ``pid`` names the process."""

    pid: int
    started: int
    arguments: tuple[str, ...]

    def option(self, letter: str) -> str:
        """Returns the value of an option such as -N; empty where it was not given."""
        for at, word in enumerate(self.arguments):
            if word == f"-{letter}":
                return self.arguments[at + 1] if at + 1 < len(self.arguments) else ""
            if word.startswith(f"-{letter}"):
                return word[2:]
        return ""


def find_slurmd(node: str, known: Slurmd | None, proc: Path = PROC) -> Slurmd | None:
    """Returns the slurmd of ``node``; while ``known`` lives, that one, without a look at the other processes."""
    if known is not None and started(known.pid, proc) == known.started:
        return known
    found = [slurmd for folder in proc.glob("[0-9]*") if (slurmd := _slurmd(folder)) is not None]
    mine = [slurmd for slurmd in found if slurmd.option("N") in ("", node)]
    # It forks before it starts a job's step: the child looks like it for a moment, and began later.
    return min(mine, key=lambda slurmd: slurmd.started, default=None)


def config_file(configured: str, slurmd: Slurmd | None) -> Path | None:
    """Returns slurm.conf: as configured, else as slurmd was told, else where it mostly is; None where it is not."""
    told = slurmd.option("f") if slurmd is not None else ""
    candidates = [configured] if configured else [told, os.environ.get("SLURM_CONF", ""), *SLURM_CONFS]
    return next((path for name in candidates if name and (path := Path(name)).is_file()), None)


def cluster_name(config: Path | None) -> str:
    """Returns ClusterName of slurm.conf as Slurm has it, in small letters; empty where the file does not say."""
    found = _CLUSTER.search(_text(config))
    return "" if found is None else found[1].lower()


def keeps_external_step(config: Path | None) -> bool:
    """Returns whether slurm.conf keeps an external step in every job (PrologFlags=Contain, which X11 implies)."""
    found = _PROLOG_FLAGS.search(_text(config))
    return found is not None and not {"contain", "x11"}.isdisjoint(found[1].lower().split(","))


def ask_for_gpus(program: str, slurmd: Slurmd | None, config: Path | None, timeout_s: float) -> bytes:
    """Returns what ``slurmd -G`` prints; raises SlurmdProblem.

    It needs no privilege, and only reads: files, or with AutoDetect the driver. A device file that is missing makes it
    wait for 20 s (22.05).
    """
    own = slurmd.arguments[0] if slurmd is not None and slurmd.arguments[0].startswith("/") else ""
    path = shutil.which(program, path=f"{os.environ.get('PATH', '')}:{SBIN}") or shutil.which(own)
    if path is None:
        raise SlurmdProblem(f"there is no program {program}")
    # Its own log is not the place for what is printed here.
    words = [path, "-G", "-L", "/dev/null"]
    if slurmd is not None and (name := slurmd.option("N")):
        words += ["-N", name]
    if config is not None:
        words += ["-f", str(config)]
    process = subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
    )
    try:
        printed, _ = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise SlurmdProblem(f"{path} -G has not answered within {timeout_s:g} s") from None
    if process.returncode:
        said = printed.decode(errors="replace").strip().splitlines() or ["nothing"]
        raise SlurmdProblem(f"{path} -G says: {said[-1][:200]}")
    return printed


def _text(config: Path | None) -> str:
    try:
        return "" if config is None else config.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _slurmd(folder: Path) -> Slurmd | None:
    try:
        if (folder / "comm").read_bytes().strip() != b"slurmd":
            return None
        words = (folder / "cmdline").read_bytes().decode(errors="replace").rstrip("\0").split("\0")
    except OSError:
        return None
    ticks = started(int(folder.name), folder.parent)
    if ticks is None or not words[0] or {"-G", "-C", "-V"} & set(words):
        return None
    return Slurmd(int(folder.name), ticks, tuple(words))
