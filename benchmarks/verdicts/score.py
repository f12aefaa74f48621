"""Findings against the truth: how many are right, how many are missing, who is accused wrongly."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from gpuledger.demo.truth import Truth
from store.database import Cursor

CAUSES: Final = frozenset({"cpu_starved", "hollow"})
"""Rules that say why GPUs were busy for nothing or waited, as against that they did."""

ADVICE: Final = frozenset({"gpu_model_oversized", "walltime_oversized"})
"""Rules that explain no hours: they speak of the next request."""

NOT_THEIRS: Final = ("NODE_FAIL", "PREEMPTED", "REQUEUED")
"""States in which nothing is ever found: neither a right finding nor a missed one."""

WITHOUT_CORES: Final = {"cpu_only": "gpu_never_used", "cpu_starved": "low_utilization"}
"""What is left to say of a run where it is not known how busy its cores were."""

NOTHING_COMPUTED: Final = ("cpu_only", "gpu_never_used")
SHORT_S: Final = 900.0
FAMILY_RUNS: Final = 5
SET_UP_S: Final = 600.0
RESTS_S: Final = 3600.0
BLIP_S: Final = 30.0
ROW_S: Final = 60.0  # what a row or two may hide at either end of a span

Said = Mapping[int, frozenset[str]]


class Score(msgspec.Struct, frozen=True, kw_only=True):
    """Of one rule: ``n`` runs should have been found; precision None where nothing was, recall None where n is 0."""

    precision: float | None
    recall: float | None
    n: int


def said(cur: Cursor, table: str) -> Said:
    """Return the rules that ``finding`` (those still true) or ``unjudged`` has of each run, by accounting's number."""
    still = "WHERE closed_ms IS NULL" if table == "finding" else ""
    rows = cur.tuples(f"SELECT db_index, rule FROM {table} JOIN run USING (run_key) {still}")
    found: defaultdict[int, set[str]] = defaultdict(set)
    for db_index, rule in rows:
        found[db_index].add(rule)
    return {db_index: frozenset(rules) for db_index, rules in found.items()}


def should_be_found(rule: str, truth: Truth) -> bool:
    """Whether the rule has to be found on this run: it is what the run really is, and long enough to be judged."""
    if truth.state in NOT_THEIRS or truth.held_gpu_s < SHORT_S * truth.gpus:
        return False
    if truth.end_ms is None:
        return rule == "idle_now" and truth.resting_s >= RESTS_S + ROW_S
    if rule == "walltime_oversized":
        return rule in truth.advice and truth.state == "COMPLETED"
    return rule == truth.rule or rule in truth.advice


def bears_out(rule: str, truth: Truth) -> bool:
    """Whether what was simulated says the same as a finding: the run's label, or what its GPUs really did.

    A run has one label and may be more than that: a session on two GPUs of which one is never touched.
    """
    if rule in {truth.rule, WITHOUT_CORES.get(truth.rule or ""), *truth.advice}:
        return True
    match rule:
        case "idle_head":
            return truth.setup_s >= SET_UP_S
        case "idle_tail":
            return truth.after_s >= SET_UP_S
        case "idle_now":
            blip = truth.held_gpu_s - truth.idle_gpu_s < BLIP_S  # one short activity is no use
            return truth.end_ms is None and (truth.resting_s >= RESTS_S - ROW_S or blip)
        case "gpus_unused":
            return 0 < truth.gpus_used < truth.gpus
        case "gpu_never_used" | "cpu_only":
            return truth.gpus_used == 0 or truth.rule in NOTHING_COMPUTED
        case "walltime_oversized":
            return truth.end_ms is not None and truth.end_ms - truth.start_ms < 400 * truth.limit_s
        case _:
            return False


def per_rule(rules: Iterable[str], truths: Iterable[Truth], found: Said) -> dict[str, Score]:
    """Return the score of each rule that was found or should have been."""
    lines = list(truths)
    scores: dict[str, Score] = {}
    for rule in rules:
        named = [line for line in lines if rule in found.get(line.db_index, ())]
        wanted = [line for line in lines if should_be_found(rule, line)]
        if rule == "walltime_oversized":
            wanted = _from_the_fifth(wanted)
        hits = sum(rule in found.get(line.db_index, ()) for line in wanted)
        if named or wanted:
            scores[rule] = Score(
                precision=sum(bears_out(rule, line) for line in named) / len(named) if named else None,
                recall=hits / len(wanted) if wanted else None,
                n=len(wanted),
            )
    return scores


def _from_the_fifth(lines: Sequence[Truth]) -> list[Truth]:
    """Of the runs that share a user and partition: the first four have too few before them to compare with."""
    seen: Counter[tuple[str, str]] = Counter()
    kept = []
    for line in sorted(lines, key=lambda each: each.end_ms or 0):
        seen[line.user, line.partition] += 1
        if seen[line.user, line.partition] >= FAMILY_RUNS:
            kept.append(line)
    return kept


def accused(truths: Iterable[Truth], found: Said) -> dict[str, Any]:
    """Return how many sound runs were found, and how many of these findings the simulation does not bear out.

    Advice on the next request accuses nobody of idle hours; it counts as any other finding where it is wrong.
    """
    sound = [line for line in truths if line.rule is None]
    findings = [(line, rule) for line in sound for rule in found.get(line.db_index, ())]
    wrong = [(line, rule) for line, rule in findings if not bears_out(rule, line)]
    return {
        "healthy_runs": len(sound),
        "false_accusations": len(wrong),
        "false_accusations_of": sorted({f"{rule} on {line.name} ({line.label.value})" for line, rule in wrong}),
        "true_findings_on_healthy_runs": sum(rule not in ADVICE for _, rule in findings) - len(wrong),
    }


def causes(truths: Iterable[Truth], found: Said, unjudged: Said) -> dict[str, float | None]:
    """Return the share of runs with a known cause on which it was named, and on which it was left undecided."""
    known = [line for line in truths if line.rule in CAUSES and should_be_found(line.rule, line)]
    right = sum(line.rule in found.get(line.db_index, ()) for line in known)
    undecided = sum(not unjudged.get(line.db_index, frozenset()).isdisjoint((line.rule, "all")) for line in known)
    return {
        "causes_right": right / len(known) if known else None,
        "causes_undecided": undecided / len(known) if known else None,
    }
