"""What simpler rules, known from other tools, say of the same runs (docs/definitions.md, section 8)."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from gpuledger.demo.truth import Truth
from store.database import Cursor

HOUR_MS: Final = 3_600_000
GB_MIB: Final = 1e9 / 2**20

_FEATURES: Final = """
SELECT db_index, user_name AS user, f.gpus, f.held_ms, f.held_ms // f.gpus AS length_ms, f.util_mean_pct,
       each.least_mean_pct, each.shortest_idle_ms, each.mem_max_mib, each.least_max_pct, f.min_rows,
       alloc_cpus / f.gpus AS cores_per_gpu, max_rss_mib / f.gpus AS host_mib_per_gpu
FROM footprint_run f JOIN run USING (run_key) JOIN (
    SELECT run_key, min(util_mean_pct) AS least_mean_pct, min(longest_idle_ms) AS shortest_idle_ms,
           max(mem_max_mib) AS mem_max_mib, min(util_max_pct) AS least_max_pct
    FROM footprint_gpu GROUP BY run_key) AS each USING (run_key)
WHERE f.util_mean_pct IS NOT NULL AND f.gpus > 0"""


class Features(msgspec.Struct, frozen=True, kw_only=True):
    """What the baselines look at; of several GPUs the least or the most, as each rule has it."""

    db_index: int
    user: str | None
    gpus: int
    held_ms: int
    length_ms: int
    util_mean_pct: float
    least_mean_pct: float
    shortest_idle_ms: int | None
    mem_max_mib: float | None
    least_max_pct: float | None
    min_rows: int
    cores_per_gpu: float | None
    host_mib_per_gpu: float | None


def features(cur: Cursor) -> list[Features]:
    """Return a line for every run that was measured."""
    return cur.rows(_FEATURES, {}, Features)


def _too_powerful(run: Features) -> bool:
    return (
        0 < run.util_mean_pct <= 20
        and (run.mem_max_mib or 0) <= 10 * GB_MIB
        and (run.cores_per_gpu or 0) <= 12
        and (run.host_mib_per_gpu or 0) <= 32 * GB_MIB
    )


ALONE: Final[Mapping[str, Callable[[Features], bool]]] = {
    "zero-mean": lambda run: run.least_mean_pct == 0 and run.length_ms >= 2 * HOUR_MS,
    "sliding-zero": lambda run: (run.shortest_idle_ms or 0) >= 4 * HOUR_MS,
    "low-mean": lambda run: run.util_mean_pct <= 25 and run.length_ms > 300_000 and run.min_rows >= 10,
    "too-powerful": _too_powerful,
    "flat-20": lambda run: run.util_mean_pct < 20,
    "any-sample": lambda run: (run.least_max_pct or 0) < 20,
}
"""Rules that look at one run."""


def user_low(runs: Sequence[Features]) -> set[int]:
    """Return the runs of users with a mean of 25 % or less, 50 GPU-hours and 2 % of all of them."""
    hours: defaultdict[str | None, float] = defaultdict(float)
    used: defaultdict[str | None, float] = defaultdict(float)
    for run in runs:
        hours[run.user] += run.held_ms / HOUR_MS
        used[run.user] += run.held_ms / HOUR_MS * run.util_mean_pct
    least = max(50.0, 0.02 * sum(hours.values()))
    low = {user for user, held in hours.items() if held >= least and used[user] / held <= 25}
    return {run.db_index for run in runs if run.user in low}


def measured(named: set[int], truths: Sequence[Truth]) -> dict[str, float | None]:
    """Return how well a set of runs fits those that somebody should look at."""
    wanted = {line.db_index for line in truths if line.rule is not None}
    named = named & {line.db_index for line in truths}
    hits = len(named & wanted)
    precision = hits / len(named) if named else None
    recall = hits / len(wanted) if wanted else None
    weighed = 0.25 * (precision or 0) + (recall or 0)
    f05 = 1.25 * (precision or 0) * (recall or 0) / weighed if weighed else 0.0
    return {"precision": precision, "recall": recall, "f05": f05}


def baselines(cur: Cursor, truths: Sequence[Truth]) -> dict[str, dict[str, float | None]]:
    """Return each baseline's figures over the runs that were measured."""
    runs = features(cur)
    named = {name: {run.db_index for run in runs if rule(run)} for name, rule in ALONE.items()}
    named["user-low"] = user_low(runs)
    return {name: measured(found, truths) for name, found in named.items()}
