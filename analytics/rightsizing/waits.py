"""How long people waited in the queue with one request and with another: what a change gives its user."""

from typing import Final

import msgspec

from analytics.recommendation_words import COSTS, NOT_KNOWN
from analytics.rightsizing.history import PastRun
from analytics.settings import RightsizingSettings
from analytics.wording import format_duration
from store.database import Cursor

_BY_GPUS: Final = """
SELECT median(f.start_ms - submit_ms)::DOUBLE AS median_ms, count(*)::INTEGER AS runs
FROM footprint_run f JOIN run USING (run_key)
WHERE submit_ms IS NOT NULL AND f.start_ms >= submit_ms AND f.start_ms >= $from_ms AND cluster = $cluster
  AND ($anywhere OR "partition" IS NOT DISTINCT FROM $partition) AND req_gpus = $gpus
  AND ($least_ms::BIGINT IS NULL OR timelimit_ms >= $least_ms OR timelimit_unlimited)
  AND ($most_ms::BIGINT IS NULL OR timelimit_ms <= $most_ms)
  AND EXISTS (SELECT 1 FROM allocation JOIN gpu USING (gpu_key)
              WHERE allocation.run_key = f.run_key AND model IS NOT DISTINCT FROM $model)"""


class Wait(msgspec.Struct, frozen=True):
    """The median time between submission and start, and of how many runs."""

    median_ms: float | None
    runs: int


class Waits:
    """Queue waits of the last ``wait_days`` before ``now_ms``, same cluster, partition and GPU model."""

    def __init__(self, cur: Cursor, now_ms: int, settings: RightsizingSettings) -> None:
        self._cur = cur
        self._from_ms = now_ms - settings.wait_days * 86_400_000
        self._min_runs = settings.wait_min_runs

    def by_gpus(self, like: PastRun, gpus: int) -> Wait:
        """Returns the wait of runs that asked for this many GPUs."""
        return self._wait(like, gpus, None, None)

    def on_model(self, like: PastRun, model: str | None) -> Wait:
        """Returns the wait of runs with as many GPUs of another model, in whatever partition has it."""
        return self._wait(msgspec.structs.replace(like, model=model), like.asked_gpus, None, None, anywhere=True)

    def by_time(self, like: PastRun, at_least_ms: int | None = None, at_most_ms: int | None = None) -> Wait:
        """Returns the wait of runs with as many GPUs and such a time limit."""
        return self._wait(like, like.asked_gpus, at_least_ms, at_most_ms)

    def sentence(self, now: Wait, then: Wait, those_then: str, those_now: str) -> str:
        """Returns what the change would give or cost, as far as enough runs on both sides say so; else empty."""
        if now.median_ms is None or then.median_ms is None or min(now.runs, then.runs) < self._min_runs:
            return NOT_KNOWN
        if format_duration(then.median_ms) == format_duration(now.median_ms):
            return ""
        compared = f"{format_duration(then.median_ms)} against {format_duration(now.median_ms)}"
        if then.median_ms < now.median_ms:
            return f"Shorter wait: {those_then} started after {compared} for {those_now}."
        return f"{COSTS} a longer wait; {those_then} started after {compared} for {those_now}."

    def _wait(
        self, like: PastRun, gpus: int, least_ms: int | None, most_ms: int | None, *, anywhere: bool = False
    ) -> Wait:
        asked = {
            "from_ms": self._from_ms,
            "cluster": like.cluster,
            "partition": like.partition,
            "anywhere": anywhere,
            "model": like.model,
            "gpus": gpus,
            "least_ms": least_ms,
            "most_ms": most_ms,
        }
        return self._cur.one(_BY_GPUS, asked, Wait) or Wait(None, 0)
