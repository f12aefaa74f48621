"""A finding with its evidence, and a recommendation with its lines: help, not blame."""

from collections.abc import Collection, Sequence
from typing import Any

from dash import html
from dash.development.base_component import Component

from analytics.evidence_words import numbers_said, thresholds_said
from analytics.queries.finding_groups import FindingGroup
from analytics.queries.findings import FindingRow, UnjudgedRow
from analytics.queries.recommendations import RecommendationRow
from analytics.recommendation_words import days, gain
from analytics.site import SiteSettings
from analytics.wording import format_gpu_h, format_ratio, format_time, plural
from dashboard.components.attributes import attributes
from dashboard.components.links import before_after, copy_lines, run_link
from dashboard.components.marks import badge, name
from dashboard.components.tables import definition
from dashboard.filters import Address


def finding(row: FindingRow, site: SiteSettings, *, with_run: bool = False, running: bool = False) -> Component:
    """Returns a finding: what was seen, what helps, and, folded, the numbers it rests on.

    ``running`` says that the run still lasts, so that the finding may be true this moment.
    """
    return _article(row, site, format_gpu_h(row.gpu_h), with_run=with_run, running=running)


def finding_group(group: FindingGroup, site: SiteSettings, running: Collection[int]) -> Component:
    """Returns what one change would mend in several runs: their hours together, and the largest as the example."""
    first = group.first
    hours = format_gpu_h(group.gpu_h) + (f" in {plural(group.runs, 'run')}" if group.runs > 1 else "")
    return _article(first, site, hours, with_run=True, running=first.run_key in running)


def _article(row: FindingRow, site: SiteSettings, hours: str, *, with_run: bool, running: bool) -> Component:
    return html.Article(
        [
            html.Div(
                [
                    html.H3(row.title),
                    html.Span(
                        [
                            badge(hours, title="GPU-hours that this explains"),
                            badge(f"{row.confidence} confidence"),
                            badge("right now", "accent") if row.open and running else None,
                        ],
                        className="badges",
                    ),
                ],
                className="finding-head",
            ),
            html.P(
                [run_link(row.job_id, row.cluster), " · ", row.sentence] if with_run and row.job_id else row.sentence
            ),
            *_fix(row.fix),
            html.Details([html.Summary("Evidence", className="fold"), _evidence(row, site)]),
        ],
        className="finding",
        id=f"finding-{row.id}",
        **attributes(data_finding=str(row.id), data_rule=row.rule),
    )


def _fix(fix: str) -> list[Component]:
    """The first line says what helps; the others, where there are any, are for copying."""
    advice, _, lines = fix.partition("\n")
    said = html.P([html.Strong("What helps: "), advice], className="fix")
    return [said, copy_lines(lines.split("\n"), "the lines that help")] if lines.strip() else [said]


def _evidence(row: FindingRow, site: SiteSettings) -> Component:
    return html.Div(
        [
            definition(
                [
                    ("Seen", f"{format_time(row.start_ms, site.zone)} to {format_time(row.end_ms, site.zone)}"),
                    ("Coverage", format_ratio(row.coverage)),
                    *numbers_said(row.numbers, site.zone),
                    *((f"threshold: {key}", text) for key, text in thresholds_said(row.thresholds)),
                ]
            ),
            html.P(ask(site), className="muted"),
        ],
        className="evidence",
    )


def ask(site: SiteSettings) -> Any:
    """Returns how to say that something is wrong, and whom to ask, as the site has configured it."""
    if not site.contact:
        return "Is something here wrong? Tell the people who run this cluster."
    target = f"mailto:{site.contact}" if "@" in site.contact and " " not in site.contact else None
    who: Any = html.A(site.contact, href=target) if target else site.contact
    return html.Span(["Is something here wrong? Ask ", who, "."])


def recommendation(row: RecommendationRow, *, with_user: bool = False, mends: Sequence[FindingGroup] = ()) -> Component:
    """Returns a recommendation: the person's gain first, then the lines to copy, then what it rests on.

    ``mends`` are findings that it answers.
    """
    frees = f"Frees {row.freed}. " if row.gpu_h_week > 0 else ""
    rests = f"It {row.rests_on}."
    return html.Article(
        [
            html.Div(
                [
                    html.H3([row.title, ": ", html.Span(f"{row.current} → {row.proposed}", className="nowrap")]),
                    html.Span(
                        [
                            badge(f"{row.confidence} confidence"),
                            badge("provisional", "amber", "Fewer than 20 runs: shown here, not mailed")
                            if row.provisional
                            else None,
                        ],
                        className="badges",
                    ),
                ],
                className="finding-head",
            ),
            html.P(
                ["For ", name(row.name, "no name"), *([" by ", name(row.user)] if with_user else [])], className="muted"
            ),
            html.P(gain(row.gain), className="fix") if row.gain else None,
            before_after(row.before_lines, row.after_lines),
            *(html.P(_mended(group), className="muted") for group in mends),
            html.P([f"{frees}{rests} ", _its_runs(row)], className="muted"),
        ],
        className="finding",
        id=f"recommendation-{row.id}",
        **attributes(data_recommendation=row.id, data_value=repr(row.gpu_h_week)),
    )


def _mended(group: FindingGroup) -> str:
    return f"Seen in {plural(group.runs, 'run')}: {group.first.title}, {format_gpu_h(group.gpu_h)}."


def _its_runs(row: RecommendationRow) -> Component:
    """All runs of its family over the same time, of which it rests on those that can be compared."""
    address = Address("/jobs", {"family": row.family, "range": f"{days(row.over_ms)}d"})
    return html.A(f"See {_all(row.family_runs)}", href=address.href, className="strong-link")


def _all(runs: int) -> str:
    return "the run" if runs == 1 else f"all {plural(runs, 'run')}"


def could_not_judge(rows: list[UnjudgedRow]) -> Component | None:
    """Returns what could not be judged, and why: nobody is called idle on missing data."""
    if not rows:
        return None
    return html.Details(
        [
            html.Summary(f"Could not judge: {plural(len(rows), 'rule')}", className="fold"),
            html.Ul([html.Li([html.Strong(row.title), f": {row.reason}"]) for row in rows], className="plain-list"),
        ],
        className="unjudged",
    )
