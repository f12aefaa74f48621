"""A store of two weeks: one busy user, one idle one, a job that nobody could measure, hostile names."""

import pytest

from store.database import Cursor
from tests.factories.fixtures import cur, database, ledger
from tests.factories.ledger import DAY, HOUR, T0, Ledger

__all__ = ["cur", "database", "ledger"]

WEEK = 7 * DAY
HOSTILE = '<img src=x onerror="alert(1)">\n\x1b[31m'


_RECOMMENDATION = {
    "recommendation_id": "r1",
    "family": "f",
    "kind": "gpus",
    "cluster": "c1",
    "user_name": "ann",
    "account": "physics",
    "partition": "gpu",
    "name": "train",
    "current": "4 GPUs",
    "proposed": "1 GPU",
    "before_lines": "#SBATCH --gres=gpu:4",
    "after_lines": "#SBATCH --gres=gpu:1",
    "gain": "Shorter wait: 1 min instead of 40 min.",
    "gpu_ms_week": 100 * HOUR,
    "confidence": "high",
    "provisional": False,
    "runs": 25,
    "submissions": 25,
    "would_have_failed": 0,
    "run_keys": "[1]",
    "made_ms": T0 + WEEK,
    "last_run_ms": T0 + WEEK + HOUR,
    "family_runs": 30,
    "over_ms": 2 * WEEK,
}


@pytest.fixture
def weeks(cur: Cursor, ledger: Ledger) -> Cursor:
    """Weeks 2026-W47 and 2026-W48 whole, data to Monday 10:00."""
    node = ledger.node("n1", first_ms=T0 - WEEK, last_ms=T0 + WEEK + 10 * HOUR)
    gpus = [ledger.gpu(node, first_ms=T0 - WEEK) for _ in range(2)]
    for start in (T0 - WEEK, T0):
        busy = ledger.run(start_ms=start, end_ms=start + 40 * HOUR, user_name="ann", account="physics")
        idle = ledger.run(start_ms=start, end_ms=start + 30 * HOUR, user_name="bob", account="chem", name=HOSTILE)
        for hour in range(40):
            ledger.hour(gpus[0], busy, start + hour * HOUR, active=60, util_pct=90, energy_j=900_000)
        for hour in range(30):
            ledger.hour(gpus[1], idle, start + hour * HOUR, idle=60, util_pct=0, energy_j=200_000)
        ledger.finding(idle, gpu_h=30.0)
    dark = ledger.run(start_ms=T0 + 2 * DAY, end_ms=T0 + 2 * DAY + 2 * HOUR, user_name="cid", account="chem")
    for hour in range(2):
        ledger.hour(gpus[1], dark, T0 + 2 * DAY + hour * HOUR, unknown=60)
    ledger.put("unjudged", run_key=dark, rule="all", reason="nothing was measured", gpu_ms=2 * HOUR)
    ledger.put("recommendation", **_RECOMMENDATION)
    ledger.save(cur)
    return cur
