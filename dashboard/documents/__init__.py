"""Pages as they are printed: one file a page of the same name, with a ``document`` over the same named queries."""

import functools
import importlib
import pkgutil
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from analytics.reports.model import Document
    from dashboard.request import Request

PREFIX: Final = "/print"
"""Before a page's address: where it is printed."""


@functools.cache
def documents() -> "dict[str, Callable[[Request], Document]]":
    """Returns what makes the document of a page, by the name of the page's file."""
    names = [module.name for module in pkgutil.iter_modules(__path__) if module.name != "parts"]
    return {name: importlib.import_module(f"{__name__}.{name}").document for name in names}
