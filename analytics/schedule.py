"""When the analysis runs: APScheduler's clock, one worker, and a record of every run in table ``job_log``.

A surprise ends the run of a job, never the daemon: it is recorded, shown on the Health page and tried again next time.
"""

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec
from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler

from analytics.footprint import footprints
from analytics.judge import judge
from analytics.rightsizing import rightsize
from analytics.settings import AnalyticsSettings
from analytics.site import SiteSettings
from store.database import Database
from store.errors import StoreError
from store.rollup import HOLD_WAIT_MS, roll_up
from store.settings import StateSettings

log = logging.getLogger("gpuledger.schedule")

DAY_MS: Final = 86_400_000
DEFAULT_STATES: Final = StateSettings()


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """Something done again and again. ``work`` takes the store and the time and returns how many rows it made."""

    name: str
    every_s: float
    work: Callable[[Database, int], int]


class JobRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a job, as ``job_log`` keeps it."""

    job: str
    at_ms: int
    duration_ms: float
    ok: bool
    rows: int
    error: str


class JobRunner:
    """Runs jobs and records each run, whatever becomes of it."""

    def __init__(self, db: Database, now_ms: Callable[[], int], keep_days: int) -> None:
        self._db = db
        self._now_ms = now_ms
        self._keep_ms = keep_days * DAY_MS

    def run(self, job: Job) -> JobRun:
        """Runs a job now; returns its record. Raises nothing that the job raises."""
        at_ms, began_s = self._now_ms(), time.perf_counter()
        rows, error = 0, ""
        try:
            rows = job.work(self._db, at_ms)
        except StoreError as expected:
            error = str(expected)
            log.warning("job=%s failed error=%r", job.name, error)
        except Exception as surprise:
            error = f"{type(surprise).__name__}: {surprise}"
            log.exception("job=%s failed; it is tried again next time", job.name)
        done = JobRun(
            job=job.name,
            at_ms=at_ms,
            duration_ms=(time.perf_counter() - began_s) * 1000,
            ok=not error,
            rows=rows,
            error=error,
        )
        self.record(done)
        return done

    def record(self, done: JobRun) -> None:
        """Keeps the record of a run; raises nothing where the store does not take it."""
        try:
            with self._db.cursor() as cur, cur.transaction():
                cur.execute(
                    "INSERT INTO job_log BY NAME SELECT $job AS job, $at_ms AS at_ms, $duration_ms AS duration_ms, "
                    "$ok AS ok, $rows AS rows, $error AS error",
                    msgspec.structs.asdict(done),
                )
                cur.execute("DELETE FROM job_log WHERE at_ms < $1", [done.at_ms - self._keep_ms])
        except StoreError as error:
            log.warning("job=%s not recorded error=%r", done.job, str(error))


def analysis_jobs(settings: AnalyticsSettings, states: StateSettings, zone: str) -> tuple[Job, ...]:
    """Returns the jobs that make findings and recommendations from raw rows, in the order they build on each other."""
    every = settings.schedule
    return (
        Job(name="roll up", every_s=every.roll_up_s, work=lambda db, _now: _roll_up_all(db, states, zone)),
        Job(
            name="footprints",
            every_s=every.footprints_s,
            work=lambda db, now_ms: footprints(db, now_ms, settings.footprint, states),
        ),
        Job(
            name="judge",
            every_s=every.judge_s,
            work=lambda db, now_ms: judge(db, analysis_now_ms(db, now_ms), settings),
        ),
        Job(
            name="right-size",
            every_s=every.rightsize_s,
            work=lambda db, now_ms: rightsize(db, analysis_now_ms(db, now_ms), settings.rightsizing),
        ),
    )


def analysis_now_ms(db: Database, clock_ms: int) -> int:
    """Returns what counts as now: the clock, but the end of the data in a synthetic store, which is a story told once.

    Real data at rest gets the clock: rows of last week say nothing about what is idle right now.
    """
    if not db.synthetic:
        return clock_ms
    with db.cursor() as cur:
        found: int | None = cur.scalar("SELECT max(last_ms) FROM node")
    return clock_ms if found is None else found


def _roll_up_all(db: Database, states: StateSettings, zone: str) -> int:
    done = 0
    while taken := roll_up(db, settings=states, zone=zone, wait_ms=HOLD_WAIT_MS):
        done += taken
    return done


class Schedule:
    """The analysis of one store, in the background, one job at a time.

    ``more`` are jobs of other rooms, such as the weekly report; they come after the analysis. ``runner`` runs and
    records them.
    """

    def __init__(
        self,
        db: Database,
        analytics: AnalyticsSettings,
        site: SiteSettings,
        now_ms: Callable[[], int],
        *,
        states: StateSettings = DEFAULT_STATES,
        more: Iterable[Job] = (),
    ) -> None:
        self.jobs: Sequence[Job] = (*analysis_jobs(analytics, states, site.zone), *more)
        self.runner = JobRunner(db, now_ms, analytics.schedule.keep_days)
        # One worker: the jobs build on each other, and ingest and pages need the other core.
        self._scheduler = BackgroundScheduler(
            executors={"default": ThreadPoolExecutor(1)},
            job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None},
            timezone=site.zone,
        )

    def start(self) -> None:
        """Runs every job now, in order, and then each at its own pace."""
        # A job still busy when it is due again is passed over, which APScheduler would log as a warning each time.
        logging.getLogger("apscheduler").setLevel(logging.ERROR)
        start = datetime.now(UTC)
        for place, job in enumerate(self.jobs):
            self._scheduler.add_job(
                self.runner.run,
                "interval",
                args=(job,),
                seconds=job.every_s,
                id=job.name,
                next_run_time=start + timedelta(milliseconds=10 * place),
            )
        self._scheduler.start()

    def stop(self) -> None:
        """Waits for the job that runs and starts no other. Without :meth:`start` it does nothing."""
        if self._scheduler.running:
            self._scheduler.shutdown(wait=True)

    def run_all(self) -> list[JobRun]:
        """Runs every job once, here and now, and returns the records."""
        return [self.runner.run(job) for job in self.jobs]
