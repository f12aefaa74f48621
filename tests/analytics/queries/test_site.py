"""What the store holds, what filters offer, and the archive of reports."""

import pytest

from analytics.model import Viewer, Window
from analytics.queries.choices import choices
from analytics.queries.reports import archive, report
from analytics.queries.site import data_to, kind, site
from store.database import Cursor
from tests.factories.ledger import DAY, T0, Ledger

ADMIN = Viewer()
WEEK = Window(start_ms=T0, end_ms=T0 + 7 * DAY)


def test_an_empty_store(cur: Cursor) -> None:
    found = site(cur)
    assert (found.kind, found.synthetic, found.clusters, found.nodes, found.gpus) == ("empty", False, [], 0, 0)
    assert (found.data_from_ms, found.data_to_ms, data_to(cur)) == (None, None, None)
    assert choices(cur, ADMIN, WEEK).users == []


def test_a_store_of_two_clusters(cur: Cursor, ledger: Ledger) -> None:
    ledger.gpu(ledger.node(cluster="b", first_ms=T0 + 5, interval_ms=30_000))
    ledger.gpu(ledger.node(cluster="a", last_ms=T0 + DAY))
    ledger.save(cur)
    found = site(cur)
    assert (found.clusters, found.nodes, found.gpus, found.interval_ms) == (["a", "b"], 2, 2, 30_000)
    assert (found.data_from_ms, found.data_to_ms, kind(cur)) == (T0, T0 + 7 * DAY, "slurm")


def test_a_host_without_slurm_counts_sessions(cur: Cursor, ledger: Ledger) -> None:
    ledger.node(slurm=False)
    ledger.save(cur)
    assert kind(cur) == "sessions"


def test_choices_are_what_occurs_in_the_window_and_may_be_seen(cur: Cursor, ledger: Ledger) -> None:
    gpu = ledger.gpu(ledger.node())
    mine = ledger.run(state="CANCELLED by 7", user_name="bob", account=None)
    ledger.hour(gpu, mine, T0, active=60)
    ledger.hour(gpu, ledger.run(user_name="ann"), T0, active=60)
    ledger.hour(gpu, ledger.run(user_name="old"), T0 - DAY, active=60)
    ledger.finding(mine)
    ledger.save(cur)
    found = choices(cur, ADMIN, WEEK)
    assert (found.users, found.accounts, found.states) == (["ann", "bob"], ["physics"], ["CANCELLED", "COMPLETED"])
    assert (found.nodes, found.partitions, found.rules) == (["n1"], ["gpu"], ["gpu_never_used"])
    assert choices(cur, Viewer(kind="user", user="bob"), WEEK).users == ["bob"]


@pytest.fixture
def archived(cur: Cursor, ledger: Ledger) -> Cursor:
    texts = {"html": "<p>", "text": "words", "figures": "{}"}
    rows = [("cluster", "2026-W47", 1), ("cluster", "2026-W48", 1), ("cluster", "2026-W48", 2)]
    for scope, week, revision in [*rows, ("user:bob", "2026-W48", 1), ("account:bio", "2026-W48", 1)]:
        ledger.put("report", scope=scope, week=week, revision=revision, made_ms=T0, data_to_ms=T0, **texts)
    ledger.save(cur)
    return cur


def test_the_archive_newest_first(archived: Cursor) -> None:
    page = archive(archived, ADMIN, limit=4)
    assert [(row.scope, row.week, row.revision) for row in page.items] == [
        *(("account:bio", "2026-W48", 1), ("cluster", "2026-W48", 2), ("cluster", "2026-W48", 1)),
        ("user:bob", "2026-W48", 1),
    ]
    assert (page.count, page.next) == (5, 4)
    assert archive(archived, ADMIN, scope="cluster").count == 3


def test_a_report_is_its_newest_revision(archived: Cursor) -> None:
    found = report(archived, ADMIN, "cluster", "2026-W48")
    assert found is not None
    assert (found.row.revision, found.text) == (2, "words")
    first = report(archived, ADMIN, "cluster", "2026-W48", revision=1)
    assert first is not None
    assert first.row.revision == 1
    assert report(archived, ADMIN, "cluster", "2026-W01") is None


@pytest.mark.parametrize(
    ("viewer", "scopes"),
    [
        (Viewer(kind="user", user="bob"), ["user:bob"]),
        (Viewer(kind="user", user="eve"), []),
        (Viewer(kind="user", user=None), []),
        (Viewer(kind="account", user="eve", accounts=("bio",)), ["account:bio"]),
    ],
)
def test_people_see_their_own_reports(archived: Cursor, viewer: Viewer, scopes: list[str]) -> None:
    assert [row.scope for row in archive(archived, viewer).items] == scopes
    assert report(archived, viewer, "cluster", "2026-W48") is None
