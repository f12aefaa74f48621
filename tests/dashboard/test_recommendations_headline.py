"""The headline counts recommendations by what they do."""

import pytest

from analytics.queries.recommendations import RecommendationTotals
from dashboard.pages.recommendations import said


@pytest.mark.parametrize(
    ("count", "freeing", "more_cores", "text"),
    [
        (
            12,
            3,
            1,
            "3 recommendations would free 42 GPU-h a week on average; 8 more only ask for less, 1 for more CPUs.",
        ),
        (4, 3, 1, "3 recommendations would free 42 GPU-h a week on average; 1 more asks for more CPUs."),
        (3, 3, 0, "3 recommendations would free 42 GPU-h a week on average."),
        (1, 0, 1, "1 recommendation to ask for more CPUs; no GPU-hours are freed by it."),
        (2, 0, 0, "2 recommendations to ask for less of what was not used; no GPU-hours are freed by it."),
    ],
)
def test_more_cpus_are_not_less(count: int, freeing: int, more_cores: int, text: str) -> None:
    total = RecommendationTotals(
        count=count, freeing=freeing, more_cores=more_cores, gpu_h_week=42.0 if freeing else 0.0, missing_evidence=0
    )
    assert said(total) == text
