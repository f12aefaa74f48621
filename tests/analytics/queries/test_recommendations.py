"""Recommendations as kept: most hours first, what lacks evidence apart, and seen only by those concerned."""

from typing import Any

import pytest

from analytics.model import Filter, Viewer, Window
from analytics.queries.recommendations import of_family, recommendations
from store.database import Cursor
from tests.factories.footprints import footprint_run
from tests.factories.ledger import DAY, HOUR, T0, Ledger

ADMIN = Viewer()
WEEK = Window(start_ms=T0, end_ms=T0 + 7 * DAY)


def recommend(ledger: Ledger, id: str, *, gpu_h: float, **more: Any) -> None:
    who = {"family": f"f-{id}", "kind": "gpus", "cluster": "c1", "user_name": "ann", "account": "physics"}
    where = {"partition": "gpu", "model": "H100", "name": "train-#", "current": "4", "proposed": "1"}
    lines = {"before_lines": "#SBATCH --gpus=4", "after_lines": "#SBATCH --gpus=1\n#SBATCH --mem=64G", "gain": "sooner"}
    sizes = {"gpu_ms_week": round(gpu_h * HOUR), "energy_j_week": 3.6e6, "runs": 9, "submissions": 4}
    rest = {"confidence": "high", "provisional": False, "would_have_failed": 0, "run_keys": "[1,2]"}
    times = {"made_ms": T0 + DAY, "last_run_ms": T0 + DAY, "family_runs": 11, "over_ms": 7 * DAY}
    ledger.put("recommendation", **({"recommendation_id": id} | who | where | lines | sizes | rest | times | more))


@pytest.fixture
def three(cur: Cursor, ledger: Ledger) -> Cursor:
    recommend(ledger, "small", gpu_h=2)
    recommend(ledger, "large", gpu_h=40, user_name="bob", account="bio", kind="walltime")
    recommend(ledger, "early", gpu_h=0, missing="3 more runs are needed")
    run = ledger.run(user_name="bob")
    ledger.hold(run, ledger.gpu(ledger.node()))
    footprint_run(ledger, run, family="f-large")
    ledger.put("act", at_ms=T0, who="bob", kind="notified", subject="large", note="")
    ledger.put("act", at_ms=T0 + 1, who="bob", kind="taken", subject="large", note="")
    ledger.save(cur)
    return cur


def test_most_hours_first_with_lines_and_status(three: Cursor) -> None:
    page = recommendations(three, ADMIN, WEEK, Filter())
    large, small = page.items
    assert (large.id, large.title, large.gpu_h_week, large.energy_kwh_week, large.status) == (
        *("large", "Shorter time limit", 40, 1, "taken"),
    )
    assert small.after_lines == ["#SBATCH --gpus=1", "#SBATCH --mem=64G"]
    assert (small.status, small.run_keys) == ("new", [1, 2])
    assert (page.total.count, page.total.freeing, page.total.gpu_h_week, page.next) == (2, 2, 42, None)


def test_what_lacks_evidence_comes_last_and_frees_nothing(three: Cursor) -> None:
    page = recommendations(three, ADMIN, WEEK, Filter(), with_missing=True)
    assert [row.id for row in page.items] == ["large", "small", "early"]
    assert (page.total.count, page.total.gpu_h_week, page.total.missing_evidence) == (2, 42, 1)
    assert recommendations(three, ADMIN, WEEK, Filter(), with_missing=True, limit=2).next == 2


@pytest.mark.parametrize(
    ("where", "found"),
    [
        (Filter(user="ann"), ["small"]),
        (Filter(account="bio"), ["large"]),
        (Filter(model="A100"), []),
        (Filter(family="f-large"), ["large"]),
        (Filter(cluster="c1", partition="gpu"), ["large", "small"]),
        (Filter(text="train-"), ["large", "small"]),
        (Filter(text="%"), []),
        (Filter(node="n1"), ["large"]),
        (Filter(state="finished"), ["large"]),
    ],
)
def test_filters(three: Cursor, where: Filter, found: list[str]) -> None:
    assert [row.id for row in recommendations(three, ADMIN, WEEK, where).items] == found


def test_a_person_sees_own_ones(three: Cursor) -> None:
    viewer = Viewer(kind="user", user="bob")
    assert [row.id for row in recommendations(three, viewer, WEEK, Filter()).items] == ["large"]
    assert of_family(three, viewer, "f-small") == []


def test_a_family_that_no_longer_runs_is_not_advised(three: Cursor) -> None:
    assert recommendations(three, ADMIN, Window(start_ms=T0 + 2 * DAY, end_ms=T0 + 3 * DAY), Filter()).items == []


def test_a_family_has_its_own_also_without_evidence(three: Cursor) -> None:
    assert [row.missing for row in of_family(three, ADMIN, "f-early")] == ["3 more runs are needed"]
