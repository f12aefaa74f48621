"""A wait is called a gain only where it is shorter."""

import pytest

from analytics.recommendation_words import gain
from analytics.rightsizing.waits import Wait, Waits
from analytics.settings import RightsizingSettings
from store.database import Cursor
from tests.factories.fixtures import cur, database
from tests.factories.ledger import MINUTE, T0

__all__ = ["cur", "database"]


@pytest.mark.parametrize(
    ("now_ms", "then_ms", "runs", "said"),
    [
        (90 * MINUTE, 5 * MINUTE, 50, "You gain: Shorter wait: B started after 5 min against 1 h 30 min for A."),
        (5 * MINUTE, 90 * MINUTE, 50, "It costs: a longer wait; B started after 1 h 30 min against 5 min for A."),
        (MINUTE, MINUTE, 50, ""),
        (90 * MINUTE, 5 * MINUTE, 1, "The wait is not known: too few jobs to compare."),
    ],
)
def test_a_longer_wait_is_a_cost(cur: Cursor, now_ms: float, then_ms: float, runs: int, said: str) -> None:
    waits = Waits(cur, T0, RightsizingSettings())
    assert gain(waits.sentence(Wait(now_ms, runs), Wait(then_ms, runs), "B", "A")) == said
