"""The thread between inbox and database: stores what was acknowledged, and keeps the rollups close behind."""

import logging
import threading
import time
from collections.abc import Callable
from typing import Final

from analytics.schedule import JobRun, JobRunner
from gpuledger.wiring import clock_ms
from store.database import Database
from store.errors import StoreError, StoreStopped
from store.inbox import Batch, Inbox
from store.inbox_files import Step
from store.ingest import ingest
from store.rollup import HOLD_WAIT_MS, roll_up
from store.settings import StateSettings

log = logging.getLogger("gpuledger.ingest")
NAME: Final = "ingest"
IDLE_WAIT_S: Final = 1.0
RETRY_S: Final = 5.0
DRAIN_S: Final = 2.0
"""Longest time that a hub goes on storing once it was asked to stop: what is left is on disk for the next one."""
BATCH_SHARE: Final = 0.05
"""Share of its time that the thread gives to storing while little comes in.

A part of what a batch costs depends on the tables and not on what is in it: of 12,500 nodes, a segment costs a quarter
less in a batch of 1,000 than in one of 400.
"""
BATCH_GAP_S: Final = 5.0
"""Longest time from the begin of one batch to the next for that."""
FULL_BATCH: Final = 1280
"""Segments for which it does not wait that long."""
ROLLUP_SHARE: Final = 0.05
"""Share of its time that the thread gives to rollups: how much they cost depends little on how much is to be done."""
ROLLUP_GAP_S: Final = 10.0
"""Longest time for which they are put off for that."""


class Ingester:
    """Runs until asked to stop, then takes in what is left. ``on_stopped`` hears when the database gave up.

    ``zone`` is the site's, whose days the rollups have. ``runner`` records for the Health page that nothing can be
    stored: silent nodes would be the wrong thing to look at.
    ``step`` hears the name of each step before it is done.
    """

    def __init__(
        self,
        database: Database,
        inbox: Inbox,
        states: StateSettings,
        runner: JobRunner,
        on_stopped: Callable[[StoreStopped], None],
        step: Step = lambda _: None,
        zone: str | None = None,
    ) -> None:
        self._database = database
        self._inbox = inbox
        self._states = states
        self._zone = zone
        self._on_stopped = on_stopped
        self._step = step
        self._runner = runner
        self._problem = ""
        self._stopping = threading.Event()
        self._batch_after = 0.0
        self._rollups_after = 0.0
        self._drained_by = 0.0
        self._thread = threading.Thread(target=self._run, name=NAME)

    def start(self) -> None:
        """Begins."""
        self._thread.start()

    def stop(self) -> None:
        """Takes in what was acknowledged, for DRAIN_S at most, and ends."""
        self._drained_by = time.monotonic() + DRAIN_S
        self._stopping.set()
        self._inbox.wake()
        self._thread.join()

    def _run(self) -> None:
        while True:
            try:
                busy = self._once()
            except StoreStopped as error:
                self._on_stopped(error)
                return
            except StoreError as error:
                log.warning("ingest=waiting error=%r; the inbox keeps the segments", str(error))
                self._tell(str(error))
                if self._stopping.wait(RETRY_S):
                    return
            except Exception as error:
                log.exception("ingest=failed; the inbox keeps the segments, next try in %.0f s", RETRY_S)
                self._tell(f"{type(error).__name__}: {error}")
                if self._stopping.wait(RETRY_S):
                    return
            else:
                self._tell("")
                if self._stopping.is_set() and (not busy or time.monotonic() > self._drained_by):
                    return
                if not busy:
                    self._rest()

    def _tell(self, problem: str) -> None:
        """Records, for the Health page, that it fails and that it works again; not every try."""
        if problem != self._problem:
            self._problem = problem
            run = JobRun(job=NAME, at_ms=clock_ms(), duration_ms=0, ok=not problem, rows=0, error=problem)
            self._runner.record(run)

    def _batch(self) -> Batch:
        """Returns what is to be stored now, which may be nothing although some wait."""
        full = self._inbox.waiting >= FULL_BATCH or self._stopping.is_set()
        if not full and time.monotonic() < self._batch_after:
            return Batch(0, [])
        return self._inbox.take(FULL_BATCH)

    def _rest(self) -> None:
        """Waits for the next batch."""
        left_s = self._batch_after - time.monotonic()
        if left_s > 0:
            self._stopping.wait(left_s)
        else:
            self._inbox.wait(IDLE_WAIT_S)

    def _once(self) -> bool:
        """Whether there was anything to do."""
        began = time.monotonic()
        batch = self._batch()
        if batch.count:
            self._step("before the transaction")
            ingest(self._database, batch.entries, clock_ms())
            self._step("after the transaction")
            self._inbox.done(batch)
            self._batch_after = began + min((time.monotonic() - began) / BATCH_SHARE, BATCH_GAP_S)
        if time.monotonic() < self._rollups_after and not self._stopping.is_set():
            return bool(batch.count)
        self._step("before the rollups")
        began = time.monotonic()
        rolled = roll_up(self._database, settings=self._states, zone=self._zone, wait_ms=HOLD_WAIT_MS)
        ended = time.monotonic()
        self._step("after the rollups")
        self._rollups_after = ended + min((ended - began) * (1 / ROLLUP_SHARE - 1), ROLLUP_GAP_S)
        return bool(batch.count or rolled)
