"""`gpuledger findings`."""

from typing import Any

import click

from gpuledger.listing import Listing, show
from gpuledger.options import asking, filtered, limited, printed
from gpuledger.settings import Settings
from gpuledger.source import Source


@click.command("findings")
@asking
@filtered
@printed
@limited
def command(settings: Settings, source: Source, parameters: dict[str, Any], form: str, limit: int | None) -> None:
    """List what was found in jobs (default: the last 7 days); `gpuledger explain ID` says why."""
    from analytics import wording

    listing = Listing(
        path="/api/v1/findings",
        columns=(
            ("id", lambda row: str(row["id"])),
            ("rule", lambda row: row["rule"]),
            ("job", lambda row: row["job_id"] or wording.UNKNOWN),
            ("user", lambda row: row["user"] or wording.UNKNOWN),
            ("GPU-h", lambda row: wording.number_gpu_h(row["gpu_h"])),
            ("confidence", lambda row: row["confidence"]),
            ("finding", lambda row: row["title"]),
        ),
        right=frozenset({"id", "GPU-h"}),
        nothing="Nothing was found in this period.",
    )
    show(settings, source, listing, parameters, form, limit)
