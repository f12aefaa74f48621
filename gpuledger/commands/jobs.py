"""`gpuledger jobs`."""

from typing import Any

import click

from gpuledger.listing import Listing, show
from gpuledger.options import asking, filtered, limited, printed
from gpuledger.settings import Settings
from gpuledger.source import Source


@click.command("jobs")
@asking
@filtered
@printed
@limited
def command(settings: Settings, source: Source, parameters: dict[str, Any], form: str, limit: int | None) -> None:
    """List jobs by idle GPU-hours (default: the last 7 days)."""
    from analytics import wording

    listing = Listing(
        path="/api/v1/jobs",
        columns=(
            ("job", lambda row: str(row["job_id"])),
            ("user", lambda row: row["user"] or wording.UNKNOWN),
            ("partition", lambda row: row["partition"] or wording.UNKNOWN),
            ("GPUs", lambda row: str(row["gpus"])),
            ("state", lambda row: wording.run_state(row["state"])),
            ("GPU-h", lambda row: wording.number_gpu_h(row["gpu_h"])),
            ("idle GPU-h", lambda row: wording.number_gpu_h(row["idle_gpu_h"])),
            ("utilization", lambda row: wording.format_pct(row["util_mean_pct"])),
            ("measured", lambda row: wording.format_ratio(row["coverage"])),
            ("name", lambda row: row["name"] or wording.UNKNOWN),
            ("findings", lambda row: ", ".join(finding["rule"] for finding in row["findings"])),
        ),
        right=frozenset({"GPUs", "GPU-h", "idle GPU-h", "utilization", "measured"}),
        nothing="No job held a GPU in this period.",
        of_sessions={"job": "session", "partition": None},
    )
    show(settings, source, listing, parameters, form, limit)
