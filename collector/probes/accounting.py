"""Slurm's accounting by sacct, on one host of the cluster: who ran what, when, on how many GPUs, and how it ended.

Read in windows that overlap: slurmctld delivers late what slurmdbd missed while it was down. Runs that were open stay
on a list until their end has been read, and a run is passed on only when something about it has changed.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from collector.accounting_position import OpenRun, Position, PositionFile
from collector.probes import Context
from collector.readings import Moment, Report
from collector.sacct import Sacct
from collector.settings import CollectorSettings
from collector.slurm_command import SlurmProblem
from store.formats.sacct import Key, Refusal, with_steps
from store.segment import AccountingRun, Event

POSITION_FILE: Final = "accounting.json"
_WINDOW_S: Final = 6 * 3600  # most that one reading asks for, so that years of history come in small pieces
_BEHIND_EVERY_S: Final = 2.0
_STEPS_LATE_S: Final = 60
_DAY_S: Final = 86400
_UNTRACKED_RUNS: Final = 20  # runs without any GPU among them, before it is worth a word


class AccountingProbe:
    """Reads on from where it was; a failure leaves the position where it is."""

    name = "accounting"
    needs_driver = False

    def __init__(self, sacct: Sacct, file: PositionFile, settings: CollectorSettings) -> None:
        self._sacct = sacct
        self._file = file
        self._settings = settings
        self._position = file.load()
        self._behind = True
        self._passed_on: dict[Key, tuple[int, int]] = {}  # run -> end in seconds (or 0), and a hash of what was said
        self._untracked = 0
        self._told: set[str] = set()

    @property
    def every_s(self) -> float:
        """Seconds until the next reading: few while there is history to read."""
        return _BEHIND_EVERY_S if self._behind else self._settings.sacct_every_s

    def read(self, moment: Moment) -> Report:
        """Returns the runs of which something is new."""
        self._file.save_what_is_safe(moment.steady_s)
        now_s = moment.wall_ms // 1000
        from_s, to_s = self._window(now_s)
        try:
            listed = self._sacct.runs(from_s, to_s)
            found = {_key(run): run for run in listed.runs}
            late = self._late(found, now_s) if to_s == now_s else {}
            fresh = self._fresh([*found.values(), *late.values()])
            described = self._described(fresh, now_s)
        except SlurmProblem as error:
            return Report(error=str(error))
        self._behind = to_s < now_s
        self._remember(fresh, described, to_s, now_s)
        self._position = self._next_position({**found, **late}, to_s, whole=not self._behind)
        self._file.reached(self._position, moment.steady_s)
        events = [*self._refusals(listed.refusals, moment), *self._tracking(len(described), moment)]
        return Report(accounting=tuple(described), count=len(described), events=tuple(events))

    def _window(self, now_s: int) -> tuple[int, int]:
        read_to_s = self._position.read_to_s
        if read_to_s is None:
            from_s = now_s - round(self._settings.sacct_history_days * _DAY_S)
            return from_s, min(now_s, from_s + _WINDOW_S)
        read_to_s = min(read_to_s, now_s)  # the clock may have been set back
        return read_to_s - round(self._settings.sacct_overlap_s), min(now_s, read_to_s + _WINDOW_S)

    def _late(self, found: Mapping[Key, AccountingRun], now_s: int) -> dict[Key, AccountingRun]:
        """Returns the runs that were open and that this window does not list: their end came to the database late."""
        lost = {(run.cluster, run.db_index): run for run in self._position.open_runs}
        lost = {key: run for key, run in lost.items() if key not in found}
        if not lost:
            return {}
        first_s = min(run.start_s for run in lost.values())
        listed = self._sacct.runs(first_s, now_s, sorted({run.job_id_raw for run in lost.values()}))
        return {_key(run): run for run in listed.runs if _key(run) in lost}

    def _fresh(self, runs: Iterable[AccountingRun]) -> list[AccountingRun]:
        """Returns the runs that are worth passing on: they ran, may have held GPUs, and say something new."""
        ran = [run for run in runs if run.start_ms is not None]
        tracks = self._position.tracks_gpus or any(run.alloc_gpus for run in ran)
        wanted = [run for run in ran if run.alloc_gpus or not tracks]
        return [run for run in wanted if self._passed_on.get(_key(run)) != _said(run)]

    def _described(self, runs: Sequence[AccountingRun], now_s: int) -> list[AccountingRun]:
        """Returns the runs with what their steps say."""
        if not runs:
            return []
        first_s = min(run.start_ms or 0 for run in runs) // 1000
        steps = self._sacct.steps(first_s, now_s, sorted({run.job_id_raw for run in runs}))
        return [with_steps(run, steps.get(_key(run), ())) for run in runs]

    def _remember(
        self, fresh: Sequence[AccountingRun], described: Sequence[AccountingRun], to_s: int, now_s: int
    ) -> None:
        for run, whole in zip(fresh, described, strict=True):
            # A run that has just begun may have no step yet, and what steps used comes after the run's end: again then.
            begun = run.end_ms is None and whole.has_batch_step is not None
            if begun or (run.end_ms is not None and run.end_ms // 1000 <= now_s - _STEPS_LATE_S):
                self._passed_on[_key(run)] = _said(run)
        still_listed_s = to_s - self._settings.sacct_overlap_s
        self._passed_on = {key: said for key, said in self._passed_on.items() if not 0 < said[0] < still_listed_s}

    def _next_position(self, found: Mapping[Key, AccountingRun], to_s: int, *, whole: bool) -> Position:
        """Returns the position after this window; ``whole``: what it does not list is not in the database any more."""
        open_runs = {} if whole else {(run.cluster, run.db_index): run for run in self._position.open_runs}
        for key, run in found.items():
            open_runs.pop(key, None)
            if run.end_ms is None and run.start_ms is not None:
                open_runs[key] = OpenRun(run.cluster, run.db_index, run.job_id_raw, run.start_ms // 1000)
        tracks = self._position.tracks_gpus or any(run.alloc_gpus for run in found.values())
        return Position(to_s, tracks, tuple(open_runs.values()))

    def _refusals(self, refused: Iterable[Refusal], moment: Moment) -> list[Event]:
        fresh = sorted({refusal.reason for refusal in refused} - self._told)
        self._told.update(fresh)
        return [Event(ts_ms=moment.wall_ms, kind="accounting_refused", detail=f"sacct: {reason}") for reason in fresh]

    def _tracking(self, passed_on: int, moment: Moment) -> list[Event]:
        self._untracked += passed_on
        if self._position.tracks_gpus or self._untracked < _UNTRACKED_RUNS or "tracking" in self._told:
            return []
        self._told.add("tracking")
        detail = (
            f"none of {self._untracked} runs that sacct lists has a GPU: where GPU jobs ran, add gres/gpu to "
            "AccountingStorageTRES in slurm.conf"
        )
        return [Event(ts_ms=moment.wall_ms, kind="gpus_not_tracked", detail=detail)]


def build(context: Context) -> AccountingProbe:
    """Returns the probe for this host."""
    settings = context.settings
    # A report lies in the spool once the segment that was open at its time is closed; the beat may come late.
    file = PositionFile(Path(settings.spool_dir) / POSITION_FILE, 2 * settings.segment_s + 10)
    return AccountingProbe(Sacct(settings.sacct, settings.sacct_timeout_s), file, settings)


def _key(run: AccountingRun) -> Key:
    return run.cluster, run.db_index


def _said(run: AccountingRun) -> tuple[int, int]:
    """Returns end and hash of what is said about a run. How long an open one lasts so far is nothing new."""
    if run.end_ms is None:
        run = msgspec.structs.replace(run, elapsed_s=None)
        return 0, hash(msgspec.msgpack.encode(run))
    return run.end_ms // 1000, hash(msgspec.msgpack.encode(run))
