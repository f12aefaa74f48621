"""`gpuledger job`: like seff, for GPUs."""

import os
import time
from typing import Any
from urllib.parse import quote

import click

from gpuledger.answers import Answers, open_answers
from gpuledger.errors import Refused
from gpuledger.invoked import program
from gpuledger.options import asking, caller
from gpuledger.printing import as_json, emit, table, visible
from gpuledger.settings import Settings
from gpuledger.source import Source

EVERY_S = 10.0


@click.command("job")
@click.argument("jobid", required=False)
@asking
@click.option("--watch", is_flag=True, help="Print anew every 10 s until the job ends.")
@click.option("--all", "all_", is_flag=True, help="Every run of that id, not only the newest.")
@click.option("--json", "json_", is_flag=True, help="Print JSON.")
def command(settings: Settings, source: Source, jobid: str | None, watch: bool, all_: bool, json_: bool) -> None:
    """Show what a job did with its GPUs, and what to ask for next (default: $SLURM_JOB_ID, else my newest)."""
    with open_answers(settings, source) as answers:
        while True:
            wanted = jobid or os.environ.get("SLURM_JOB_ID") or _newest(answers)
            runs = _runs(answers, wanted, all_=all_)
            if json_:
                emit(as_json(runs if all_ else runs[0]))
            else:
                emit("\n\n".join(_text(run, settings.site.zone, source) for run in runs))
            if not watch or runs[0]["end_ms"] is not None:
                return
            time.sleep(EVERY_S)
            emit("")


def _newest(answers: Answers) -> str:
    found = answers.json("/api/v1/jobs", {"user": caller(), "sort": "start", "limit": 1, "range": "30d"})["items"]
    if not found:
        raise Refused(f"No job of {caller()} held a GPU in the last 30 days; name one: `gpuledger job JOBID`.")
    return str(found[0]["job_id"])


def _runs(answers: Answers, jobid: str, *, all_: bool) -> list[dict[str, Any]]:
    path = f"/api/v1/jobs/{quote(jobid.strip(), safe='')}"
    first = answers.json(path)
    others = first["runs"][1:] if all_ else []
    return [first, *(answers.json(path, {"run": run_key}) for run_key in others)]


def _text(run: dict[str, Any], zone: str, source: Source) -> str:
    return "\n\n".join(part for part in (_facts(run, zone), _gpus(run), _found(run, source), _asked(run)) if part)


def _facts(run: dict[str, Any], zone: str) -> str:
    from analytics import wording

    ended = wording.format_time(run["end_ms"], zone) if run["end_ms"] else "now"
    lines = {
        "Session" if run["kind"] == "session" else "Job": f"{run['job_id']} {run['name'] or ''}",
        "User": f"{run['user'] or wording.UNKNOWN}, account {run['account'] or wording.UNKNOWN}",
        "State": wording.run_state(run["state"]),
        "Ran": f"{wording.format_time(run['start_ms'], zone)} to {ended}, {wording.format_duration(run['elapsed_ms'])}",
        "GPUs": f"{run['allocated_gpus'] or run['seen_gpus']} {run['model'] or ''} on {', '.join(run['nodes'])}",
        "GPU-hours": f"{wording.number_gpu_h(run['gpu_h'])} held, {wording.number_gpu_h(run['idle_gpu_h'])} idle",
        "Utilization": wording.format_pct(run["util_mean_pct"]),
        "Peak memory": wording.format_ratio(run["mem_max_ratio"]),
        "Energy": wording.format_energy(run["energy_kwh"], estimated=run["energy_estimated"]),
        "Measured": f"{wording.format_ratio(run['coverage'])} of the time",
    }
    return "\n".join(f"{name + ':':<13}{visible(text)}" for name, text in lines.items())


def _gpus(run: dict[str, Any]) -> str:
    from analytics import wording

    columns = (
        ("GPU", lambda row: row["gpu"]),
        ("utilization", lambda row: wording.format_pct(row["util_mean_pct"])),
        ("idle", lambda row: wording.format_duration(row["idle_ms"] + row["idle_held_ms"])),
        ("peak memory", lambda row: wording.format_mib(row["mem_max_mib"])),
        ("power", lambda row: wording.format_power(row["power_mean_w"])),
    )
    return (
        table(run["gpus"], columns, frozenset({"utilization", "idle", "peak memory", "power"})) if run["gpus"] else ""
    )


def _found(run: dict[str, Any], source: Source) -> str:
    lines = [
        f"{finding['title']}. {finding['sentence']}\n  {finding['fix']}\n"
        f"  ({program()} explain {finding['id']}{source.option})"
        for finding in run["findings"]
    ]
    lines += [f"Could not judge: {each['reason']}." for each in run["unjudged"]]
    return "\n".join(lines)


def _asked(run: dict[str, Any]) -> str:
    blocks = []
    for each in run["recommendations"]:
        if each["missing"]:
            continue
        lines = [f"Next time: {each['proposed']} instead of {each['current']}. {each['gain']}"]
        lines += [f"  - {visible(line)}" for line in each["before_lines"]]
        lines += [f"  + {visible(line)}" for line in each["after_lines"]]
        blocks.append("\n".join(lines))
    return "\n".join(blocks)
