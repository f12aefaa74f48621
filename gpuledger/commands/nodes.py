"""`gpuledger nodes`."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from gpuledger.listing import Listing, show
from gpuledger.options import asking, printed
from gpuledger.settings import Settings
from gpuledger.source import Source


@click.command("nodes")
@asking
@printed
def command(settings: Settings, source: Source, form: str) -> None:
    """List the nodes and what their GPUs do now."""
    from analytics import wording

    listing = Listing(
        path="/api/v1/nodes",
        columns=(
            ("node", lambda row: row["name"]),
            ("GPUs", lambda row: str(row["gpus"])),
            ("model", lambda row: row["model"] or wording.UNKNOWN),
            ("now", lambda row: _states(wording.label, row["gpu_now"])),
            ("Slurm", lambda row: _slurm(wording.UNKNOWN, row["slurm_now"])),
            ("24 h idle", lambda row: wording.format_gpu_h(row["idle_gpu_h_day"])),
            ("24 h measured", lambda row: wording.format_ratio(row["coverage_day"])),
            ("last data", lambda row: wording.format_time(row["last_ms"], settings.site.zone)),
        ),
        right=frozenset({"GPUs", "24 h idle", "24 h measured"}),
        nothing="No node has reported yet.",
        whole=True,
    )
    show(settings, source, listing, {}, form)


def _states(label: Callable[[str], str], gpus: Sequence[Mapping[str, Any]]) -> str:
    """Returns ``5 active; 2 idle, empty`` in the order of how many."""
    return "; ".join(f"{count} {label(state)}" for state, count in Counter(gpu["state"] for gpu in gpus).most_common())


def _slurm(unknown: str, said: Mapping[str, Any] | None) -> str:
    """Returns Slurm's state and, in brackets, its reason."""
    if said is None:
        return unknown
    return f"{said['state']} ({said['reason']})" if said["reason"] else str(said["state"])
