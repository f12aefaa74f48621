"""`gpuledger rebuild`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from gpuledger.answers import opened, told
from gpuledger.errors import Refused
from gpuledger.options import configured
from gpuledger.settings import Settings

if TYPE_CHECKING:
    from store.rebuild import Marked


@click.command("rebuild")
@configured
def command(settings: Settings, data: Path) -> None:
    """Compute everything derived anew: rollups, footprints, findings, recommendations. By the hub's owner.

    From the first day of which raw rows remain; what is older stays as it is, and so does what people did and what was
    sent. A running hub does it in the background, and its pages go on.
    """
    from store.rebuild import Marked

    answer = told(data, "POST", "/api/v1/rebuild", {}, timeout_s=None)
    marked = _at_rest(settings, data) if answer is None else msgspec.convert(answer, Marked)
    if marked.from_ms is None:
        click.echo("There is no data yet, so there is nothing to compute.")
        return
    day = _day(marked.from_ms, settings.site.zone)
    if answer is None:
        click.echo(f"Computed anew from {day} on: {_much(marked)}. What is older has no raw rows and stayed.")
    else:
        click.echo(
            f"The hub computes {_much(marked)} anew, from {day} on, newest first; Health says how much is left. "
            "What is older has no raw rows and stays."
        )


def _at_rest(settings: Settings, data: Path) -> "Marked":
    from analytics.schedule import JobRunner, analysis_jobs
    from gpuledger.wiring import clock_ms
    from store.errors import StoreError
    from store.rebuild import mark_derived

    try:
        with opened(settings, data, read_only=False) as database:
            marked = mark_derived(database)
            runner = JobRunner(database, clock_ms, settings.analytics.schedule.keep_days)
            for job in analysis_jobs(settings.analytics, settings.store.states, settings.site.zone):
                if error := runner.run(job).error:
                    raise Refused(f"The job {job.name} failed ({error}); a hub that is started goes on with it.")
            return marked
    except StoreError as error:
        raise Refused(str(error)) from error


def _much(marked: "Marked") -> str:
    from analytics.wording import plural

    return f"{plural(marked.hours, 'hour')} of nodes and {plural(marked.runs, 'run')}"


def _day(from_ms: int, zone: str) -> str:
    from datetime import datetime
    from zoneinfo import ZoneInfo

    return f"{datetime.fromtimestamp(from_ms / 1000, ZoneInfo(zone)):%Y-%m-%d}"
