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
@click.option("--nodes", is_flag=True, help="What administrators should look at on nodes instead.")
def command(
    settings: Settings, source: Source, parameters: dict[str, Any], form: str, limit: int | None, *, nodes: bool
) -> None:
    """List what was found in jobs (default: the last 7 days); `gpuledger explain ID` says why."""
    show(settings, source, _of_nodes() if nodes else _of_jobs(), parameters, form, limit)


def _of_jobs() -> Listing:
    from analytics import wording

    return Listing(
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
        judged=True,
    )


def _of_nodes() -> Listing:
    from analytics import wording

    return Listing(
        path="/api/v1/node-findings",
        columns=(
            ("rule", lambda row: row["rule"]),
            ("node", lambda row: row["node"] or wording.UNKNOWN),
            ("GPU", lambda row: wording.UNKNOWN if row["gpu"] is None else str(row["gpu"])),
            ("partition", lambda row: row["partition"] or wording.UNKNOWN),
            ("GPU-h", lambda row: wording.UNKNOWN if row["gpu_h"] is None else wording.number_gpu_h(row["gpu_h"])),
            ("seen", lambda row: row["sentence"]),
        ),
        right=frozenset({"GPU", "GPU-h"}),
        nothing="Nothing was found on nodes in this period.",
        judged=True,
    )
