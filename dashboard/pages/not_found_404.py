"""404: a path that no page answers, with the search that probably helps."""

from collections.abc import Sequence
from typing import Any, Final

from dash import html

from dashboard.components import cards
from dashboard.page import Page
from dashboard.request import Request


def body(request: Request) -> Sequence[Any]:
    """Returns what was asked for and where to go."""
    return [
        cards.empty(
            ["There is no page at ", html.Bdi(html.Code(request.address.path[:120]), className="name name-wide"), "."],
            next_step=[
                "Search for a job above (press ",
                html.Kbd("/"),
                "), or go to the ",
                html.A("Overview", href="/"),
                ", your ",
                html.A("own page", href="/me"),
                " or all ",
                html.A(request.words.runs, href="/jobs"),
                ".",
            ],
        )
    ]


PAGE: Final = Page(module="not_found_404", path="/404", name="Not found", question="Where am I?", body=body, order=99)
