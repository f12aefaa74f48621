"""Pending GPU requests against idle GPUs, on the Overview and in the API."""

from collections.abc import Callable

import plotly.graph_objects as go
import pytest

from analytics.queries.demand import Demand, DemandRow
from dashboard.components.demand import demand_summary
from dashboard.demand_figure import demand_figure
from dashboard.theme import LIGHT
from store.database import Cursor
from tests.dashboard.conftest import NOW
from tests.dashboard.pages import Pages
from tests.factories.ledger import DAY, HOUR, T0, Ledger

ZONE = "Europe/Helsinki"


def row(number: int, waiting: float | None, idle: float | None, polled: float = 1.0) -> DemandRow:
    return DemandRow(
        start_ms=T0 + number * HOUR,
        end_ms=T0 + (number + 1) * HOUR,
        waiting_gpus=waiting,
        waiting_jobs=waiting,
        not_ready_gpus=waiting,
        polled_ratio=polled,
        idle_gpus=idle,
    )


def demand(*rows: DemandRow) -> Demand:
    return Demand(known="yes", bucket_ms=HOUR, rows=list(rows))


def polled(ledger: Ledger, hours: int = 12) -> None:
    """The queue of the hours before the end of the data: 6 GPUs wait for hardware, 2 for somebody."""
    for hour in range(hours):
        at_ms = NOW - (hour + 1) * HOUR
        ledger.put("queue_poll", node_key=1, cluster="c1", at_ms=at_ms, until_ms=at_ms + HOUR)
        for waits_for, gpus in (("hardware", 6), ("release", 2)):
            counts = {"jobs": 1, "gpus": gpus, "partition": "gpu"}
            ledger.put("queue_pending", node_key=1, at_ms=at_ms, waits_for=waits_for, **counts)


def test_the_chart_draws_gaps_as_gaps() -> None:
    drawn = demand_figure(demand(row(0, 4, 2), row(1, None, 1, 0.1), row(2, 3, None)), ZONE, "light", "r")
    go.Figure(drawn)
    said, bars, line = drawn["data"]
    assert bars["y"] == [2, 1, None]
    assert line["y"] == [4, 4, None, None, 3, 3]
    assert line["x"][:2] == ["2026-11-23 02:00:00", "2026-11-23 03:00:00"]
    assert line["line"]["color"] == LIGHT.text
    assert said["customdata"][1].startswith("— GPUs asked for")


def test_the_words_say_both_and_how_much_was_read() -> None:
    said = demand_summary(demand(row(0, 4, 2), row(1, None, 1, 0.1), row(2, 2, None)))
    assert said == (
        "On average jobs waited for 3.0 GPUs that were not free, while 1.5 held GPUs were idle. 3.0 more were asked "
        "for by jobs that a hold, a dependency, a begin time or a limit keeps back: free GPUs would not start them. "
        "The queue was read for 70 % of the period."
    )
    assert "too little of this period" in demand_summary(demand(row(0, None, 2, 0.2)))


def test_the_overview_shows_demand_beside_the_idle_gpus(
    pages: Pages, small: Callable[..., Ledger], ledger: Ledger, cur: Cursor
) -> None:
    small()
    polled(ledger)
    ledger.save(cur)
    shown = pages.get("/?range=12h")
    charts = shown.charts()
    hours, beside = (charts[name]["figure"]["data"] for name in ("overview-timeline", "overview-demand"))
    assert beside[1]["x"] == hours[0]["x"]
    assert beside[1]["y"] == [0] * 6 + [1] * 6
    assert set(beside[2]["y"]) == {6}
    assert "On average jobs waited for 6.0 GPUs that were not free, while 0.50 held GPUs were idle." in shown.text()
    assert "The queue was read" not in shown.text()
    (table,) = [one for one in shown.having("aria-label") if "pending jobs asked for" in one["aria-label"]]
    assert table


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("/?range=24h", "No queue is read here."),
        ("/?range=24h&user=ann", "Requests that wait belong to the whole cluster or a partition."),
    ],
)
def test_what_is_not_known_is_said_with_the_next_step(
    address: str, sentence: str, pages: Pages, small: Callable[..., Ledger]
) -> None:
    small()
    shown = pages.get(address)
    assert sentence in shown.text()
    assert "overview-demand" not in shown.charts()


def test_a_queue_that_was_read_at_other_times_is_another_answer(
    pages: Pages, small: Callable[..., Ledger], ledger: Ledger, cur: Cursor
) -> None:
    small()
    ledger.put("queue_poll", node_key=1, cluster="c1", at_ms=T0 + DAY, until_ms=T0 + DAY + HOUR)
    ledger.save(cur)
    assert "The queue was not read in this period." in pages.get("/?range=24h").text()


def test_a_host_without_slurm_has_no_queue(
    pages: Pages, small: Callable[..., Ledger], ledger: Ledger, cur: Cursor
) -> None:
    small()
    cur.execute("UPDATE node SET slurm = FALSE")
    assert "queue" not in pages.get("/").text()
