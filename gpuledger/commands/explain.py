"""`gpuledger explain`."""

import click

from gpuledger.answers import open_answers
from gpuledger.options import WholeNumber, asking
from gpuledger.printing import as_json, emit, visible
from gpuledger.settings import Settings
from gpuledger.source import Source


@click.command("explain")
@click.argument("finding", type=WholeNumber(1))
@asking
@click.option("--json", "json_", is_flag=True, help="Print JSON.")
def command(settings: Settings, source: Source, finding: int, json_: bool) -> None:
    """Show FINDING (its number) as it was judged: what was seen, the thresholds, the coverage."""
    from analytics.evidence_names import WIDTH
    from analytics.evidence_words import numbers_said, thresholds_said
    from analytics.wording import format_gpu_h, format_ratio, format_time

    with open_answers(settings, source) as answers:
        row = answers.json(f"/api/v1/findings/{finding}")
    if json_:
        emit(as_json(row))
        return
    zone = settings.site.zone
    emit(f"{row['title']}: job {visible(str(row['job_id']))} of {visible(str(row['user'] or 'an unknown user'))}")
    emit(row["sentence"])
    emit("")
    emit(f"rule        {row['rule']}, version {row['rule_version']}")
    emit(f"period      {format_time(row['start_ms'], zone)} to {format_time(row['end_ms'], zone)} ({zone})")
    emit(f"explains    {format_gpu_h(row['gpu_h'])}")
    emit(f"confidence  {row['confidence']}, {format_ratio(row['coverage'])} of the time was measured")
    seen, limits = numbers_said(row["numbers"], zone), thresholds_said(row["thresholds"])
    for heading, pairs in (("what was seen", seen), ("thresholds in force", limits)):
        emit(f"\n{heading}")
        for name, value in pairs:
            emit(f"  {name:<{WIDTH}}  {visible(value)}")
    emit(f"\nwhat to do\n{row['fix']}")
