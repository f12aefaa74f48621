"""Links that keep the address, and lines to copy."""

from collections.abc import Sequence

from dash import html
from dash.development.base_component import Component

from analytics.queries.jobs import FindingMark
from dashboard.components.attributes import attributes
from dashboard.components.marks import icon, name
from dashboard.filters import Address, job_path, node_path


def run_link(job_id: str, cluster: str | None = None) -> html.A:
    """Returns the link to a run's page."""
    return html.A(name(job_id), href=job_path(job_id, cluster), className="strong-link tabular")


def node_link(node: str) -> html.A:
    """Returns the link to a node's page."""
    return html.A(name(node), href=node_path(node))


def filter_link(
    address: Address, path: str, parameter: str, value: str | None, why: str, *, text: str | None = None
) -> Component:
    """Returns a name that, clicked, narrows ``path`` to itself; ``text`` stands for it where it is given."""
    if not value:
        return name(text, why)
    return html.A(name(text or value), href=address.to(path, **{parameter: value}).href, className="quiet-link")


def finding_links(findings: Sequence[FindingMark], job_id: str, cluster: str | None = None) -> Component:
    """Returns the findings of a run, each a link to its evidence on the run's page."""
    if not findings:
        return html.Span("none", className="muted")
    path = job_path(job_id, cluster)
    return html.Ul(
        [html.Li(html.A(mark.title, href=f"{path}#finding-{mark.id}")) for mark in findings], className="plain-list"
    )


def copy_button(text: str, what: str, word: str = "Copy") -> html.Button:
    """Returns a button that copies ``text``, or where that is empty the address; assets/ledger.js does it."""
    return html.Button(
        [icon("copy"), html.Span(word, className="copy-word")],
        type="button",
        className="button button-small copy",
        **attributes(data_copy=text, aria_label=f"Copy {what}"),
    )


def copy_lines(lines: Sequence[str], what: str) -> html.Div:
    """Returns lines of a script with a button that copies all of them."""
    text = "\n".join(lines)
    return html.Div(
        [html.Pre(html.Code(text), tabIndex=0, **attributes(aria_label=what)), copy_button(text, what)],
        className="copy-lines",
    )


def before_after(before: Sequence[str], after: Sequence[str]) -> html.Div:
    """Returns the lines of a request now and next; only the new ones are for copying, where there are any."""
    then = copy_lines(after, "the lines for next time") if after else html.P("Leave these lines out.")
    return html.Div(
        [
            html.Div([html.Div("Now", className="eyebrow"), html.Pre(html.Code("\n".join(before)), tabIndex=0)]),
            html.Div([html.Div("Next time", className="eyebrow"), then]),
        ],
        className="before-after",
    )
