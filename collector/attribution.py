"""Who holds which GPU on a Slurm node, from the drop-files of Prolog and Epilog.

A drop-file means a job that lasts; its end mark, or its going away, an end. A node that crashed leaves files whose jobs
are gone: they are held against Slurm's control groups, and such a job ends, afterwards, when it was last known to live.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final

import msgspec

from collector.carryover import Carryover, OpenHold
from collector.dropfiles import DropFile, DropFolder
from collector.gpu_list import GpuList
from collector.gpu_order import UnknownDevice, positions_of, resolve
from collector.host import user_name
from collector.liveness import ControlGroups, Life
from store.segment import Device, Event, Holding

CHECK_MS: Final = 30_000  # between two looks at the control groups
YOUNG_MS: Final = 60_000  # a job is given this long from Prolog to its first process
Run = tuple[str, int]
"""A drop-file's name and its job's begin in milliseconds."""


class _Hold(msgspec.Struct):
    """A job with a drop-file. ``kept`` is what a restart of the daemon must know of it."""

    file: DropFile
    kept: OpenHold
    devices: tuple[int, ...] | None = None  # None: it cannot be told
    problem: str = ""
    suspect: bool = False  # the last look found no process of it


class HookAttribution:
    """Attribution by drop-files. ``carried`` is shared with the carry-over file, so that ends survive a restart."""

    def __init__(
        self,
        folder: DropFolder,
        groups: ControlGroups,
        cluster: str,
        lost: Callable[[], Collection[int]],
        carried: Carryover,
        gpu_list: GpuList,
        *,
        removes: bool,
    ) -> None:
        """Prepares a reader of the folder.

        Args:
            folder: the drop-files.
            groups: Slurm's control groups of this node.
            cluster: the cluster's name where a drop-file does not say it.
            lost: tells which devices do not answer now.
            carried: what the daemon before this one knew.
            gpu_list: Slurm's own list of the node's GPUs.
            removes: whether files that are done with are removed; a second reader must not, or the daemon misses ends.
        """
        self._folder = folder
        self._groups = groups
        self._cluster = cluster
        self._lost = lost
        self._carried = carried
        self._gpu_list = gpu_list
        self._removes = removes
        self._left: list[OpenHold] | None = None  # holds of the daemon before, not met here so far
        self._holds: dict[Run, _Hold] = {}
        self._over: set[tuple[str, int, bool]] = set()  # files (or, True, marks) still there whose end has been told
        self._looked_ms = 0
        self._events: list[Event] = []
        self._refused: set[str] = set()

    def changed(self) -> bool:
        """Returns whether drop-files have come or gone."""
        return self._folder.changed()

    def take_events(self) -> tuple[Event, ...]:
        """Returns what could not be attributed since the last call, and why."""
        events, self._events = (*self._gpu_list.take_events(), *self._events), []
        return events

    def positions(self, devices: Sequence[Device]) -> dict[int, int]:
        """Returns the place in Slurm's list of each device whose place is known."""
        if self._gpu_list.is_pending:
            return {}
        return positions_of(devices, self._lost(), self._gpu_list.listed)

    @property
    def installed(self) -> bool:
        """Whether a Prolog of ours has ever run here."""
        return self._folder.exists

    @property
    def may_share(self) -> bool:
        """Whether a job's GPU here may be a shard or MPS, which Prolog and processes do not tell from a whole one."""
        return self._gpu_list.listed is not None and self._gpu_list.listed.shares

    def place(self, words: Sequence[str], devices: Sequence[Device]) -> tuple[int, ...] | None:
        """Returns the devices of what Slurm calls GPUs; None where it cannot be told which are meant."""
        if self._gpu_list.is_pending:
            return None
        try:
            return resolve(words, (), devices, self._lost(), self._gpu_list.listed)
        except UnknownDevice:
            return None

    def holdings(self, now_ms: int, devices: Sequence[Device]) -> list[Holding]:
        """Returns the holds that last, and those that ended (see collector.holdings.Attribution)."""
        if devices:  # the host that reads accounting has none, and may have no slurmd
            self._gpu_list.look(now_ms)
        marks, lasting = self._read(now_ms)
        self._holds |= {run: self._begin(lasting[run]) for run in lasting.keys() - self._holds.keys()}
        ended = [*self._with_a_mark(marks, devices, now_ms), *self._without_a_file(lasting, now_ms)]
        for hold in self._holds.values():
            self._resolve(hold, devices, now_ms)
        ended += [*self._without_a_job(now_ms), *self._left_open(devices)]
        self._carried.holds[:] = [hold.kept for hold in self._holds.values()] + (self._left or [])
        return [_holding(hold, None) for hold in self._holds.values()] + ended

    def _read(self, now_ms: int) -> tuple[dict[Run, DropFile], dict[Run, DropFile]]:
        """Returns the end marks and the files without one, those left out whose end has been told."""
        files, bad = self._folder.read(now_ms)
        for name, error in bad:
            if name not in self._refused:
                self._refused.add(name)
                self._tell(now_ms, "dropfile_refused", f"{name} is no drop-file: {error}")
        by_run = {(file.name, file.start_s * 1000, file.end_s is not None): file for file in files}
        if self._removes:
            # Their ends were told at the call before, and lie in the spool since.
            for key in self._over & by_run.keys():
                self._folder.remove(by_run[key])
        self._over &= by_run.keys()
        fresh = {key: file for key, file in by_run.items() if key not in self._over}
        marks = {key[:2]: file for key, file in fresh.items() if key[2]}
        return marks, {key[:2]: file for key, file in fresh.items() if key[:2] not in marks}

    def _begin(self, file: DropFile) -> _Hold:
        if self._left is None:
            self._left = list(self._carried.holds)
        start_ms = file.start_s * 1000
        for kept in self._left:
            if (kept.name, kept.start_ms) == (file.name, start_ms):
                self._left.remove(kept)
                return _Hold(file, kept)
        cluster = file.cluster or self._cluster
        return _Hold(file, OpenHold(file.name, cluster, file.job_id, file.restart, start_ms, start_ms))

    def _with_a_mark(self, marks: dict[Run, DropFile], devices: Sequence[Device], now_ms: int) -> Iterator[Holding]:
        for run, mark in marks.items():
            hold = self._holds.pop(run, None) or self._begin(mark)
            self._resolve(hold, devices, now_ms)
            self._over.add((*run, True))
            yield _holding(hold, (mark.end_s or 0) * 1000)

    def _without_a_file(self, lasting: dict[Run, DropFile], now_ms: int) -> Iterator[Holding]:
        for run in self._holds.keys() - lasting.keys():
            yield _holding(self._holds.pop(run), now_ms)

    def _without_a_job(self, now_ms: int) -> Iterator[Holding]:
        """Yields the runs whose file is there and whose job is not, ended when they were last known to live."""
        newest: dict[str, int] = {}
        for hold in self._holds.values():
            newest[hold.file.job_id] = max(newest.get(hold.file.job_id, 0), hold.kept.start_ms)
        # A job runs once at a time: the file of an execution before this one is what its Epilog failed to take away.
        gone = [
            run
            for run, hold in self._holds.items()
            if hold.file.boot not in ("", self._carried.boot) or hold.kept.start_ms < newest[hold.file.job_id]
        ]
        if now_ms - self._looked_ms >= CHECK_MS or now_ms < self._looked_ms:
            self._looked_ms = now_ms
            gone += self._look(now_ms, self._holds.keys() - gone)
        for run in gone:
            hold = self._holds.pop(run)
            self._over.add((*run, False))
            self._tell(now_ms, "job_gone", f"job {hold.file.job_id} left its drop-file behind and runs no more")
            yield _holding(hold, hold.kept.seen_ms)

    def _look(self, now_ms: int, runs: Collection[Run]) -> list[Run]:
        """Returns the runs of which two looks in a row found nothing: a last process ends before the Epilog runs."""
        lives = {run: self._groups.life_of(self._holds[run].file.job_id) for run in runs}
        self._carried.contained = self._carried.contained or self._groups.contained
        gone = []
        for run, life in lives.items():
            hold = self._holds[run]
            old = now_ms - hold.kept.start_ms >= YOUNG_MS
            # Without an external step a job may hold its GPUs with no process at all, and then nothing can be said.
            missing = old and (life is Life.EMPTY or (life is Life.ABSENT and self._carried.contained))
            if missing and hold.suspect:
                gone.append(run)
            elif not missing:
                hold.kept.seen_ms = max(now_ms, hold.kept.seen_ms)
            hold.suspect = missing
        return gone

    def _left_open(self, devices: Sequence[Device]) -> list[Holding]:
        """Returns what a daemon before this one left open and what ended while there was none.

        A hold on a device that is not known yet (driver still loading) waits, so that its end is not lost.
        """
        if self._left is None:
            self._left = list(self._carried.holds)
        known = {device.uuid for device in devices}
        over = [kept for kept in self._left if known.issuperset(kept.uuids)]
        self._left = [kept for kept in self._left if kept not in over]
        return [_ended_unseen(kept, devices) for kept in over]

    def _resolve(self, hold: _Hold, devices: Sequence[Device], now_ms: int) -> None:
        if hold.devices is not None:
            return
        places = {device.uuid: at for at, device in enumerate(devices)}
        if hold.kept.uuids and places.keys() >= set(hold.kept.uuids):
            hold.devices = tuple(sorted(places[uuid] for uuid in hold.kept.uuids))
            return
        if self._gpu_list.is_pending:
            return
        try:
            file, listed = hold.file, self._gpu_list.listed
            hold.devices = resolve(file.positions, file.visible, devices, self._lost(), listed)
            hold.kept.uuids = [devices[at].uuid for at in hold.devices]
        except UnknownDevice as error:
            if str(error) != hold.problem:
                hold.problem = str(error)
                self._tell(now_ms, "gpu_unknown", f"which GPU job {hold.file.job_id} holds is unknown: {error}")

    def _tell(self, now_ms: int, kind: str, detail: str) -> None:
        self._events.append(Event(ts_ms=now_ms, kind=kind, detail=detail))


def _holding(hold: _Hold, end_ms: int | None) -> Holding:
    file, kept = hold.file, hold.kept
    return Holding(
        kind="job",
        cluster=kept.cluster,
        job_id=kept.job_id,
        start_ms=kept.start_ms,
        end_ms=None if end_ms is None else max(end_ms, kept.start_ms),
        restart=kept.restart,
        uid=file.uid,
        user=file.user or (None if file.uid is None else user_name(file.uid)),
        account=file.account or None,
        partition=file.partition or None,
        name=file.job_name or None,
        devices=hold.devices or (),
        source="hook",
        shared=file.shared,
    )


def _ended_unseen(kept: OpenHold, devices: Sequence[Device]) -> Holding:
    uuids = set(kept.uuids)
    return Holding(
        kind="job",
        cluster=kept.cluster,
        job_id=kept.job_id,
        start_ms=kept.start_ms,
        end_ms=max(kept.seen_ms, kept.start_ms),
        restart=kept.restart,
        devices=tuple(at for at, device in enumerate(devices) if device.uuid in uuids),
        source="hook",
    )
