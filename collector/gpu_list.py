"""Slurm's own list of this node's GPUs, read once for each start of slurmd and kept until the next.

`slurmd -G` prints it, gres.conf is read where that fails. The list counts as it was when slurmd began: one that is read
later may be another, where a file was changed or AutoDetect would miss a GPU that was lost meanwhile.
"""

import os
import re
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from collector import slurmd as slurmds
from collector.carryover import Carryover, KeptList, ListedGpu
from collector.proc import PROC, moment_ms
from collector.slurmd import Slurmd, SlurmdProblem
from collector.worker import Unanswered, Worker
from store.formats.gres_list import BadList, GpuPlaces, Place, printed_by_slurmd, written_in_gres_conf
from store.segment import Event

_LOOK_MS: Final = 30_000  # between two looks for a slurmd where none was seen
_LATE_MS: Final = 120_000
TIMEOUT_S: Final = 60.0
"""That slurmd -G may take: it waits for device files that are missing."""
_FIRST_WAIT_S: Final = 5.0
_NUMBERED: Final = re.compile(r"/dev/nvidia([0-9]{1,6})")
_AUTODETECT: Final = re.compile(rb"(?im)^[^#]*\bautodetect\s*=\s*(?!off\b)\w")


class NoList(Exception):
    """The list is not known. The message says why, in a few words."""


class Where(msgspec.Struct, frozen=True):
    """Where slurmd and what it knows are found."""

    node: str
    program: str = "slurmd"
    config: str = ""
    proc: Path = PROC


class GpuList:
    """The list that is in force. ``carried`` keeps it over a restart of the daemon."""

    def __init__(self, where: Where, carried: Carryover, first_wait_s: float = _FIRST_WAIT_S) -> None:
        self.problem = ""
        """Why there is no list, or one in doubt, in a few words; empty while it is being read."""
        self._where = where
        self._carried = carried
        self._first_wait_s = first_wait_s
        self._slurmd: Slurmd | None = None
        self._read_for: str | None = None  # the slurmd that was last asked about
        self._looked_ms: int | None = None
        self._worker: Worker[KeptList] = Worker("slurmd -G")
        self._events: list[Event] = []

    @property
    def listed(self) -> KeptList | None:
        """The list; None while or where it is not known."""
        kept = self._carried.gpu_list
        return kept if kept is not None and kept.slurmd == self._read_for else None

    @property
    def is_pending(self) -> bool:
        """Whether it is being read: until then nothing can be said about places."""
        return self._worker.busy

    def take_events(self) -> tuple[Event, ...]:
        """Returns what there is to tell since the last call."""
        events, self._events = tuple(self._events), []
        return events

    def look(self, now_ms: int) -> None:
        """Reads the list where slurmd has begun anew. The first look waits some seconds for it, others never do."""
        first = self._looked_ms is None
        # While the known one lives this is one look at it, and a job that begins just after a restart is not missed.
        if self._slurmd is not None or self._looked_ms is None or not 0 <= now_ms - self._looked_ms < _LOOK_MS:
            self._looked_ms = now_ms
            self._slurmd = slurmds.find_slurmd(self._where.node, self._slurmd, self._where.proc) or self._slurmd
        name = self._name()
        try:
            if self._worker.busy:
                self._take(self._worker.finished(), now_ms)
            elif name != self._read_for:
                self._read_for, self.problem = name, ""
                if not self._slurmd:
                    self._carried.gpu_list = None  # nobody knows of which slurmd it was
                if self.listed is None:
                    self._begin(now_ms, self._first_wait_s if first else 0.0)
        except Unanswered:
            return
        except NoList as error:
            self.problem = str(error)
            self._tell(now_ms, "gpu_list_unknown", f"Slurm's own list of this node's GPUs is not known: {error}")

    def _name(self) -> str:
        """Names the slurmd in force; while it is being restarted, that is the last one."""
        slurmd = self._slurmd
        return "" if slurmd is None else f"{self._carried.boot}:{slurmd.pid}:{slurmd.started}"

    def _begin(self, now_ms: int, wait_s: float) -> None:
        where, slurmd, name = self._where, self._slurmd, self._name()
        self._take(self._worker.call(lambda: read_list(where, slurmd, name, now_ms), wait_s), now_ms)

    def _take(self, found: KeptList | None, now_ms: int) -> None:
        if found is None:
            return
        before, self._carried.gpu_list = self._carried.gpu_list, found
        if before is not None and before.gpus != found.gpus and not found.doubt:
            self._tell(now_ms, "gpu_list_changed", f"Slurm's list of this node's GPUs is another ({found.source})")
        self.problem = found.doubt
        if found.doubt:
            self._tell(now_ms, "gpu_list_unknown", f"Slurm's own list of this node's GPUs is in doubt: {found.doubt}")

    def _tell(self, now_ms: int, kind: str, detail: str) -> None:
        self._events.append(Event(ts_ms=now_ms, kind=kind, detail=detail))


def read_list(where: Where, slurmd: Slurmd | None, name: str, now_ms: int) -> KeptList:
    """Returns the list under the slurmd's ``name``; raises NoList. It may take a minute."""
    config = slurmds.config_file(where.config, slurmd)
    gres_conf = None if config is None else config.with_name("gres.conf")
    try:
        listed = printed_by_slurmd(slurmds.ask_for_gpus(where.program, slurmd, config, TIMEOUT_S))
        source = "slurmd -G"
    except (SlurmdProblem, BadList) as error:
        if gres_conf is None or not gres_conf.is_file():
            raise NoList(f"{error}, and no gres.conf was found") from None
        listed, source = _written(gres_conf, where.node, str(error)), str(gres_conf)
    began_ms = None if slurmd is None else moment_ms(slurmd.started, where.proc)
    doubt = ""
    if began_ms is not None and now_ms - began_ms > _LATE_MS:
        doubt = _doubt(listed.places, [path for path in (config, gres_conf) if path is not None], began_ms, where.proc)
    gpus = tuple(ListedGpu(_minor(place.file), place.unique_id) for place in listed.places)
    return KeptList(name, source, gpus, doubt, listed.shares)


def _written(gres_conf: Path, node: str, before: str) -> GpuPlaces:
    try:
        return written_in_gres_conf(gres_conf.read_bytes(), node)
    except (OSError, BadList) as error:
        raise NoList(f"{before}; {gres_conf}: {error}") from None


def _doubt(places: Sequence[Place], files: Sequence[Path], began_ms: int, proc: Path) -> str:
    """Returns why the list, read long after slurmd began, need not be the one that slurmd has; empty: it is."""
    for path in files:
        # A configless slurmd writes its copies just after it has begun.
        if path.is_file() and path.stat().st_mtime * 1000 > began_ms + _LATE_MS:
            return f"{path} was changed after slurmd began: restart slurmd"
    if any(path.is_file() and _AUTODETECT.search(path.read_bytes()) for path in files):
        try:
            known = sum(1 for _ in (proc / "driver/nvidia/gpus").iterdir())  # also those that were lost
        except OSError:
            known = 0
        if known != len({place.file for place in places}):
            return "AutoDetect may find another number of GPUs now than when slurmd began: restart slurmd"
    return ""


def _minor(file: str) -> int | None:
    try:
        found = Path(file).stat()
        if stat.S_ISCHR(found.st_mode):
            return os.minor(found.st_rdev)
    except OSError:
        pass
    numbered = _NUMBERED.fullmatch(file)
    return None if numbered is None else int(numbered[1])
