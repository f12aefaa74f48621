"""The one thing to do: the open recommendation or finding with the most GPU-hours behind it."""

import msgspec

from analytics.queries.findings import FindingRow, findings
from analytics.queries.pending import NOT_JUDGED
from analytics.queries.recommendations import RecommendationRow, recommendations
from analytics.reports.model import Context, Section
from analytics.reports.registry import section
from analytics.wording import format_gpu_h


@section(20)
def decision(context: Context) -> Section | None:
    """One decision with owner, effect and lines to copy; None where there is nothing to change."""
    best = best_recommendations(context, 1)
    found = findings(context.cur, context.viewer, context.window, context.where, limit=1).items
    title = "The one thing to do" if context.scope.kind == "user" else "The one decision for you"
    # A recommendation frees hours every week, a finding says what they were: the larger one comes first.
    if best and (not found or best[0].gpu_h_week >= found[0].gpu_h):
        return _recommended(context, best[0], title)
    if found:
        return _found(context, found[0], title)
    nothing = f"Nothing to change: no {context.words.run} kept GPUs idle for long."
    return Section(title=title, paragraphs=(NOT_JUDGED if context.loading else nothing,))


def best_recommendations(context: Context, limit: int) -> list[RecommendationRow]:
    """Returns the recommendations with the most GPU-hours a week that rest on enough runs to be mailed."""
    # A family that ran on after the week is the more worth a word: recommendations are as of now, not as of then.
    window = msgspec.structs.replace(context.window, end_ms=max(context.window.end_ms, context.data_to_ms))
    page = recommendations(context.cur, context.viewer, window, context.where, limit=50)
    sure = [each for each in page.items if not each.provisional and each.status in {"new", "notified"}]
    return sure[:limit]


def _recommended(context: Context, row: RecommendationRow, title: str) -> Section:
    frees = f"That would free {row.freed}; it" if row.gpu_h_week > 0 else "It"
    effect = f"{frees} {row.rests_on}."
    text = f"{row.title} for {row.name or 'this family'}: {row.proposed} instead of {row.current}."
    return Section(
        title=title,
        paragraphs=(
            context.link(text, "/recommendations"),
            *filter(None, (row.gain,)),
            effect,
            *_next_step(context, row.user, "send {} the lines below: only the owner can change the request."),
        ),
        before_lines=tuple(row.before_lines),
        after_lines=tuple(row.after_lines),
    )


def _found(context: Context, row: FindingRow, title: str) -> Section:
    whose = "" if context.scope.kind == "user" else f" ({row.user or 'unknown user'})"
    text = f"{row.title}: {context.words.run} {row.job_id or '?'}{whose}, {format_gpu_h(row.gpu_h)}."
    job = context.link(text, f"/jobs/{row.job_id}", whole=True) if row.job_id else text
    fix, *lines = row.fix.splitlines()
    step = _next_step(context, row.user, "ask {} about it: what a {run} was meant to do is not in the readings.")
    return Section(title=title, paragraphs=(job, row.sentence, fix, *step), lines=tuple(lines))


def _next_step(context: Context, user: str | None, sentence: str) -> tuple[str, ...]:
    """Returns what somebody who reads about others' runs can do; whoever owns the run reads the fix itself."""
    if context.scope.kind == "user":
        return ()
    return (f"Next step: {sentence.format(user or 'its owner', run=context.words.run)}",)
