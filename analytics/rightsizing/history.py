"""The runs of each family: what they asked for and what they used."""

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

import msgspec

from analytics.family import MASKED_NAME_SQL, SUBMISSION_SQL
from analytics.settings import RightsizingSettings
from analytics.wording import DAY_MS
from store.database import Cursor

# Only what asked for GPUs through Slurm: a session asked for nothing, and a share of a GPU (shards, MPS) has no whole
# GPUs to give back. Memory counts on GPUs that were used or had it held for a while; a context that came and went, such
# as nvidia-smi's, is none.
_RUNS: Final = f"""
WITH used AS (
    SELECT run_key, min(model) AS model, min(slices::DOUBLE / slices_of) AS share, min(mem_total_mib) AS mem_total_mib,
           sum(mem_max_mib ORDER BY gpu_key) FILTER (first_active_ms IS NOT NULL OR idle_held_ms >= $held_ms)
               AS mem_mib,
           list(energy_j ORDER BY energy_j) AS energies_j
    FROM footprint_gpu JOIN gpu USING (gpu_key) GROUP BY run_key),
starved AS (
    SELECT run_key, (numbers ->> 'node_cores_per_gpu')::DOUBLE AS node_cores_per_gpu
    FROM finding WHERE rule = 'cpu_starved' AND closed_ms IS NULL),
fits AS (
    SELECT run_key, numbers ->> 'model' AS smaller_model, (numbers ->> 'model_memory_mib')::DOUBLE AS smaller_mib,
           nullif(regexp_extract(fix, '#SBATCH --gres=[^\n]*'), '') AS smaller_line
    FROM finding WHERE rule = 'gpu_model_oversized' AND closed_ms IS NULL)
SELECT run_key, family, run.cluster, user_name AS user, account, "partition", model, name,
       replace({MASKED_NAME_SQL}, '#', '*') AS name_pattern, nodes,
       req_gpus AS asked_gpus, {SUBMISSION_SQL} AS submission, state, f.start_ms, f.end_ms, finished,
       coalesce(elapsed_ms, f.end_ms - f.start_ms) AS elapsed_ms, timelimit_ms, timelimit_unlimited, coverage,
       coalesce(gpus_peak, 0) AS gpus_peak, coalesce(mem_mib, 0)::DOUBLE AS mem_mib, mem_total_mib, energies_j,
       coalesce(share, 1) AS share, gpu_type, alloc_cpus::DOUBLE / nullif(f.gpus, 0) AS cores_per_gpu,
       node_cores_per_gpu, f.util_mean_pct, smaller_model, smaller_mib, smaller_line
FROM footprint_run f JOIN run USING (run_key) LEFT JOIN used USING (run_key)
LEFT JOIN starved USING (run_key) LEFT JOIN fits USING (run_key)
WHERE kind = 'job' AND NOT shared AND req_gpus >= 1 AND family IS NOT NULL AND f.end_ms >= $from_ms
ORDER BY family, f.start_ms, run_key"""  # noqa: S608 - a constant


class PastRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a family; ``elapsed_ms`` so far while it lasts. Memory and energies are those of its GPUs."""

    run_key: int
    family: str
    cluster: str
    user: str | None
    account: str | None
    partition: str | None
    model: str | None
    name: str | None
    name_pattern: str  # with what differs from run to run as *
    nodes: int | None
    asked_gpus: int
    submission: str
    state: str
    start_ms: int
    end_ms: int
    finished: bool
    elapsed_ms: int
    timelimit_ms: int | None
    timelimit_unlimited: bool
    coverage: float
    gpus_peak: int
    mem_mib: float
    mem_total_mib: int | None
    energies_j: list[float | None] | None
    share: float  # of a physical GPU that one of its GPUs is
    gpu_type: str | None = None  # as Slurm names it
    cores_per_gpu: float | None = None
    node_cores_per_gpu: float | None = None  # where the run was found to wait for cores
    util_mean_pct: float | None = None
    smaller_model: str | None = None  # where it was found to fit one; with its memory and the line that asks for it
    smaller_mib: float | None = None
    smaller_line: str | None = None

    def gpus_needed(self, fill_ratio: float) -> int:
        """GPUs this run could not have done without: those in use at once, and those its memory fills."""
        by_memory = math.ceil(self.mem_mib / (fill_ratio * self.mem_total_mib)) if self.mem_total_mib else 0
        return max(self.gpus_peak, by_memory)


class History(msgspec.Struct, frozen=True, kw_only=True):
    """A family: all its runs, oldest first, and those that may argue for less."""

    runs: Sequence[PastRun]
    comparable: Sequence[PastRun]

    @property
    def latest(self) -> PastRun:
        """The newest run: what people ask for now."""
        return self.runs[-1]

    @property
    def submissions(self) -> int:
        """From how many submissions the comparable runs come; an array is one."""
        return len({run.submission for run in self.comparable})

    def missing(self, settings: RightsizingSettings) -> str | None:
        """Returns what is still needed before anything is proposed, or None where nothing is."""
        runs, submissions = settings.min_runs - len(self.comparable), settings.min_submissions - self.submissions
        if runs > 0:
            return f"{len(self.comparable)} of {settings.min_runs} comparable finished runs so far"
        if submissions > 0:
            return f"runs of {self.submissions} of {settings.min_submissions} submissions so far"
        return None

    def over_ms(self, now_ms: int) -> int:
        """The time that the runs stand for, at least one week."""
        return max(7 * DAY_MS, now_ms - self.runs[0].start_ms)

    def weeks(self, now_ms: int) -> float:
        """The same in weeks."""
        return self.over_ms(now_ms) / (7 * DAY_MS)


def histories(cur: Cursor, now_ms: int, settings: RightsizingSettings) -> list[History]:
    """Returns every family that ran in the last ``history_days``."""
    families: defaultdict[str, list[PastRun]] = defaultdict(list)
    from_ms = now_ms - settings.history_days * 86_400_000
    for run in cur.rows(_RUNS, {"from_ms": from_ms, "held_ms": round(settings.memory_held_s * 1000)}, PastRun):
        families[run.family].append(run)
    return [
        History(runs=runs, comparable=[run for run in runs if _is_comparable(run, settings)])
        for runs in families.values()
    ]


def _is_comparable(run: PastRun, settings: RightsizingSettings) -> bool:
    return (
        run.finished
        and run.state == "COMPLETED"
        and run.coverage >= settings.min_coverage
        and run.end_ms - run.start_ms >= settings.min_held_s * 1000
    )
