"""A page: one file in pages/ with a PAGE; app.py finds it, routes to it and draws its frame."""

import dataclasses
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from dash.development.base_component import Component

if TYPE_CHECKING:
    from dashboard.request import Request

Body = Callable[["Request"], Sequence[Any]]
Controls = Callable[["Request"], Sequence[Component]]


def no_controls(_request: "Request") -> Sequence[Component]:
    """Returns nothing: the page has no filters."""
    return ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Page:
    """What a page is.

    ``module`` is the file's name and ``path`` may hold one ``<name>``. ``body`` returns the regions and is drawn again
    on every refresh of a live page; ``controls`` stay as they are meanwhile. A page without ``icon`` is not in the
    navigation.
    """

    module: str
    path: str
    name: str
    question: str
    body: Body
    controls: Controls = no_controls
    icon: str = ""
    group: str = ""
    order: int = 50
    live: bool = False
    default_range: str = "7d"
    title: Callable[["Request"], Any] | None = None

    def matches(self, path: str) -> bool:
        """Returns whether this page answers ``path``."""
        pattern = re.sub(r"<[^>]*>", ".+", self.path)
        return re.fullmatch(pattern, path.rstrip("/") or "/") is not None
