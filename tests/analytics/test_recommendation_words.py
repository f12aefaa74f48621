"""What a recommendation rests on, in words."""

from analytics.recommendation_words import freed, rests_on
from tests.factories.ledger import DAY


def test_hours_a_week_say_of_which_time_they_are_the_mean() -> None:
    assert freed(762.0, 14 * DAY - 5) == "762 GPU-h a week, on average over the last 14 days"
    assert freed(762.0, DAY, 30.0) == "762 GPU-h and about 30 kWh a week, on average over the last day"
    assert freed(762.0, 14 * DAY + DAY // 8).endswith("over the last 14 days")


def test_each_count_says_what_it_counts() -> None:
    said = rests_on(runs=78, submissions=1, family_runs=82, over_ms=14 * DAY, would_have_failed=0)
    assert said == (
        "rests on 78 completed runs from 1 submission, of 82 runs in the last 14 days; "
        "none of these would have failed with it"
    )
