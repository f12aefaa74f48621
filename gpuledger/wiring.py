"""What pages and API are handed, for a running hub and for a directory at rest alike."""

import getpass
import time
from collections.abc import Callable

import gpuledger
from analytics.model import Viewer
from dashboard.services import Services
from gpuledger.invoked import program
from gpuledger.settings import Settings, linked
from store.database import Database


def clock_ms() -> int:
    """The clock of this process: UTC epoch milliseconds."""
    return time.time_ns() // 1_000_000


def services(database: Database, settings: Settings, forget_tokens: Callable[[], None] = lambda: None) -> Services:
    """Returns the Services over an open database. Whoever reaches them is admin: loopback and the socket file alone."""
    viewer = Viewer("admin", user=getpass.getuser())
    return Services(
        cursor=database.request,
        now_ms=clock_ms,
        site=linked(settings).site,
        analytics=settings.analytics,
        viewer=lambda: viewer,
        version=gpuledger.__version__,
        program=program(),
        forget_tokens=forget_tokens,
    )
