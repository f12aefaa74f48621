from typing import Any

import pytest

from analytics.evidence import RunEvidence, Seen, Undecided
from analytics.rules.walltime_oversized import WalltimeOversized, walltime_oversized
from tests.factories.evidence import context, gpu, run
from tests.factories.ledger import HOUR


def asked(limit_h: float | None = 48, *, length_h: float = 5, **more: Any) -> RunEvidence:
    limit_ms = None if limit_h is None else round(limit_h * HOUR)
    known = {"timelimit_ms": limit_ms, "family_completed": 12, "family_longest_ms": round(5.5 * HOUR)}
    return run(gpu(length=length_h * 60), length=length_h * 60, **known | more)


def judged(evidence: RunEvidence) -> object:
    return walltime_oversized(evidence, WalltimeOversized(), context())


def test_two_days_asked_five_hours_used() -> None:
    found = judged(asked())
    assert isinstance(found, Seen)
    assert found.sentence == (
        "It ran for 5 h with a limit of 2 d; the longest of 12 completed runs like it took 5 h 30 min, 11 % of that."
    )
    assert found.lines == ("#SBATCH --time=06:45:00",)
    assert found.claim.gpu_keys == (), "it explains no hours"


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"state": "TIMEOUT"}, "only completed runs say what is enough"),
        ({"family_completed": 4}, "too few"),
        ({"family_timeouts": 1}, "one reached the limit"),
        ({"family_longest_ms": 20 * HOUR}, "one took longer, whatever became of it"),
        ({"timelimit_unlimited": True, "timelimit_ms": None}, "no limit is not a long one"),
    ],
)
def test_others_are_not(more: dict[str, Any], why: str) -> None:
    assert judged(asked(**more)) is None, why


@pytest.mark.parametrize(("limit_h", "is_found"), [(13.8, True), (13.75, False)])
def test_less_than_two_fifths(limit_h: float, is_found: bool) -> None:
    assert isinstance(judged(asked(limit_h)), Seen) is is_found


def test_a_limit_that_nobody_told_is_not_guessed() -> None:
    assert isinstance(judged(asked(None)), Undecided)
