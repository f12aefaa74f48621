"""A recommendation before it is stored."""

import hashlib

import msgspec

from analytics.model import Confidence
from analytics.rightsizing.history import History, PastRun
from analytics.settings import RightsizingSettings


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    """One row of table ``recommendation``; the lines are joined by line feeds, ``run_keys`` is a JSON list."""

    recommendation_id: str
    family: str
    kind: str
    cluster: str
    user_name: str | None
    account: str | None
    partition: str | None
    model: str | None
    name: str | None
    current: str
    proposed: str
    before_lines: str
    after_lines: str
    gain: str
    gpu_ms_week: int
    energy_j_week: float | None
    confidence: str
    provisional: bool
    runs: int
    submissions: int
    would_have_failed: int
    run_keys: str
    missing: str | None
    made_ms: int
    last_run_ms: int
    family_runs: int
    over_ms: int


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """What differs between the kinds of recommendation."""

    kind: str
    current: str
    proposed: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    gain: str
    gpu_ms_week: int = 0
    energy_j_week: float | None = None
    would_have_failed: int


def proposal(history: History, change: Change, settings: RightsizingSettings, now_ms: int) -> Proposal:
    """Returns the row. Where evidence is missing it says what, and its hours count nowhere."""
    latest: PastRun = history.latest
    covered = min((run.coverage for run in history.comparable), default=0.0)
    provisional = len(history.comparable) < settings.provisional_runs
    high = not provisional and covered >= settings.high_coverage
    key = hashlib.sha256(f"{change.kind}:{latest.family}".encode()).hexdigest()
    return Proposal(
        recommendation_id=f"{change.kind}-{key[:12]}",
        family=latest.family,
        kind=change.kind,
        cluster=latest.cluster,
        user_name=latest.user,
        account=latest.account,
        partition=latest.partition,
        model=latest.model,
        name=latest.name if len({run.name for run in history.runs}) == 1 else latest.name_pattern,
        current=change.current,
        proposed=change.proposed,
        before_lines="\n".join(change.before),
        after_lines="\n".join(change.after),
        gain=change.gain,
        gpu_ms_week=change.gpu_ms_week,
        energy_j_week=change.energy_j_week,
        confidence=(Confidence.HIGH if high else Confidence.MEDIUM).value,
        provisional=provisional,
        runs=len(history.comparable),
        submissions=history.submissions,
        would_have_failed=change.would_have_failed,
        run_keys=msgspec.json.encode([run.run_key for run in history.comparable]).decode(),
        missing=history.missing(settings),
        made_ms=now_ms,
        last_run_ms=max(run.end_ms for run in history.runs),
        family_runs=len(history.runs),
        over_ms=history.over_ms(now_ms),
    )
