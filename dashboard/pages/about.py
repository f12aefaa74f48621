"""About: method, words, thresholds in force, versions, and how to record one's own GPUs."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from dash import html
from dash.development.base_component import Component

from analytics.evidence_words import thresholds_said
from analytics.queries import findings
from analytics.rules import RULES
from analytics.wording import GLOSSARY, rule_title
from dashboard.components import cards, tables
from dashboard.components.findings import finding
from dashboard.components.links import copy_lines
from dashboard.components.marks import badge, state_label
from dashboard.page import Page
from dashboard.request import Request

STATE_MEANINGS: Final = (
    ("active", GLOSSARY["active"]),
    ("low", GLOSSARY["low"]),
    ("idle_held", GLOSSARY["idle, memory held"]),
    ("idle", GLOSSARY["idle, empty"]),
    ("unknown", GLOSSARY["not measured"]),
    ("unallocated", GLOSSARY["unallocated"]),
    ("stray", GLOSSARY["stray"]),
)
STEPS: Final = (
    ("Take the same clone to a machine with an NVIDIA driver and set it up:", ["make setup"]),
    ("See what works there, each gap with its fix:", [".venv/bin/gpuledger doctor --data .run"]),
    ("Record and show that machine's GPUs, in one process:", [".venv/bin/gpuledger up --data .run"]),
)
CLUSTER: Final = (
    ("On one host with a local disk:", ["gpuledger serve --config /etc/gpuledger/config.toml"]),
    ("On every node with GPUs:", ["gpuledger collect --config /etc/gpuledger/config.toml"]),
)


def body(request: Request) -> Sequence[Any]:
    """Returns the page; it needs no query but the address of a finding to explain."""
    return [
        _explained(request),
        cards.card(
            "Record your own: 3 steps",
            html.Ol([html.Li(_step(*step)) for step in STEPS], className="own-steps"),
            id="record-your-own",
        ),
        cards.card(
            "What the colours mean",
            tables.definition([(state_label(state), text) for state, text in STATE_MEANINGS]),
            id="states",
        ),
        cards.card("How hours are counted", _method(), id="method"),
        cards.card("Words", tables.definition(list(GLOSSARY.items())), id="words"),
        cards.card(
            "Thresholds in force",
            _thresholds(request),
            id="thresholds",
            note="From [analytics] of the configuration; overrides by partition, QOS or account come on top.",
        ),
        cards.card("This installation", _installation(request), id="installation"),
    ]


def _explained(request: Request) -> Component | None:
    asked = request.address.get("finding")
    if not asked or not asked.isdigit() or len(asked) > 12:
        return None
    found = findings.explain(request.cur, request.viewer, int(asked))
    return cards.card("This finding", finding(found, request.site, with_run=True), id="explained") if found else None


def _step(text: str, lines: list[str]) -> list[Any]:
    return [html.P(text), copy_lines(lines, "the command")]


def _method() -> Component:
    return html.Div(
        [
            html.P(
                "A GPU-hour is allocated from the start of a job to its end, less the time it was suspended. "
                "Each of them is in exactly one state, so active, low, idle and not measured add up to allocated."
            ),
            html.P(
                "Utilization is the driver's: the share of time in which at least one kernel ran. It does not say how "
                "much of the GPU that kernel filled; where the GPU offers SM activity, it stands beside it."
            ),
            html.P(
                "Unknown is never zero and never idle: a reading that failed or is missing lowers the coverage, and "
                "nothing is said about a job on missing data. Every figure is rounded once, when it is shown."
            ),
        ]
    )


def _thresholds(request: Request) -> Component:
    columns = [tables.Column(title="Finding"), tables.Column(title="Thresholds")]
    rows = [
        (rule_title(rule.id), _params(msgspec.to_builtins(getattr(request.services.analytics.rules, rule.id))))
        for rule in RULES
    ]
    return tables.table(columns, rows, caption="Thresholds of each rule")


def _params(values: dict[str, Any]) -> Component:
    if values.get("enabled") is False:
        return html.Span("switched off", className="muted")
    return html.Span([badge(f"{name} {value}") for name, value in thresholds_said(values)], className="badges")


def _installation(request: Request) -> Component:
    site, store = request.site, request.store
    return tables.definition(
        [
            ("Site", site.name),
            ("Time zone", site.zone),
            ("Whom to ask", site.contact or "not configured: [site] contact"),
            (
                "Documentation",
                html.A(site.docs_url, href=site.docs_url)
                if site.docs_url.startswith(("https://", "http://"))
                else "not configured: [site] docs_url",
            ),
            ("Clusters", ", ".join(store.clusters) or "none yet"),
            ("Version", request.services.version or "unknown"),
            ("Data directory", html.Code(str(request.cur.database.directory))),
        ]
    )


PAGE: Final = Page(
    module="about",
    path="/about",
    name="About",
    question="How are these numbers made?",
    body=body,
    icon="about",
    group="Trust",
    order=90,
)
