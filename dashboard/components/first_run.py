"""The checklist of a new installation; it goes when all is green."""

from dash import html
from dash.development.base_component import Component

from analytics.queries import first_run
from analytics.wording import format_time
from dashboard.components import cards
from dashboard.components.marks import icon
from dashboard.request import Request


def checklist(request: Request) -> Component | None:
    """Returns what is done and what comes when, or nothing once complete."""
    progress = first_run.progress(request.cur, request.viewer, request.now_ms, request.zone)
    if progress.complete:
        return None
    steps = [
        html.Li(
            [
                icon("done" if step.done else "waiting"),
                html.Div(
                    [
                        html.Span(step.text),
                        html.Span(f" · about {format_time(step.due_ms, request.zone)}", className="muted")
                        if step.due_ms and not step.done
                        else None,
                        html.Div(html.Code(step.hint), className="hint") if step.hint and not step.done else None,
                    ]
                ),
                html.Span("done" if step.done else "to come", className="visually-hidden"),
            ],
            className="step step-done" if step.done else "step",
        )
        for step in progress.steps
    ]
    return cards.card("First steps", html.Ol(steps, className="steps"), id="first-run", note=progress.sentence)
