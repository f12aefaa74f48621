"""A person's own page: what runs, what to change, and how the last 30 days went."""

import msgspec

from analytics.model import Viewer
from analytics.queries.findings import FindingRow
from analytics.queries.hours import Hours
from analytics.queries.jobs import JobRow
from analytics.queries.recommendations import RecommendationRow
from analytics.queries.timeline import Timeline
from store.database import Cursor


class MyRun(msgspec.Struct, frozen=True, kw_only=True):
    """A running run in one sentence; ``left_ms`` is None without a time limit."""

    job: JobRow
    sentence: str
    left_ms: int | None


class Me(msgspec.Struct, frozen=True, kw_only=True):
    """``changes`` holds at most three things, recommendations first; ``sentence`` says it in one line."""

    user: str
    sentence: str
    running: list[MyRun]
    recommendations: list[RecommendationRow]
    findings: list[FindingRow]
    hours: Hours
    timeline: Timeline
    recent: list[JobRow]


def me(cur: Cursor, viewer: Viewer, now_ms: int, user: str, zone: str = "UTC") -> Me:
    """Returns the page of ``user``, empty where they ran nothing."""
    raise NotImplementedError
