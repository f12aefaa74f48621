"""`gpuledger recommend`."""

from typing import Any

import click

from gpuledger.listing import Listing, show
from gpuledger.options import asking, filtered, limited, printed
from gpuledger.printing import Row, visible
from gpuledger.settings import Settings
from gpuledger.source import Source


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
    )
    show(settings, source, listing, parameters, form, limit)


def _said(row: Row) -> str:
    from analytics.wording import format_gpu_h, plural

    whose = ", ".join(visible(str(part)) for part in (row["name"], row["user"], row["partition"]) if part)
    lines = [f"{row['title']}: {row['proposed']} instead of {row['current']} ({whose})"]
    for sign, changed in (("-", row["before_lines"]), ("+", row["after_lines"])):
        lines += [f"  {sign} {visible(line)}" for line in changed]
    freed = f"frees {format_gpu_h(row['gpu_h_week'])} a week; " if row["gpu_h_week"] else ""
    basis = (
        f"rests on {plural(row['runs'], 'run')}, {plural(row['would_have_failed'], 'run')} would have failed with it"
    )
    lines += [f"  {row['gain']}", f"  {freed}{basis}{' (provisional)' if row['provisional'] else ''}"]
    return "\n".join(lines)
