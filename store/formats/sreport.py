"""Parser of `sreport -n -P -t Seconds -T gres/gpu cluster AccountUtilizationByUser format=...` of one day.

An account's own line has no login and counts all below it as well, so people's lines are summed. Nothing is printed of
hours that slurmdbd has not rolled up yet, which it does once an hour.
"""

from typing import Final

from store.formats import slurm_values as slurm
from store.formats.scontrol import Parsed, Refusal
from store.segment_inventory import AccountUsage

FIELDS: Final = ("Cluster", "Account", "Login", "TresName", "Used")
_LETTERS: Final = 1024
_MOST_GPU_S: Final = 100_000 * 86_400  # of a day: no machine has more GPUs


def parse_usage(data: bytes, day_ms: int) -> Parsed[AccountUsage]:
    """Returns the GPU-seconds of each account on the day that was asked for."""
    sums: dict[tuple[str, str], int] = {}
    refusals: list[Refusal] = []
    for number, line in enumerate(data.decode("utf-8", errors="replace").splitlines(), 1):
        fields = [field.strip() for field in line.split("|")]
        if not any(fields):
            continue
        used = slurm.count(fields[-1], _MOST_GPU_S)
        if len(fields) != len(FIELDS) or not fields[0] or not fields[1] or used is None or len(line) > _LETTERS:
            refusals.append(Refusal(number, f"{line[:40]!r} is no line of sreport with {len(FIELDS)} fields"))
            continue
        cluster, account, login, tres, _ = fields
        if login and tres == "gres/gpu":
            sums[cluster, account] = sums.get((cluster, account), 0) + used
    return Parsed(
        tuple(
            AccountUsage(cluster=cluster, account=account, day_ms=day_ms, gpu_s=gpu_s)
            for (cluster, account), gpu_s in sums.items()
        ),
        tuple(refusals),
    )
