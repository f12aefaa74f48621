"""Earlier runs of the same family."""

from collections.abc import Sequence

from dash.development.base_component import Component

from analytics.queries.job import EarlierRun
from analytics.wording import format_pct, number_gpu_h, run_state
from dashboard.components.links import run_link
from dashboard.components.marks import moment, value
from dashboard.components.tables import Column, table


def earlier_runs(runs: Sequence[EarlierRun], zone: str, noun: str, cluster: str) -> Component:
    """Returns the runs as a table, newest first as given."""
    columns = [
        Column(title=noun.capitalize()),
        Column(title="Start"),
        Column(title="State", phone=False),
        Column(title="GPUs active", number=True),
        Column(title="GPU-h", number=True),
        Column(title="Idle GPU-h", number=True),
        Column(title="Utilization", number=True, phone=False),
    ]
    rows = [
        (
            run_link(run.job_id, cluster),
            moment(run.start_ms, zone),
            run_state(run.state),
            f"{run.gpus_active} of {run.gpus}",
            number_gpu_h(run.gpu_h),
            number_gpu_h(run.idle_gpu_h),
            value(format_pct(run.util_mean_pct), "no usable reading"),
        )
        for run in runs
    ]
    return table(columns, rows, caption="Earlier runs of the same family")
