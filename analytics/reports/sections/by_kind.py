"""Which kinds of idle hours there were: the findings of the week by rule."""

from analytics.queries.findings import findings
from analytics.reports.model import Context, Section, Table
from analytics.reports.registry import section
from analytics.wording import number_gpu_h


@section(70, "cluster", "account")
def by_kind(context: Context) -> Section | None:
    """Hours explained, by rule; a GPU-hour is explained once."""
    total = findings(context.cur, context.viewer, context.window, context.where, limit=1).total
    if not total.by_rule:
        return None
    most = max(each.gpu_h for each in total.by_rule)
    return Section(
        title="Kinds of findings",
        table=Table(
            columns=("Kind", "Findings", "GPU-h"),
            rows=tuple(
                (
                    context.link(each.title, "/jobs", {"finding": each.rule}),
                    str(each.count),
                    number_gpu_h(each.gpu_h),
                )
                for each in total.by_rule
            ),
            numbers=frozenset({"Findings", "GPU-h"}),
            bars=tuple(each.gpu_h / most if most else None for each in total.by_rule),
            total=("All", str(total.count), number_gpu_h(total.gpu_h)),
        ),
    )
