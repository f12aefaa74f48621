"""One run through all rules: what is found, how sure it is, which hours it explains, what could not be decided."""

from string import Template
from typing import Any

import msgspec

from analytics.evidence import Ledger, RunEvidence, Seen, Taken, Undecided
from analytics.gpu_models import GpuModel
from analytics.judge.bars import bar, is_excluded, is_interactive
from analytics.model import Confidence
from analytics.rules import RULES
from analytics.rules.registry import Context, Params, Rule
from analytics.settings import AnalyticsSettings, ConfidenceSettings
from analytics.wording import format_duration

ALL_RULES = "all"
"""Stands for a rule where a run as a whole could not be judged."""


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """A finding as it is stored; ``fix`` is one line of advice and then lines to copy."""

    run_key: int
    rule: str
    rule_version: int
    start_ms: int
    end_ms: int
    gpu_ms: int
    confidence: str
    coverage: float
    title: str
    sentence: str
    fix: str
    numbers: str
    thresholds: str


class Unjudged(msgspec.Struct, frozen=True, kw_only=True):
    """A rule that could not be judged on a run; ``gpu_ms`` is what it might have explained."""

    run_key: int
    rule: str
    reason: str
    gpu_ms: int


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """What the rules say of one run. ``taken`` holds the time that each rule's finding explains."""

    run: RunEvidence
    found: tuple[Found, ...] = ()
    taken: tuple[tuple[str, Taken], ...] = ()
    unjudged: tuple[Unjudged, ...] = ()


def decide(
    run: RunEvidence,
    settings: AnalyticsSettings,
    now_ms: int,
    was_open: frozenset[str],
    models: tuple[GpuModel, ...] = (),
) -> Decision:
    """Returns what the rules say of a run.

    ``was_open`` holds the rules whose finding on it is open, ``models`` what its cluster has.
    """
    if run.length_ms < settings.confidence.short_s * 1000 or is_excluded(run, settings.excluded):
        return Decision(run=run)
    reason = bar(run, settings)
    if reason is not None:
        barred = Unjudged(run_key=run.run_key, rule=ALL_RULES, reason=reason, gpu_ms=run.held_gpu_ms)
        return Decision(run=run, unjudged=(barred,))
    run = run.answered_for
    ledger = Ledger(run)
    interactive = is_interactive(run, settings.interactive_names)
    found: list[Found] = []
    taken: list[tuple[str, Taken]] = []
    unjudged: list[Unjudged] = []
    for rule in RULES:
        params = settings.params(rule, run.partition, run.qos, run.account)
        if not (params.enabled and _applies(rule, run, interactive=interactive)):
            continue
        context = Context(
            now_ms=now_ms,
            explained_ms=ledger.explained_ms,
            found=frozenset(each.rule for each in found),
            interactive=interactive,
            was_open=rule.id in was_open,
            models=models,
        )
        outcome = _with_gaps(rule.condition(run, params, context), run)
        if isinstance(outcome, Undecided):
            unjudged.append(Unjudged(run_key=run.run_key, rule=rule.id, reason=outcome.reason, gpu_ms=run.idle_gpu_ms))
        elif outcome is not None:
            parts = [*ledger.take(outcome.claim), *outcome.busy]
            taken += [(rule.id, part) for part in parts]
            found.append(_found(rule, params, run, outcome, sum(part.gpu_ms for part in parts), settings))
    return Decision(run=run, found=tuple(found), taken=tuple(taken), unjudged=tuple(unjudged))


def confidence(run: RunEvidence, needed: ConfidenceSettings) -> Confidence:
    """Returns how sure a finding on this run can be; :func:`bar` has turned away what is below medium."""
    high = (
        run.coverage >= needed.high_coverage
        and run.min_rows >= needed.high_rows
        and (run.watched_ratio or 0.0) >= needed.high_watched_ratio
    )
    return Confidence.HIGH if high else Confidence.MEDIUM


def _applies(rule: Rule, run: RunEvidence, *, interactive: bool) -> bool:
    return (
        (rule.finished if run.finished else rule.running)
        and (rule.sessions or run.kind != "session")
        and (rule.interactive or not interactive)
    )


def _with_gaps(outcome: Seen | Undecided | None, run: RunEvidence) -> Seen | Undecided | None:
    """A rule that speaks of every second needs each long gap of its GPUs closed by the energy counter."""
    if not isinstance(outcome, Seen):
        return outcome
    open_ms = [gpu.longest_gap_ms for gpu in run.each if gpu.gpu_key in outcome.must_be_closed and not gpu.gaps_closed]
    if not open_ms:
        return outcome
    return Undecided(
        f"nothing was read for up to {format_duration(max(open_ms))} and the energy counter does not say what was done"
    )


def _found(rule: Rule, params: Params, run: RunEvidence, seen: Seen, gpu_ms: int, settings: AnalyticsSettings) -> Found:
    sure = confidence(run, settings.confidence)
    if seen.at_most is Confidence.MEDIUM:
        sure = Confidence.MEDIUM
    evidence = {"coverage": run.coverage, "rows": run.min_rows, "watched_ratio": run.watched_ratio}
    return Found(
        run_key=run.run_key,
        rule=rule.id,
        rule_version=rule.version,
        start_ms=run.start_ms if seen.start_ms is None else seen.start_ms,
        end_ms=run.end_ms if seen.end_ms is None else seen.end_ms,
        gpu_ms=gpu_ms,
        confidence=sure.value,
        coverage=run.coverage,
        title=rule.title.format_map(seen.numbers),
        sentence=seen.sentence,
        fix=_fix(params, run, seen),
        numbers=_json({**seen.numbers, **evidence}),
        thresholds=_json({**_thresholds(params), **msgspec.structs.asdict(settings.confidence)}),
    )


def _fix(params: Params, run: RunEvidence, seen: Seen) -> str:
    if params.fix:
        # A site writes shell lines here, so what is not one of ours, such as $SLURM_JOB_ID, stays as it is.
        values = {**seen.numbers, "job_id": run.job_id, "user": run.user or ""}
        lines = [Template(params.fix).safe_substitute(values)]
    else:
        lines = [seen.advice, *seen.lines]
    if params.help_url:
        lines.append(f"# more: {params.help_url}")
    if params.contact:
        lines.append(f"# ask: {params.contact}")
    return "\n".join(lines)


def _thresholds(params: Params) -> dict[str, Any]:
    return {name: value for name, value in msgspec.structs.asdict(params).items() if type(value) in (int, float)}


def _json(values: dict[str, Any]) -> str:
    return msgspec.json.encode(values, order="sorted").decode()
