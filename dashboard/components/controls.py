"""Filter controls. Presets and tabs are plain links; the rest writes itself into the address (assets/ledger.js)."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Final

import dash_mantine_components as dmc
from dash import ALL, html
from dash.development.base_component import Component

from analytics.reports.weeks import last_complete_week
from analytics.requests import FILTER_NAMES
from analytics.wording import local
from dashboard.components.attributes import attributes
from dashboard.filters import RANGES, Address
from dashboard.request import Request

EVERY: Final = {"filter": ALL, "unset": ALL}
"""Pattern of the ids of all controls: the name of their parameter and the value that leaves it out."""


def control_id(name: str, unset: str = "") -> dict[str, str]:
    """Returns the id of the control of parameter ``name``."""
    return {"filter": name, "unset": unset}


def links(address: Address, parameter: str, choices: Mapping[str, str], current: str, label: str) -> html.Nav:
    """Returns choices as a row of links that set ``parameter``; the current one is marked."""
    return html.Nav(
        [
            html.A(
                text,
                href=address.change(**{parameter: value}).href,
                className="choice",
                **attributes(aria_current="true" if value == current else None),
            )
            for value, text in choices.items()
        ],
        className="choices",
        **attributes(aria_label=label),
    )


def presets_of(default: str) -> dict[str, str]:
    """Returns the periods to choose from, shortest first, with the one that the page opens with."""
    offered = {default: f"{default[:-1]} {default[-1]}"} | RANGES
    return dict(sorted(offered.items(), key=lambda one: int(one[0][:-1]) * (24 if one[0].endswith("d") else 1)))


def time_range(request: Request) -> html.Div:
    """Returns the presets and the field for any range of days."""
    address = request.address.change(**{"from": None, "to": None})
    week = last_complete_week(request.as_of_ms, request.zone)
    presets = presets_of(request.default_range) | {week: "Last week"}
    custom = request.view.span not in presets
    window = request.window
    start = local(window.start_ms, request.zone).date()
    # The window is half open: its last day is the one that holds the last moment before its end.
    end = (local(window.end_ms, request.zone) - timedelta(milliseconds=1)).date()
    return html.Div(
        [
            html.Span(request.view.since, className="resolution", id="since") if request.view.since else None,
            links(address, "range", presets, request.view.span, "Period"),
            dmc.DatePickerInput(
                id=control_id("dates"),
                type="range",
                value=[start.isoformat(), end.isoformat()] if custom else [None, None],
                placeholder="Other dates",
                valueFormat="D MMM",
                size="sm",
                clearable=False,
                maxDate=local(request.as_of_ms, request.zone).date().isoformat(),
                className="dates",
                **attributes(aria_label="Period from and to"),
            ),
        ],
        className="time-range",
    )


def select(
    request: Request, name: str, label: str, values: Sequence[str], texts: Mapping[str, str] | None = None
) -> Component:
    """Returns a searchable choice of one value; the current one is offered even where the data does not hold it."""
    current = request.address.get(name)
    offered = list(dict.fromkeys([*values, *([current] if current else [])]))
    return dmc.Select(
        id=control_id(name),
        data=[{"value": value, "label": (texts or {}).get(value, value)} for value in offered],
        value=current,
        placeholder=label,
        searchable=True,
        clearable=True,
        size="sm",
        className="filter",
        nothingFoundMessage="Nothing of that name",
        **attributes(aria_label=label),
    )


def number(request: Request, name: str, label: str, *, highest: float | None = None) -> Component:
    """Returns a field for a lower or upper bound."""
    text = request.address.get(name)
    try:
        current = float(text) if text else ""
    except ValueError:
        current = ""
    return dmc.NumberInput(
        id=control_id(name),
        value=current,
        placeholder=label,
        min=0,
        size="sm",
        debounce=600,
        hideControls=True,
        className="filter filter-number",
        **({"max": highest} if highest is not None else {}),
        **attributes(aria_label=label),
    )


def text(request: Request, name: str, label: str) -> Component:
    """Returns a field for a part of a name."""
    return dmc.TextInput(
        id=control_id(name),
        value=request.address.get(name) or "",
        placeholder=label,
        size="sm",
        debounce=500,
        className="filter",
        **attributes(aria_label=label),
    )


def filter_bar(request: Request, controls: Sequence[Component]) -> html.Div:
    """Returns the controls in a row and, where any filter is set, the link that clears them all."""
    one_family = html.Span("one family of runs", className="badge") if request.filter.family else None
    is_set = any(name in request.address.params for name in FILTER_NAMES)
    clear = request.address.change(**dict.fromkeys(FILTER_NAMES))
    return html.Div(
        [*controls, one_family, html.A("Clear filters", href=clear.href, className="quiet-link") if is_set else None],
        className="filter-bar",
        role="group",
        **attributes(aria_label="Filters"),
    )
