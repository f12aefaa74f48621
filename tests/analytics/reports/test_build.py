"""A report's figures are the named queries', its week is the one asked for, its rows add up."""

import msgspec
import pytest

from analytics.model import Filter, Viewer, Window
from analytics.queries.hours import hours
from analytics.reports.archive import keep_last_week
from analytics.reports.build import NoSuchWeek, build
from analytics.reports.model import BadScope, Report, Scope
from analytics.reports.render import render_html, render_text
from analytics.site import SiteSettings
from store.database import Cursor
from tests.factories.footprints import footprint_run
from tests.factories.ledger import DAY, HOUR, T0, Ledger

SITE = SiteSettings(url="http://127.0.0.1:8050", name="Test site", contact="help@site.example")
MADE = T0 + 7 * DAY + 10 * HOUR


def report(cur: Cursor, scope: str = "cluster", week: str | None = None) -> Report:
    return build(cur, Viewer(), Scope.parse(scope), week, SITE, MADE)


def section(made: Report, title: str) -> object:
    return next(each for each in made.sections if each.title == title)


def test_the_default_is_the_last_complete_week(weeks: Cursor) -> None:
    made = report(weeks)
    assert (made.week, made.partial) == ("2026-W48", False)


def test_figures_are_those_of_the_named_query(weeks: Cursor) -> None:
    made = report(weeks)
    found = hours(weeks, Viewer(), Window.week("2026-W48"), Filter())
    assert made.figures["hours"]["idle_gpu_h"] == found.idle_gpu_h == 30.0
    assert made.figures["hours"]["held_gpu_h"] == found.held_gpu_h == 72.0
    assert made.figures["hours"]["unknown_gpu_h"] == 2.0


def test_the_week_so_far_is_marked(weeks: Cursor) -> None:
    made = report(weeks, week="2026-W49")
    assert made.partial
    assert made.window.end_ms == MADE


@pytest.mark.parametrize(
    ("week", "sentence"),
    [
        ("W48", "is not a week"),
        ("2026-W60", "no week 2026-W60"),
        ("2025-W02", "there are weeks 2026-W47 to 2026-W49"),
    ],
)
def test_a_week_that_cannot_be(weeks: Cursor, week: str, sentence: str) -> None:
    with pytest.raises(NoSuchWeek, match=sentence):
        report(weeks, week=week)


def test_an_empty_store(cur: Cursor) -> None:
    with pytest.raises(NoSuchWeek, match="Nothing was recorded yet"):
        report(cur)


@pytest.mark.parametrize("text", ["everybody", "user:", "account", "cluster:x"])
def test_a_scope_that_is_none(text: str) -> None:
    with pytest.raises(BadScope, match="is not known"):
        Scope.parse(text)


def test_rows_by_account_add_up_to_the_report(weeks: Cursor) -> None:
    made = report(weeks)
    table = section(made, "Idle hours by account").table
    assert [row[0].text for row in table.rows] == ["chem", "physics"]
    assert [row[2] for row in table.rows] == ["30", "0"]
    assert table.total[1:3] == ("72", "30")


def test_the_recommendation_that_frees_most_is_the_decision(weeks: Cursor) -> None:
    decision = section(report(weeks), "The one decision for you")
    assert decision.before_lines == ("#SBATCH --gres=gpu:4",)
    assert decision.after_lines == ("#SBATCH --gres=gpu:1",)


@pytest.mark.parametrize(
    ("scope", "step"),
    [
        ("cluster", "send ann the lines below: only the owner can change the request."),
        ("account:chem", "ask bob about it: what a job was meant to do is not in the readings."),
    ],
)
def test_whoever_reads_about_others_is_told_whom_to_write_to(weeks: Cursor, scope: str, step: str) -> None:
    said = section(report(weeks, scope), "The one decision for you").paragraphs
    assert said[-1] == f"Next step: {step}"
    own = section(report(weeks, "user:bob"), "The one thing to do").paragraphs
    assert not any(str(each).startswith("Next step") for each in own)


def test_a_users_report_is_about_that_user(weeks: Cursor) -> None:
    made = report(weeks, "user:bob")
    assert made.figures["hours"]["held_gpu_h"] == 30.0
    decision = section(made, "The one thing to do")
    assert "bob" not in "".join(str(part) for part in decision.paragraphs)


def test_what_could_not_be_judged_is_listed(weeks: Cursor) -> None:
    table = section(report(weeks), "Could not judge").table
    assert table.rows == (("Any finding", "nothing was measured", "1", "2.0"),)


def test_links_carry_week_and_scope(weeks: Cursor) -> None:
    link = report(weeks, "account:chem").sections[0].paragraphs[0]
    assert link.href.startswith("http://127.0.0.1:8050/jobs?range=2026-W48&account=chem")


def test_the_usual_is_compared_only_where_comparable(weeks: Cursor) -> None:
    said = [str(each) for each in report(weeks).sections[0].paragraphs]
    assert any("the week before" in each for each in said)
    assert msgspec.json.encode(report(weeks).figures)


def test_unknown_is_not_nothing(cur: Cursor, ledger: Ledger) -> None:
    """While runs wait for the rules no report says that there is nothing to change, and none is kept."""
    gpu = ledger.gpu(ledger.node("n1", first_ms=T0 - 7 * DAY, last_ms=MADE))
    for number in range(30):
        start = T0 + number * HOUR
        run = ledger.run(start_ms=start, end_ms=start + HOUR)
        ledger.hour(gpu, run, start, idle=60)
        footprint_run(ledger, run, judged=False)
    ledger.save(cur)
    made = report(cur)
    assert section(made, "The one decision for you").paragraphs == (
        "Not known yet: what came in is still being judged.",
    )
    for text in (render_text(made), render_html(made)):
        assert "Still loading: 30 runs to be judged." in text.split("The week in one sentence")[0]
        assert "Nothing to change" not in text
    assert keep_last_week(cur.database, SITE, MADE) == 0
    cur.execute("UPDATE footprint_run SET judged = TRUE, finished = TRUE")
    assert report(cur).loading is None
    assert "Nothing to change" in render_text(report(cur))


def test_the_share_of_a_week_so_far_names_what_it_is_held_against(weeks: Cursor) -> None:
    """Hours stand against the same span before, shares against whole weeks."""
    weeks.execute("UPDATE node SET last_ms = $1", [T0 + 3 * DAY])
    so_far = report(weeks, week="2026-W48").sections[0].paragraphs[1]
    assert so_far == "So far 43 % idle (share of measured hours), the whole week before 43 %."


def test_the_title_says_from_when_a_week_was_recorded(weeks: Cursor) -> None:
    assert "recorded" not in report(weeks).title
    weeks.execute("UPDATE node SET first_ms = $1", [T0 + DAY + HOUR])
    assert report(weeks, week="2026-W48").title.endswith(", recorded from Tue 24 Nov 01:00")
