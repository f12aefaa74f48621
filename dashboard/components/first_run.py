"""The checklist of a new installation; it goes when all is green."""

from typing import Final

from dash import html
from dash.development.base_component import Component
from flask import current_app

from analytics.queries import first_run
from dashboard.components import cards
from dashboard.components.marks import coded, icon
from dashboard.request import Request

COMPLETE: Final = "gpuledger_first_run_complete"
"""Key under which the Flask app remembers that every step was done."""


def checklist(request: Request) -> Component | None:
    """Returns what is done and what comes when, or nothing once it was complete: it does not come back."""
    if current_app.extensions.get(COMPLETE):
        return None
    progress = first_run.progress(request.cur, request.viewer, request.now_ms, request.zone)
    if progress.complete:
        current_app.extensions[COMPLETE] = True
        return None
    steps = [
        html.Li(
            [
                icon("done" if step.done else "waiting"),
                html.Div(
                    [
                        html.Span(step.text),
                        html.Div(coded(step.hint), className="hint") if step.hint and not step.done else None,
                    ]
                ),
                html.Span("done" if step.done else "to come", className="visually-hidden"),
            ],
            className="step step-done" if step.done else "step",
        )
        for step in progress.steps
    ]
    return cards.card("First steps", html.Ol(steps, className="steps"), id="first-run", note=progress.sentence)
