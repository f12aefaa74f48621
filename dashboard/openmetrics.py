"""GET /metrics in OpenMetrics: the state of GPUs, nodes and the hub itself. No user and no job is named."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from analytics.model import Filter, Viewer, Window
from analytics.queries.findings import findings
from analytics.queries.health import Health, health
from analytics.queries.hours import hours
from store.database import Cursor

CONTENT_TYPE: Final = "application/openmetrics-text; version=1.0.0; charset=utf-8"

Sample = tuple[Mapping[str, str], float | None]


def render(cur: Cursor, viewer: Viewer, now_ms: int, version: str) -> str:
    """Returns the exposition. What is not known has no sample: a zero would be a statement."""
    seen = health(cur, viewer, now_ms)
    lines: list[str] = [
        *_gauge("gpuledger_build_info", "Version of the hub.", [({"version": version}, 1)]),
        *_nodes(seen),
        *_hub(seen),
    ]
    if seen.data_to_ms is not None:
        lines += _day(cur, viewer, Window.last(24, seen.data_to_ms))
    return "\n".join([*lines, "# EOF"]) + "\n"


def _nodes(seen: Health) -> list[str]:
    states = Counter((gpu.model or "", gpu.state) for node in seen.nodes for gpu in node.gpu_now)
    return [
        *_gauge(
            "gpuledger_nodes",
            "Nodes with GPUs, expected and reporting.",
            [({"state": "expected"}, seen.nodes_expected), ({"state": "reporting"}, seen.nodes_reporting)],
        ),
        *_gauge(
            "gpuledger_gpus",
            "GPUs by model and state now.",
            [({"model": model, "state": state}, count) for (model, state), count in sorted(states.items())],
        ),
    ]


def _hub(seen: Health) -> list[str]:
    return [
        *_gauge("gpuledger_data_age_seconds", "Time since the newest row.", [({}, _seconds(seen.age_ms))]),
        *_gauge(
            "gpuledger_accounting_age_seconds",
            "Time since accounting was last read.",
            [({}, _seconds(seen.accounting_lag_ms))],
        ),
        *_gauge(
            "gpuledger_segments_24h",
            "Segments of the last 24 hours.",
            [
                ({"outcome": "received"}, seen.segments_24h),
                ({"outcome": "late"}, seen.segments_late_24h),
                ({"outcome": "refused"}, seen.segments_refused_24h),
            ],
        ),
        *_gauge("gpuledger_pending_hours", "Hours of nodes that wait for the rollup.", [({}, seen.pending_hours)]),
        *_gauge("gpuledger_pending_runs", "Runs that wait for a footprint.", [({}, seen.pending_runs)]),
        *_gauge("gpuledger_store_bytes", "Size of the database file and the sealed files.", [({}, seen.store_bytes)]),
        *_gauge("gpuledger_rows", "Raw rows in the store.", [({}, seen.rows)]),
        *_gauge(
            "gpuledger_task_ok",
            "Whether the last run of a task of the hub went well.",
            [({"task": row.what}, float(row.ok)) for row in seen.jobs],
        ),
        *_gauge(
            "gpuledger_task_duration_seconds",
            "Duration of the last run of a task of the hub.",
            [({"task": row.what}, row.duration_ms / 1000) for row in seen.jobs],
        ),
    ]


def _day(cur: Cursor, viewer: Viewer, window: Window) -> list[str]:
    day = hours(cur, viewer, window, Filter())
    open_now = findings(cur, viewer, window, Filter(), limit=1).total
    return [
        *_gauge(
            "gpuledger_gpu_hours_24h",
            "GPU-hours of the last 24 hours by state.",
            [
                ({"state": "active"}, day.active_gpu_h),
                ({"state": "low"}, day.low_gpu_h),
                ({"state": "idle_held"}, day.idle_held_gpu_h),
                ({"state": "idle"}, day.idle_empty_gpu_h),
                ({"state": "unknown"}, day.unknown_gpu_h),
                ({"state": "unallocated"}, day.unallocated_gpu_h),
                ({"state": "suspended"}, day.suspended_gpu_h),
                ({"state": "stray"}, day.stray_gpu_h),
                ({"state": "releasing"}, day.releasing_gpu_h),
                ({"state": "offline"}, day.offline_gpu_h),
                ({"state": "reserved"}, day.reserved_gpu_h),
                ({"state": "taken"}, day.taken_gpu_h),
                ({"state": "stranded"}, day.stranded_gpu_h),
                ({"state": "free"}, day.free_gpu_h),
            ],
        ),
        *_gauge("gpuledger_coverage_ratio", "Share of held GPU-hours that was measured.", [({}, day.coverage)]),
        *_gauge(
            "gpuledger_findings_open",
            "Open findings by rule.",
            [({"rule": row.rule}, row.count) for row in open_now.by_rule],
        ),
    ]


def _seconds(value_ms: int | None) -> float | None:
    return None if value_ms is None else value_ms / 1000


def _gauge(name: str, help_text: str, samples: Iterable[Sample]) -> list[str]:
    lines = [f"# TYPE {name} gauge", f"# HELP {name} {help_text}"]
    for labels, value in samples:
        if value is not None:
            shown = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
            lines.append(f"{name}{{{shown}}} {value!r}" if shown else f"{name} {value!r}")
    return lines


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
