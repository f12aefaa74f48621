"""Runs about which nothing is ever found, whatever their figures: who is excluded, and why a run cannot be judged."""

from fnmatch import fnmatchcase
from typing import Final

from analytics.evidence import RunEvidence
from analytics.settings import AnalyticsSettings, ConfidenceSettings, ExcludedSettings
from analytics.wording import format_ratio

# Hours that end this way, or stand still, are the hardware's or the scheduler's, never the user's: gang scheduling and
# one mode of preemption suspend.
_OF_OTHERS: Final = {
    "NODE_FAIL": "its node failed",
    "BOOT_FAIL": "its node failed to boot",
    "PREEMPTED": "it was preempted",
    "REQUEUED": "it was put back into the queue",
    "REVOKED": "another cluster took it",
    "SUSPENDED": "it is suspended",
}
_ROUNDED_MS: Final = 5_000  # polls and accounting tell whole seconds, each for itself
_FAULTS: Final = {
    "gpu_lost": "a GPU was lost while it ran",
    "order_disputed": "it is disputed on its node which GPU is whose",
    "gpu_on_two_nodes": "two nodes report its GPU, so whose it is may be either's word",
    "xid": "a GPU reported a fault while it ran",
    "ecc_uncorrectable": "a GPU reported memory errors while it ran",
}


def is_excluded(run: RunEvidence, excluded: ExcludedSettings) -> bool:
    """Whether the site never wants this user, account, partition, QOS or job name judged."""
    asked = (
        (run.user, excluded.users),
        (run.account, excluded.accounts),
        (run.partition, excluded.partitions),
        (run.qos, excluded.qos),
        (run.name, excluded.names),
    )
    return any(matches(value, patterns) for value, patterns in asked)


def is_interactive(run: RunEvidence, names: tuple[str, ...]) -> bool:
    """Whether somebody sits at the run: no batch step, or a name that says so."""
    return run.kind == "job" and (bool(run.interactive) or matches(run.name, names))


def matches(value: str | None, patterns: tuple[str, ...]) -> bool:
    """Whether a name fits one of the patterns with * and ?; unknown fits none."""
    return value is not None and any(fnmatchcase(value, pattern) for pattern in patterns)


def bar(run: RunEvidence, settings: AnalyticsSettings) -> str | None:
    """Returns why the run is not judged, in words that follow "could not judge:", or None where it is."""
    return _not_theirs(run, settings) or _too_little(run, settings.confidence)


def _not_theirs(run: RunEvidence, settings: AnalyticsSettings) -> str | None:
    if run.shared:
        return "it shared its GPUs with other jobs"
    if run.kind == "job" and run.gpus_requested == 0:
        return "it did not ask for the GPUs, they came with its node"
    theirs = _OF_OTHERS.get(run.state.split(" ", 1)[0])
    if theirs:
        return theirs
    if run.faults:
        return _FAULTS.get(run.faults[0], f"its node reported {run.faults[0]} while it ran")
    braked = max((gpu.throttled_ms / gpu.held_ms for gpu in run.each if gpu.held_ms), default=0.0)
    if braked >= settings.throttled_ratio:
        return "a GPU was slowed by heat or a power brake for much of the time"
    if (run.untold_ms or 0) > _ROUNDED_MS:
        return "it was suspended and it is not known when"
    return None


def _too_little(run: RunEvidence, needed: ConfidenceSettings) -> str | None:
    # Reasons carry thresholds and no figures of the run: equal reasons are one line of a report.
    if run.gpus_seen < run.gpus:
        return "not all of its GPUs were measured"
    if not run.measurable and run.coverage < needed.medium_coverage:
        return "utilization cannot be measured on its GPUs"
    if run.coverage < needed.medium_coverage:
        wanted = format_ratio(needed.medium_coverage)
        return f"less than {wanted} of its time was measured"
    if run.min_rows < needed.medium_rows:
        return f"it has fewer than {needed.medium_rows} readings"
    return None
