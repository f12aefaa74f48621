"""One job on paper."""

from analytics.queries import lanes as lane_queries
from analytics.queries.job import JobDetail
from analytics.reports import drawing
from analytics.reports.model import Document, Section, Table
from analytics.wording import (
    UNKNOWN,
    format_count,
    format_duration,
    format_energy,
    format_gpu_h,
    format_mib,
    format_pct,
    format_power,
    format_ratio,
    format_time,
    number_gpu_h,
    plural,
    run_state,
)
from dashboard.components.job_charts import span
from dashboard.documents import parts
from dashboard.figures import MAX_LANES
from dashboard.pages import job as page
from dashboard.request import Request

MOST_GPUS = 64


def document(request: Request) -> Document:
    """Returns the run that the address means: figures, findings, lanes, request against use, its GPUs."""
    run, _ = page.find(request)
    if run is None:
        said = f"No {request.words.run} of this id has held a GPU here."
        return parts.document(request, page.asked(request), said, [], period="")
    end = format_time(run.end_ms, request.zone) if run.end_ms is not None else "running"
    advice = [parts.recommendation(row) for row in run.recommendations if not row.missing]
    found = [parts.finding(row, format_gpu_h(row.gpu_h)) for row in run.findings]
    return parts.document(
        request,
        f"{request.words.run.capitalize()} {run.job_id}",
        page.sentence(run),
        [
            _facts(request, run),
            parts.figures("The figures", page.figures(run)),
            *(found or [Section(title="Findings", paragraphs=(page.quiet(run, request),))]),
            *advice,
            _lanes(request, run),
            _request(run),
            _gpus(run),
            _earlier(request, run),
        ],
        period=f"{format_time(run.start_ms, request.zone)} to {end} ({request.zone})",
    )


def _facts(request: Request, run: JobDetail) -> Section:
    facts = [
        ("Name", run.name or "no name"),
        ("State", run_state(run.state)),
        ("User", run.user or "not known yet"),
        ("Account", run.account or UNKNOWN),
        ("Partition", run.partition or UNKNOWN),
        ("Nodes", ", ".join(run.nodes[:8]) + (f" and {len(run.nodes) - 8} more" if len(run.nodes) > 8 else "")),
        ("GPU model", run.model or "not known"),
        ("Coverage", format_ratio(run.coverage)),
    ]
    return Section(title=f"About this {request.words.run}", table=Table(columns=("What", ""), rows=tuple(facts)))


def _lanes(request: Request, run: JobDetail) -> Section | None:
    found = lane_queries.lanes(request.cur, request.viewer, run.run_key).lanes
    if not found:
        return None
    shown = sorted(found, key=_idle_ms, reverse=True)[:MAX_LANES] if len(found) > MAX_LANES else found
    left = f", the {MAX_LANES} most idle of {len(found)}" if len(shown) < len(found) else ""
    summary = f"States of {plural(len(shown), 'GPU')}{left} from start to end."
    return Section(title="What each GPU did", drawing=drawing.lanes(shown, span(run), request.zone, summary))


def _idle_ms(lane: lane_queries.Lane) -> int:
    return sum(part.end_ms - part.start_ms for part in lane.stretches if part.state in ("idle", "idle_held"))


def _request(run: JobDetail) -> Section | None:
    if run.kind == "session":
        return None
    limit = "unlimited" if run.timelimit_unlimited else format_duration(run.timelimit_ms)
    rows = (
        ("GPUs", format_count(run.requested_gpus), f"{format_count(run.active_gpus)} ever active"),
        ("CPU cores", format_count(run.alloc_cpus), f"{format_ratio(run.cpu_efficiency)} busy"),
        ("Host memory", format_mib(run.requested_mem_mib), f"{format_mib(run.max_rss_mib)} at most"),
        ("Time", limit, format_duration(run.elapsed_ms)),
    )
    columns = ("What", "Requested", "Used")
    return Section(title="Request and use", table=Table(columns=columns, rows=rows, numbers=frozenset(columns[1:])))


def _gpus(run: JobDetail) -> Section | None:
    if not run.gpus:
        return None
    columns = ("GPU", "Idle", "Utilization", "Peak memory", "Mean power", "Energy")
    rows = tuple(
        (
            gpu.gpu,
            format_duration(gpu.idle_ms + gpu.idle_held_ms),
            format_pct(gpu.util_mean_pct),
            format_mib(gpu.mem_max_mib),
            format_power(gpu.power_mean_w),
            format_energy(gpu.energy_kwh, estimated=bool(gpu.energy_estimated)),
        )
        for gpu in sorted(run.gpus, key=lambda gpu: -(gpu.idle_ms + gpu.idle_held_ms))[:MOST_GPUS]
    )
    more = (f"{MOST_GPUS} of {len(run.gpus)} GPUs, most idle first.",) if len(run.gpus) > MOST_GPUS else ()
    table = Table(columns=columns, rows=rows, numbers=frozenset(columns[1:]))
    return Section(title="GPUs", paragraphs=more, table=table)


def _earlier(request: Request, run: JobDetail) -> Section | None:
    if not run.earlier:
        return None
    columns = (request.words.run.capitalize(), "Start", "State", "GPUs active", "GPU-h", "Idle GPU-h")
    rows = tuple(
        (
            row.job_id,
            format_time(row.start_ms, request.zone),
            run_state(row.state),
            f"{row.gpus_active} of {row.gpus}",
            number_gpu_h(row.gpu_h),
            number_gpu_h(row.idle_gpu_h),
        )
        for row in run.earlier
    )
    return Section(
        title=f"{request.words.runs.capitalize()} like this one",
        table=Table(columns=columns, rows=rows, numbers=frozenset(columns[3:])),
    )
