"""A smaller GPU model, where every run would have fitted it."""

from analytics.rightsizing.history import History
from analytics.rightsizing.proposal import Change
from analytics.rightsizing.waits import Waits
from analytics.wording import UNKNOWN


def smaller_gpu(history: History, waits: Waits) -> Change | None:
    """Returns the model that every comparable run was advised to try.

    A run of any kind that held more memory than that model has speaks against it.
    """
    advised = {run.smaller_model for run in history.comparable}
    latest = history.latest
    if len(advised) != 1 or None in advised:
        return None
    model, memory_mib = next((run.smaller_model, run.smaller_mib) for run in history.comparable)
    lines = {run.smaller_line for run in history.comparable}
    line = lines.pop() if len(lines) == 1 else None
    now = waits.by_gpus(latest, latest.asked_gpus)
    there = waits.on_model(latest, model)
    return Change(
        kind="model",
        current=latest.model or UNKNOWN,
        proposed=model or UNKNOWN,
        before=(f"#SBATCH --gres=gpu:{latest.gpu_type}:{latest.asked_gpus}",) if latest.gpu_type else (),
        after=(line,) if line else (),
        gain=waits.sentence(now, there, f"jobs on {model}", f"those on {latest.model}"),
        would_have_failed=sum(run.mem_mib / max(1, run.asked_gpus) > (memory_mib or 0) for run in history.runs),
    )
