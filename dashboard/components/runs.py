"""Runs as a plain table, and as a card for what runs now."""

from collections.abc import Sequence
from typing import Any

from dash import html
from dash.development.base_component import Component

from analytics.queries.jobs import JobRow
from analytics.queries.me import MyRun
from analytics.wording import format_count, format_duration, format_pct, number_gpu_h, run_state
from dashboard.components.attributes import attributes
from dashboard.components.links import finding_links, run_link
from dashboard.components.marks import coverage_badge, moment, name, short_model, strip, value
from dashboard.components.tables import Column, table


def run_table(rows: Sequence[JobRow], zone: str, noun: str, *, neutral: bool = False) -> Component:
    """Returns runs, newest first as given; ``neutral`` draws idle as a grey pattern (a person's own page)."""
    columns = [
        Column(title=noun.capitalize()),
        Column(title="Name", phone=False),
        Column(title="State", phone=False),
        Column(title="Start", phone=False),
        Column(title="GPU-h", number=True),
        Column(title="Utilization", number=True),
        Column(title="What the GPUs did"),
        Column(title="Findings"),
    ]
    return table(columns, [_row(row, zone, neutral=neutral) for row in rows], caption=f"Recent {noun}s")


def _row(row: JobRow, zone: str, *, neutral: bool) -> Sequence[Any]:
    return (
        run_link(row.job_id, row.cluster),
        name(row.name, "no name"),
        run_state(row.state),
        moment(row.start_ms, zone),
        number_gpu_h(row.gpu_h),
        html.Span([value(format_pct(row.util_mean_pct), "no usable reading"), coverage_badge(row.coverage)]),
        strip(row.strip, neutral=neutral),
        finding_links(row.findings, row.job_id, row.cluster),
    )


def running_card(run: MyRun) -> Component:
    """Returns a running run of one's own: strip, one sentence, time left."""
    left = f"{format_duration(run.left_ms)} left" if run.left_ms is not None else "no time limit"
    return html.Article(
        [
            html.Div(
                [
                    run_link(run.job.job_id, run.job.cluster),
                    name(run.job.name, "no name"),
                    html.Span(f"{format_count(run.job.gpus)} × {short_model(run.job.model)}", className="muted nowrap"),
                    html.Span(left, className="muted nowrap push"),
                ],
                className="run-head",
            ),
            strip(run.job.strip, neutral=True),
            html.P(run.sentence),
        ],
        className="run-card",
        **attributes(data_run=str(run.job.run_key)),
    )
