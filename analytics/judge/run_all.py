"""Every run that is due, in batches: load, decide, keep."""

from typing import Final

from analytics.judge.decide import decide
from analytics.judge.keep import keep
from analytics.judge.load import evidence, gpu_models, open_rules, runs_to_judge
from analytics.rules import RULES
from analytics.settings import AnalyticsSettings
from store.database import Database

BATCH: Final = 2000
"""Runs decided in one transaction."""


def judge(db: Database, now_ms: int, settings: AnalyticsSettings) -> int:
    """Applies the rules to runs with a new footprint or an open finding; returns the number of runs.

    Args:
        db: the store.
        now_ms: the clock; for data at rest the moment the data reaches to. Rows older than a few intervals before it
            say nothing about "right now".
        settings: thresholds, exclusions and the words of fixes.
    """
    passing = [rule.id for rule in RULES if not rule.finished]
    done: set[int] = set()
    with db.cursor() as cur:
        # Runs that last and have an open finding stay due, so a round ends where it meets what it has seen.
        while run_keys := [key for key in runs_to_judge(cur, BATCH + len(done)) if key not in done]:
            opened = open_rules(cur, run_keys)
            runs = evidence(cur, run_keys, settings.fault_events)
            models = gpu_models(cur, {run.cluster for run in runs})
            decisions = [
                decide(run, settings, now_ms, frozenset(opened.get(run.run_key, ())), models[run.cluster])
                for run in runs
            ]
            keep(cur, decisions, passing, now_ms)
            done.update(run_keys)
    return len(done)
