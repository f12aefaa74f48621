"""`gpuledger recommend`."""

from typing import Any

import click

from gpuledger.answers import open_answers
from gpuledger.listing import listed
from gpuledger.options import asking, filtered, printed
from gpuledger.printing import as_json, emit, visible
from gpuledger.settings import Settings
from gpuledger.source import Source

PATH = "/api/v1/recommendations"


@click.command("recommend")
@asking
@filtered
@printed
@click.option("--limit", default=20, show_default=True, help="Most recommendations to print.")
def command(settings: Settings, source: Source, parameters: dict[str, Any], form: str, limit: int) -> None:
    """Say what to ask for next time, with the lines to copy (families that ran in the last 14 days)."""
    asked = parameters | {"limit": limit}
    with open_answers(settings, source) as answers:
        found = listed(answers, PATH, asked)
        if form == "csv":
            emit(answers.raw(PATH, asked | {"format": "csv"}).decode())
            return
    if form == "json":
        emit(as_json(found))
    elif not found["items"]:
        emit("Nothing to change yet: a recommendation needs 5 finished runs of a job family, from 3 submissions.")
    for row in found["items"] if form == "text" else ():
        _say(row)


def _say(row: dict[str, Any]) -> None:
    from analytics.wording import format_gpu_h, plural

    whose = ", ".join(visible(str(part)) for part in (row["name"], row["user"], row["partition"]) if part)
    emit(f"{row['title']}: {row['proposed']} instead of {row['current']} ({whose})")
    for sign, lines in (("-", row["before_lines"]), ("+", row["after_lines"])):
        for line in lines:
            emit(f"  {sign} {visible(line)}")
    emit(f"  {row['gain']}")
    freed = f"frees {format_gpu_h(row['gpu_h_week'])} a week; " if row["gpu_h_week"] else ""
    basis = (
        f"rests on {plural(row['runs'], 'run')}, {plural(row['would_have_failed'], 'run')} would have failed with it"
    )
    emit(f"  {freed}{basis}{' (provisional)' if row['provisional'] else ''}\n")
