"""How a figure was computed: query, window, coverage and thresholds, under a small button beside every figure."""

from dash import html

from analytics.model import Provenance
from analytics.wording import format_ratio, format_time
from dashboard.components.attributes import attributes
from dashboard.components.marks import icon


def how_computed(what: str, provenance: Provenance, formula: str | None = None) -> html.Details:
    """Returns the button and its panel. A details element: it works by keyboard and without any script."""
    window = provenance.window
    rows = [
        ("Query", provenance.query),
        ("Window", f"{format_time(window.start_ms, window.zone)} to {format_time(window.end_ms, window.zone)}"),
        ("Time zone", window.zone),
        ("Data to", format_time(provenance.data_to_ms, window.zone)),
        ("Coverage", format_ratio(provenance.coverage)),
        *((key.replace("_", " "), f"{number:g}") for key, number in provenance.thresholds.items()),
        *(
            (key, str(chosen))
            for key in provenance.filter.__struct_fields__
            if (chosen := getattr(provenance.filter, key)) is not None
        ),
    ]
    return html.Details(
        [
            html.Summary(icon("info"), **attributes(aria_label=f"How {what} is computed"), title="How computed"),
            html.Div(
                [
                    html.P(formula) if formula else None,
                    html.Dl([part for key, text in rows for part in (html.Dt(key), html.Dd(text))]),
                ],
                className="popover",
            ),
        ],
        className="computed",
    )
