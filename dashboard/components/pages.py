"""Links to the page before and after in a list; the place is in the address."""

from dash import html
from dash.development.base_component import Component

from analytics.wording import format_count
from dashboard.components.attributes import attributes
from dashboard.request import Request


def page_offset(request: Request) -> int:
    """Returns the offset in the address, 0 where there is none that makes sense."""
    asked = request.address.get("offset") or "0"
    return int(asked) if asked.isascii() and asked.isdigit() and len(asked) < 9 else 0


def page_links(request: Request, per_page: int, count: int, following: int | None) -> Component | None:
    """Returns "21-40 of 57" with links, or nothing where one page holds all."""
    offset = page_offset(request)
    if count <= per_page and not offset:
        return None
    before = request.address.change(offset=max(0, offset - per_page) or None).href if offset else None
    after = request.address.change(offset=following).href if following is not None else None
    return html.Nav(
        [
            html.A("Back", href=before, className="button button-small") if before else None,
            html.Span(
                f"{format_count(offset + 1)}-{format_count(min(count, offset + per_page))} of {format_count(count)}"
            ),
            html.A("Next", href=after, className="button button-small") if after else None,
        ],
        className="page-links",
        **attributes(aria_label="Pages of this list"),
    )
