"""A node's GPUs as small squares by state; each says in words what it does and, where a run holds it, leads there."""

from dash import html
from dash.development.base_component import Component

from analytics.queries.nodes import GpuNow, NodeRow
from analytics.wording import format_mib, format_pct, format_power, label
from dashboard.filters import job_path


def gpu_cells(node: NodeRow) -> Component:
    """Returns one square a GPU, in the order of the node's own index."""
    return html.Ul([html.Li(_cell(node, gpu)) for gpu in node.gpu_now], className="gpu-cells")


def _cell(node: NodeRow, gpu: GpuNow) -> Component:
    said = gpu_words(gpu)
    shown = html.Span(str(gpu.index) if gpu.index is not None else "", className="gpu-index")
    looks = {"className": f"gpu-cell state-{gpu.state}", "title": said, "aria-label": said}
    if gpu.job_id:
        return html.A(shown, href=job_path(gpu.job_id, node.cluster), **looks)
    return html.Span(shown, role="img", **looks)


def gpu_words(gpu: GpuNow) -> str:
    """Returns ``GPU 3: idle, memory held; job 123 of alice; utilization 0 %, memory 12 of 80 GiB, 70 W``."""
    parts = [f"GPU {gpu.index if gpu.index is not None else gpu.uuid}: {label(gpu.state)}"]
    if gpu.job_id:
        parts.append(f"{gpu.job_id} of {gpu.user or 'a user not known yet'}")
    readings = [
        f"utilization {format_pct(gpu.util_pct)}",
        f"memory {format_mib(gpu.mem_used_mib)} of {format_mib(gpu.mem_total_mib)}",
        format_power(gpu.power_w),
    ]
    if gpu.temp_c is not None:
        readings.append(f"{gpu.temp_c:.0f} °C")
    return "; ".join([*parts, ", ".join(readings)])
