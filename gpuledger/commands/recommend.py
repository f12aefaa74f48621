"""`gpuledger recommend`."""

from typing import Any, Final

import click

from gpuledger.listing import Listing, show
from gpuledger.options import asking, filtered, limited, printed
from gpuledger.printing import Row, visible
from gpuledger.settings import Settings
from gpuledger.source import Source

_BASIS: Final = ("runs", "submissions", "family_runs", "over_ms", "would_have_failed")


@click.command("recommend")
@asking
@filtered
@printed
@limited
def command(settings: Settings, source: Source, parameters: dict[str, Any], form: str, limit: int | None) -> None:
    """Say what to ask for next time, with the lines to copy (families that ran in the last 14 days)."""
    listing = Listing(
        path="/api/v1/recommendations",
        say=_said,
        nothing="Nothing to change yet: a recommendation needs 5 finished runs of a job family, from 3 submissions.",
        judged=True,
    )
    show(settings, source, listing, parameters, form, limit)


def _said(row: Row) -> str:
    from analytics.recommendation_words import freed, rests_on

    whose = ", ".join(visible(str(part)) for part in (row["name"], row["user"], row["partition"]) if part)
    lines = [f"{row['title']}: {row['proposed']} instead of {row['current']} ({whose})"]
    for sign, changed in (("-", row["before_lines"]), ("+", row["after_lines"])):
        lines += [f"  {sign} {visible(line)}" for line in changed]
    frees = [f"  frees {freed(row['gpu_h_week'], row['over_ms'])}"] if row["gpu_h_week"] else []
    basis = rests_on(**{name: row[name] for name in _BASIS})
    given = [f"  {row['gain']}"] if row["gain"] else []
    lines += [*given, *frees, f"  {basis}{' (provisional)' if row['provisional'] else ''}"]
    return "\n".join(lines)
