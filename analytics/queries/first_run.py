"""What a new installation waits for, step by step with times, until everything is green."""

from datetime import timedelta
from typing import Final

import msgspec
from ClusterShell.NodeSet import NodeSet

from analytics.model import HOUR_MS, MINUTE_MS, Viewer
from analytics.queries import logs
from analytics.queries.days import midnight
from analytics.queries.expected import expected_nodes
from analytics.queries.health import accounting_lag_ms
from analytics.queries.nodes import known
from analytics.queries.pending import pending
from analytics.queries.site import Site, site, told_at
from analytics.wording import format_duration, format_time, local, plural
from store.database import Cursor

FIRST_FINDINGS_MS: Final = HOUR_MS + 5 * MINUTE_MS
"""A run is judged at its end from 15 min on, or idle for an hour: by then the first findings can be there."""


JUDGED_FROM_MS: Final = 15 * MINUTE_MS

# The rules have seen a run of a minute, too, but had nothing to say of it yet.
_JUDGED: Final = """
    SELECT count(*) FROM footprint_run
    WHERE judged AND end_ms - start_ms >= CASE WHEN finished THEN $enough ELSE $long END"""

_FOUND: Final = "SELECT count(*) FROM finding WHERE closed_ms IS NULL"


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the checklist. ``due_ms`` is when it should be done, ``hint`` what to do where somebody must."""

    id: str
    done: bool
    text: str
    due_ms: int | None = None
    hint: str | None = None


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """``complete`` when all is green: then the checklist goes. ``since_ms`` is the first data."""

    complete: bool
    sentence: str
    since_ms: int | None
    data_to_ms: int | None
    steps: list[Step]


def progress(cur: Cursor, viewer: Viewer, now_ms: int, zone: str = "UTC") -> Progress:  # noqa: ARG001 - as every query
    """Returns the checklist as of ``now_ms`` of the hub's clock (site.told_at), times in ``zone``."""
    store, now_ms = site(cur), told_at(cur, now_ms)
    since_ms, to_ms = store.data_from_ms, store.data_to_ms
    steps = [_nodes(cur, now_ms)]
    if store.kind == "slurm":
        steps.append(_accounting(cur, now_ms))
    if since_ms is not None and to_ms is not None:
        # Data that lies before and has not come in yet moves the beginning: no time can be told by it.
        loading = pending(cur).sentence is not None
        steps += [_findings(cur, since_ms, to_ms, zone, loading=loading), _week(since_ms, to_ms, zone, loading=loading)]
    return Progress(
        complete=since_ms is not None and all(step.done for step in steps),
        sentence=_sentence(store, zone),
        since_ms=since_ms,
        data_to_ms=to_ms,
        steps=steps,
    )


def _sentence(store: Site, zone: str) -> str:
    if store.data_from_ms is None or store.data_to_ms is None:
        return "Nothing was recorded yet; the first rows arrive within a minute of the first node."
    long = format_duration(store.data_to_ms - store.data_from_ms)
    since = f"recorded since {format_time(store.data_from_ms, zone)} ({long})"
    if store.kind == "sessions" and store.nodes == 1:
        gpus = plural(store.gpus, "GPU")
        return f"This machine: {gpus}, {since}. No Slurm here, so programs are counted, not jobs."
    return f"{plural(store.nodes, 'node')} with {plural(store.gpus, 'GPU')}, {since}."


def _nodes(cur: Cursor, now_ms: int) -> Step:
    with_gpus = [node for node in known(cur) if node.gpus]
    expected = expected_nodes(cur, (node.name for node in with_gpus), now_ms)
    reporting = {node.name for node in with_gpus if not node.is_silent(now_ms)}
    expected = sorted(reporting.union(expected))
    return Step(
        id="nodes",
        done=bool(reporting) and len(reporting) == len(expected),
        text=f"Nodes reporting: {len(reporting)} of {max(1, len(expected))}",
        hint=_missing(reporting, expected),
    )


def _missing(reporting: set[str], expected: list[str]) -> str | None:
    missing = NodeSet.fromlist(sorted(set(expected) - reporting))
    if missing:
        return f"Start `gpuledger collect` on {missing}."
    return None if reporting else "Start `gpuledger collect` on a node with GPUs."


def _accounting(cur: Cursor, now_ms: int) -> Step:
    lag_ms = accounting_lag_ms(logs.probes(cur), now_ms)
    if lag_ms is None:
        hint = "Add the probe `accounting` to [collector] on one host that can run sacct."
        return Step(id="accounting", done=False, text="Accounting was not read yet", hint=hint)
    return Step(id="accounting", done=True, text=f"Accounting read {format_duration(lag_ms)} ago")


def _findings(cur: Cursor, since_ms: int, to_ms: int, zone: str, *, loading: bool) -> Step:
    findings = cur.scalar(_FOUND)
    if findings:
        return Step(id="findings", done=True, text=f"{plural(findings, 'finding')} so far")
    judged = cur.scalar(_JUDGED, {"enough": JUDGED_FROM_MS, "long": HOUR_MS})
    if judged:
        return Step(id="findings", done=True, text=f"{plural(judged, 'run')} judged, nothing found")
    step = 5 * MINUTE_MS
    due_ms = -(-(since_ms + FIRST_FINDINGS_MS) // step) * step
    if loading or due_ms < to_ms:
        return Step(id="findings", done=False, text="First findings as soon as what came in is judged")
    return Step(id="findings", done=False, text=f"First findings about {local(due_ms, zone):%H:%M}", due_ms=due_ms)


def _week(since_ms: int, to_ms: int, zone: str, *, loading: bool) -> Step:
    start = local(since_ms, zone).date()
    monday = start + timedelta(days=-start.weekday() % 7)
    if since_ms > midnight(monday, zone):
        monday += timedelta(days=7)
    due_ms = midnight(monday + timedelta(days=7), zone)
    if to_ms >= due_ms:
        return Step(id="week", done=True, text="A full week is recorded: the first report can be made")
    if loading:
        return Step(id="week", done=False, text="First report as soon as a full week is read")
    day = local(due_ms, zone)
    text = f"First full week, so first report: {day:%a} {day.day} {day:%b}"
    return Step(id="week", done=False, text=text, due_ms=due_ms)
