"""Findings that one change would mend: what one rule found in one person's runs of one family of names."""

from collections.abc import Collection
from typing import Final

import msgspec

from analytics.model import Filter, Viewer, Window
from analytics.queries.findings import FindingRow, findings
from store.database import Cursor

_EVERY: Final = 100_000  # a group is the sum of all that belongs to it, not of a page of them


class FindingGroup(msgspec.Struct, frozen=True, kw_only=True):
    """What one rule found in one person's runs whose names differ in numbers only, requeued runs among them.

    ``first`` is the one with the most GPU-hours.
    """

    first: FindingRow
    runs: int
    gpu_h: float
    families: frozenset[str]

    def is_of(self, families: Collection[str]) -> bool:
        """Whether all runs of the group belong to these families: what is recommended for them mends it."""
        return bool(self.families) and self.families <= set(families)


def grouped(cur: Cursor, viewer: Viewer, window: Window, where: Filter) -> list[FindingGroup]:
    """Returns all findings of the window, those that one change would mend as one, most GPU-hours first."""
    together: dict[tuple[str | None, ...], list[FindingRow]] = {}
    for row in findings(cur, viewer, window, where, limit=_EVERY).items:
        what = row.masked_name or (row.job_id or str(row.id)).partition("_")[0]
        together.setdefault((row.rule, row.cluster, row.user, what), []).append(row)
    groups = [
        FindingGroup(
            first=rows[0],
            runs=len({row.run_key for row in rows}),
            gpu_h=sum(row.gpu_h for row in rows),
            families=frozenset(row.family for row in rows if row.family),
        )
        for rows in together.values()
    ]
    return sorted(groups, key=lambda group: -group.gpu_h)
