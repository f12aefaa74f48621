"""GPUs that read as busy and did next to nothing: a collective that waits for a lost peer, or tiny kernels."""

from analytics.evidence import Claim, GpuEvidence, Outcome, RunEvidence, Seen, Taken, Undecided
from analytics.model import Confidence
from analytics.rules.registry import Context, Params, Seconds, rule
from analytics.wording import format_duration, format_pct, format_power


class Hollow(Params, frozen=True, kw_only=True):
    """[analytics.rules.hollow]. What counts as doing little is set in [analytics.footprint], as hollow_*."""

    hollow_s: Seconds = 600.0
    """Time without a break in which each GPU that was used looked busy and did little."""


@rule(title="Looks busy, does little", order=100, params=Hollow, running=True)
def hollow(run: RunEvidence, params: Hollow, _context: Context) -> Outcome:
    """Every used GPU >= 90 % utilized for hollow_s with SM activity < 10 % and DRAM activity < 5 %.

    On several GPUs also with SM < 25 % where neither tensor cores nor links are used. Without these counters: memory
    utilization <= 1 % and power hardly above that at rest with a context ("may be").
    """
    used = [gpu for gpu in run.each if gpu.used]
    needed_ms = params.hollow_s * 1000
    if not used:
        return None
    if any(gpu.hollow_longest_ms < needed_ms for gpu in used):
        could = all(gpu.hollow_longest_ms + gpu.hollow_unsaid_ms >= needed_ms for gpu in used)
        why = "what its GPUs draw at rest is not known, so looking busy cannot be told from being busy"
        return Undecided(why) if could else None
    counted = all(gpu.hollow_sm_pct is not None for gpu in used)
    longest_ms = min(gpu.hollow_longest_ms for gpu in used)
    return Seen(
        sentence=_sentence(used, longest_ms, counted=counted),
        advice=_advice(len(used)),
        lines=_lines(run, len(used)),
        numbers={
            "gpus": run.gpus,
            "gpus_hollow": len(used),
            "longest_ms": longest_ms,
            "hollow_gpu_ms": sum(gpu.hollow_ms for gpu in used),
            "sm_pct": max((gpu.hollow_sm_pct or 0.0) for gpu in used) if counted else None,
            "power_w": max((gpu.hollow_power_w or 0.0) for gpu in used),
            "rest_power_w": max((gpu.rest_power_w or 0.0) for gpu in used) or None,
            "run_ms": run.length_ms,
        },
        claim=Claim(()),
        busy=tuple(_taken(gpu) for gpu in used),
        at_most=Confidence.HIGH if counted else Confidence.MEDIUM,
        start_ms=min(gpu.hollow_from_ms or run.start_ms for gpu in used),
        end_ms=max(gpu.hollow_to_ms or run.end_ms for gpu in used),
    )


def _taken(gpu: GpuEvidence) -> Taken:
    assert gpu.hollow_from_ms is not None  # noqa: S101 - a stretch has both ends
    assert gpu.hollow_to_ms is not None  # noqa: S101
    return Taken(
        gpu_key=gpu.gpu_key,
        from_ms=gpu.hollow_from_ms,
        to_ms=gpu.hollow_to_ms,
        gpu_ms=round(gpu.hollow_ms * gpu.share),
        between=False,
        busy=True,
    )


def _sentence(used: list[GpuEvidence], longest_ms: int, *, counted: bool) -> str:
    who = "The GPU" if len(used) == 1 else f"The {len(used)} GPUs"
    span = format_duration(longest_ms)
    if counted:
        sm_pct = format_pct(max(gpu.hollow_sm_pct or 0.0 for gpu in used))
        active = "was active" if len(used) == 1 else "was active on any of them"
        return f"{who} looked busy for {span}, but no more than {sm_pct} of a GPU's processors {active}."
    drawn, rest = (format_power(max(values)) for values in _powers(used))
    whose = "it drew" if len(used) == 1 else "each drew no more than"
    return f"{who} may be busy in appearance only: for {span} {whose} {drawn}, at rest it is {rest}."


def _powers(used: list[GpuEvidence]) -> tuple[list[float], list[float]]:
    return [gpu.hollow_power_w or 0.0 for gpu in used], [gpu.rest_power_w or 0.0 for gpu in used]


def _advice(gpus: int) -> str:
    if gpus == 1:
        return "Look at what it computes: many tiny kernels are done faster as one (a larger batch, CUDA graphs)."
    return (
        "One process may be gone while the others wait for it in a collective: see where they wait, and let such a "
        "wait end by itself."
    )


def _lines(run: RunEvidence, gpus: int) -> tuple[str, ...]:
    look = "py-spy dump --pid $(pgrep -u $USER -n python)   # on the node: where the program is"
    if gpus == 1:
        return (look, "model = torch.compile(model, mode='reduce-overhead')   # CUDA graphs")
    end = () if run.finished or run.kind == "session" else (f"scancel {run.job_id}   # if it is stuck",)
    return (look, *end, "dist.init_process_group('nccl', timeout=timedelta(minutes=15))   # a lost peer ends the job")
