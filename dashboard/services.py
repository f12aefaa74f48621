"""What the composition root hands to pages and API: the only things from outside that they may use."""

import dataclasses
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from flask import current_app

from analytics.model import Viewer

if TYPE_CHECKING:
    from analytics.settings import AnalyticsSettings
    from analytics.site import SiteSettings
    from store.database import Cursor

EXTENSION = "gpuledger"
"""Key under which the Flask app carries its Services."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Services:
    """Sources of everything that a request may need.

    ``cursor`` opens one database cursor for one request and closes it afterwards; ``now_ms`` is the clock (UTC epoch
    milliseconds); ``viewer`` says who asks (before sign-in exists: the admin, with the name of the OS user);
    ``program`` is what a shell here calls GPU Ledger by, for commands to copy; ``forget_tokens`` is called when a token
    was revoked, since the door for segments remembers good ones.
    """

    cursor: "Callable[[], AbstractContextManager[Cursor]]"
    now_ms: Callable[[], int]
    site: "SiteSettings"
    analytics: "AnalyticsSettings"
    viewer: Callable[[], Viewer] = Viewer
    version: str = ""
    program: str = "gpuledger"
    forget_tokens: Callable[[], None] = lambda: None


def services() -> Services:
    """Returns the Services of the Flask app that answers the current request."""
    found: Services = current_app.extensions[EXTENSION]
    return found
