"""A run held GPUs, computed nothing on them, and kept its CPU cores busy."""

from analytics.evidence import Outcome, RunEvidence, Undecided
from analytics.rules.gpu_never_used import never_used, request_named, unused
from analytics.rules.registry import Context, Params, Ratio, Seconds, rule
from analytics.wording import format_ratio


class CpuOnly(Params, frozen=True, kw_only=True):
    """[analytics.rules.cpu_only]."""

    min_held_s: Seconds = 900.0
    """Shorter runs are not judged."""
    busy_s: Seconds = 30.0
    """A GPU with less time than this at 1 % or more was not used ..."""
    busy_ratio: Ratio = 0.001
    """... or with less than this share of its held time, whichever is longer."""
    min_cpu_efficiency: Ratio = 0.5
    """CPU efficiency from which the run computed on the CPU."""


# On a host without Slurm no cores were allocated, so CPU efficiency means nothing there.
@rule(title="Ran on the CPU only", order=10, params=CpuOnly, sessions=False)
def cpu_only(run: RunEvidence, params: CpuOnly, _context: Context) -> Outcome:
    """No GPU was used, and CPU efficiency >= min_cpu_efficiency."""
    if run.cpu_efficiency is None or run.cpu_efficiency < params.min_cpu_efficiency or not never_used(run, params):
        return None
    if run.gpus_requested is None:
        return Undecided("what the job asked for is not known yet, so GPUs that came unasked cannot be told apart")
    return unused(
        run,
        f"Its CPU cores were {format_ratio(run.cpu_efficiency)} busy.",
        (
            f"It computed on the CPU: leave out {request_named(run)} and use a CPU partition.",
            (),
        ),
    )
