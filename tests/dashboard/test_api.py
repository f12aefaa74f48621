"""The HTTP API over a real store: the same numbers as the queries, honest errors, CSV, health and metrics."""

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from analytics.model import Filter, Viewer, Window
from analytics.queries.hours import hours
from analytics.requests import FILTER_NAMES, WINDOW_NAMES
from analytics.settings import AnalyticsSettings
from analytics.site import SiteSettings
from dashboard.api import LIST_NAMES, create_blueprint
from dashboard.api_answers import ANSWERS
from dashboard.services import EXTENSION, Services
from store.database import Cursor, Database
from tests.factories.fixtures import cur, database, ledger
from tests.factories.footprints import footprint_run
from tests.factories.ledger import DAY, HOUR, T0, Ledger

__all__ = ["cur", "database", "ledger"]  # fixtures

NOW = T0 + 2 * DAY
LISTS = (
    "accounts, demand, findings, health, jobs, node-findings, nodes, notes, pending, recommendations, reports, "
    "summary, users"
)


@pytest.fixture
def viewer() -> list[Viewer]:
    """Who asks; a test may put somebody else there."""
    return [Viewer(user="root")]


@pytest.fixture
def client(database: Database, cur: Cursor, viewer: list[Viewer]) -> Iterator[FlaskClient]:
    app = Flask("api under test", static_folder=None)
    given = Services(
        cursor=database.cursor,
        now_ms=lambda: NOW,
        site=SiteSettings(zone="Europe/Berlin"),
        analytics=AnalyticsSettings(),
        viewer=lambda: viewer[0],
        version="1.2.3",
    )
    app.extensions[EXTENSION] = given
    app.register_blueprint(create_blueprint(given))
    with app.test_client() as opened:
        yield opened


@pytest.fixture
def filled(cur: Cursor, ledger: Ledger) -> Cursor:
    """Three runs of two people on one node."""
    node = ledger.node("n1", last_ms=NOW, first_ms=T0 - DAY)
    gpu = ledger.gpu(node, first_ms=T0 - DAY)
    for number, (user, account) in enumerate((("ann", "physics"), ("bob", "bio"), ("bob", "bio"))):
        start = T0 + number * 3 * HOUR
        job = {"user_name": user, "account": account, "name": "=cmd()" if number else "train, fast"}
        run = ledger.run(str(4100 + number), start_ms=start, end_ms=start + HOUR, **job)
        ledger.hold(run, gpu)
        ledger.hour(gpu, run, start, active=20, idle=30, unknown=10, util_pct=40)
        footprint_run(ledger, run, family=f"f{number}")
    ledger.finding(1, gpu_h=0.5)
    ledger.put("job_log", job="judge", at_ms=NOW, duration_ms=12.0, ok=True, rows=1, error="")
    ledger.save(cur)
    return cur


def get(client: FlaskClient, path: str, status: int = 200) -> Any:
    answer = client.get(path)
    assert answer.status_code == status, answer.text
    assert answer.headers["Cache-Control"] == "no-store"
    return json.loads(answer.text)


def test_the_summary_has_the_numbers_of_the_query(client: FlaskClient, filled: Cursor) -> None:
    found = get(client, "/api/v1/summary?by=user")
    total = hours(filled, Viewer(), Window.last(168, NOW, "Europe/Berlin"), Filter())
    assert found["hours"]["held_gpu_h"] == total.held_gpu_h == 3
    assert found["hours"]["idle_gpu_h"] == total.idle_gpu_h == 1.5
    assert found["hours"]["capacity_gpu_h"] == total.capacity_gpu_h == 72
    assert found["window"]["to"] == "2026-11-25T00:00:00Z"
    assert {row["key"]: row["held_gpu_h"] for row in found["breakdown"]} == {"bob": 2, "ann": 1}
    assert found["sentence"] == "1.5 of 2.5 measured GPU-hours were idle."


def test_demand_has_gaps_and_says_why_there_is_none(client: FlaskClient, filled: Cursor, ledger: Ledger) -> None:
    assert get(client, "/api/v1/demand?range=24h")["known"] == "never_read"
    ledger.put("queue_poll", node_key=1, cluster="c1", at_ms=NOW - HOUR, until_ms=NOW)
    waiting = {"waits_for": "hardware", "jobs": 2, "gpus": 9}
    ledger.put("queue_pending", node_key=1, at_ms=NOW - HOUR, partition="gpu", **waiting)
    ledger.save(filled)
    found = get(client, "/api/v1/demand?range=24h&limit=1000")
    assert (found["known"], found["bucket_ms"], len(found["items"])) == ("yes", HOUR, 24)
    gap, last = found["items"][-2:]
    assert (gap["waiting_gpus"], gap["polled_ratio"]) == (None, 0)
    assert (last["waiting_gpus"], last["waiting_jobs"], last["not_ready_gpus"], last["polled_ratio"]) == (9, 2, 0, 1)
    assert last["start"] == "2026-11-24T23:00:00Z"


def test_jobs_page_by_page(client: FlaskClient, filled: Cursor) -> None:
    seen, cursor = [], ""
    while True:
        page = get(client, f"/api/v1/jobs?limit=2&sort=start&order=asc&cursor={cursor}")
        seen += [row["job_id"] for row in page["items"]]
        assert page["total"]["count"] == 3
        cursor = page["next"]
        if cursor is None:
            break
    assert seen == ["4100", "4101", "4102"]


def test_a_job_has_its_times_in_both_forms(client: FlaskClient, filled: Cursor) -> None:
    row = get(client, "/api/v1/jobs?user=ann")["items"][0]
    assert (row["start"], row["start_ms"], row["gpu_h"], row["sm_mean_pct"]) == ("2026-11-23T00:00:00Z", T0, 1, None)
    found = get(client, "/api/v1/jobs/c1:4100")
    assert (found["job_id"], found["user"], found["idle_gpu_h"], found["runs"]) == ("4100", "ann", 0.5, [1])
    assert get(client, "/api/v1/jobs/4100?run=1")["run_key"] == 1


def test_a_finding_says_at_least_what_the_contract_names(client: FlaskClient, filled: Cursor) -> None:
    page = get(client, "/api/v1/findings")
    (row,) = page["items"]
    named = {"id", "rule", "job_id", "job_id_raw", "cluster", "user", "account", "start", "end", "gpu_h"}
    assert named | {"confidence", "coverage"} <= row.keys()
    assert (row["gpu_h"], row["start"], row["numbers"]) == (0.5, "2026-11-23T00:00:00Z", {"gpus": 1})
    assert page["next"] is None
    assert get(client, "/api/v1/findings/1")["rule"] == "gpu_never_used"
    filled.execute("UPDATE finding SET closed_ms = 1")
    assert get(client, "/api/v1/findings")["items"] == []
    assert len(get(client, "/api/v1/findings?past=1")["items"]) == 1


@pytest.mark.parametrize("path", ["jobs", "findings", "recommendations", "nodes", "users", "accounts", "reports"])
def test_every_list_is_items_and_next(client: FlaskClient, filled: Cursor, path: str) -> None:
    query = "from=2026-11-01&to=2026-12-01&user=ann&account=physics&partition=gpu&cluster=c1&limit=10&cursor=0"
    page = get(client, f"/api/v1/{path}?{query}")
    assert isinstance(page["items"], list)
    assert page["next"] is None


def test_people_and_accounts(client: FlaskClient, filled: Cursor) -> None:
    users = get(client, "/api/v1/users?limit=1")
    assert [(row["user"], row["gpu_h"], row["idle_gpu_h"]) for row in users["items"]] == [("bob", 2, 1)]
    assert users["next"] == "1"
    assert [row["user"] for row in get(client, "/api/v1/users?cursor=1")["items"]] == ["ann"]
    accounts = get(client, "/api/v1/accounts")["items"]
    assert [(row["account"], row["gpu_h"]) for row in accounts] == [("bio", 2), ("physics", 1)]


def test_nodes_and_one_node(client: FlaskClient, filled: Cursor) -> None:
    assert [row["name"] for row in get(client, "/api/v1/nodes")["items"]] == ["n1"]
    assert [row["name"] for row in get(client, "/api/v1/nodes?user=ann&range=7d")["items"]] == ["n1"]
    assert get(client, "/api/v1/nodes?user=zoe")["items"] == []
    assert get(client, "/api/v1/nodes?cluster=c2")["items"] == []
    assert get(client, "/api/v1/nodes/n1")["gpus"][0]["gpu"]["uuid"] == "GPU-1"


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("jobs?from=nonsense", "from is a date or time such as 2026-11-23 or 2026-11-23T14:00, not 'nonsense'."),
        ("jobs?usr=ann", "The parameter 'usr' is not known; did you mean user?"),
        ("jobs?limit=0", "limit is a whole number from 1 to 1000, not '0'."),
        ("findings?cursor=abc", "cursor is what an answer gave as next, not 'abc'."),
        ("jobs?min_gpu_h=many", "min_gpu_h is a number of 0 or more, not 'many'."),
        ("summary?by=colour", "by is one of user, account, partition, model, node, cluster, day."),
        ("users?format=xml", "format is one of json, csv."),
        ("jobs?order=up", "order is one of desc, asc."),
    ],
)
def test_a_bad_parameter_is_one_sentence(client: FlaskClient, path: str, sentence: str) -> None:
    assert get(client, f"/api/v1/{path}", 400) == {"error": sentence}


def test_a_sort_that_is_none_names_those_there_are(client: FlaskClient) -> None:
    assert get(client, "/api/v1/jobs?sort=held", 400)["error"].startswith("sort is one of job, name, user,")


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("jobs/999", "No run '999' is known here; ids are such as 123, 123_4, 123+1 or cluster:123."),
        ("jobs/4100?run=2", "No run '4100' is known here; ids are such as 123, 123_4, 123+1 or cluster:123."),
        ("findings/77", "There is no finding 77; `gpuledger findings` lists them."),
        ("findings/99999999999999999999", "There is no finding 99999999999999999999; `gpuledger findings` lists them."),
        ("nodes/n9", "No node 'n9' has reported here; /api/v1/nodes lists them."),
        (
            "nothing",
            f"There is no /api/v1/nothing; known are {LISTS}.",
        ),
    ],
)
def test_what_is_not_there_is_one_sentence(client: FlaskClient, filled: Cursor, path: str, sentence: str) -> None:
    assert get(client, f"/api/v1/{path}", 404) == {"error": sentence}


def test_a_fault_is_one_sentence_and_tells_nothing_of_the_inside(
    client: FlaskClient, viewer: list[Viewer], caplog: pytest.LogCaptureFixture
) -> None:
    viewer.clear()
    found = get(client, "/api/v1/jobs", 500)
    assert found == {"error": "The hub failed on this question, which is a fault to report with its log."}
    assert "IndexError" in caplog.text
    assert client.post("/api/v1/jobs").status_code == 405


def test_a_viewer_sees_only_own_runs(client: FlaskClient, filled: Cursor, viewer: list[Viewer]) -> None:
    viewer[0] = Viewer(kind="user", user="ann")
    assert [row["job_id"] for row in get(client, "/api/v1/jobs")["items"]] == ["4100"]
    assert get(client, "/api/v1/summary")["hours"]["capacity_gpu_h"] is None
    get(client, "/api/v1/jobs/4101", 404)


def test_csv_is_unrounded_whole_and_safe_in_a_spreadsheet(client: FlaskClient, filled: Cursor) -> None:
    answer = client.get("/api/v1/jobs?format=csv&sort=start&order=asc&cols=user,gpu_h&range=7d")
    assert answer.mimetype == "text/csv"
    assert answer.headers["Content-Disposition"] == 'attachment; filename="gpuledger-jobs.csv"'
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert [row["name"] for row in rows] == ["train, fast", "'=cmd()", "'=cmd()"]
    assert (rows[0]["gpu_h"], rows[0]["unknown_gpu_h"], rows[0]["sm_mean_pct"]) == ("1.0", repr(1 / 6), "")
    assert json.loads(rows[0]["findings"])[0]["rule"] == "gpu_never_used"


def test_a_file_is_whole_or_refused(client: FlaskClient, filled: Cursor, monkeypatch: pytest.MonkeyPatch) -> None:
    for where in ("dashboard.api_answers.CSV_LIMIT", "dashboard.api.CSV_LIMIT"):
        monkeypatch.setattr(where, 2)
    answer = get(client, "/api/v1/jobs?format=csv&range=7d", 400)
    assert answer["error"].startswith("These are more than 2 rows: ask for less time at once")
    assert len(client.get("/api/v1/jobs?format=csv&range=7d&limit=2").text.splitlines()) == 3


@pytest.mark.parametrize("query", ["range=2026-W48", "week=2026-W48", "from=2026-11-23&to=2026-11-30"])
def test_a_week_of_the_zone(client: FlaskClient, filled: Cursor, query: str) -> None:
    found = get(client, f"/api/v1/summary?{query}")
    assert (found["window"]["from"], found["window"]["to"]) == ("2026-11-22T23:00:00Z", "2026-11-25T00:00:00Z")


def test_every_address_is_documented() -> None:
    text = (Path(__file__).parents[2] / "docs" / "api.md").read_text(encoding="utf-8")
    for path in ANSWERS:
        shown = re.sub(r"<\w+:(\w+)>", r"<\1>", path)
        assert f"`/api/v1{shown}`" in text
    for name in (*WINDOW_NAMES, *FILTER_NAMES, *LIST_NAMES):
        assert f"`{name}`" in text


def test_the_health_check_answers_on_an_empty_store(client: FlaskClient) -> None:
    assert get(client, "/healthz") == {"status": "ok", "version": "1.2.3", "data_age_s": None}
    assert get(client, "/api/v1/health")["nodes"] == []


def test_a_node_with_a_clock_ahead_moves_no_window(client: FlaskClient, cur: Cursor, ledger: Ledger) -> None:
    ledger.node(last_ms=NOW + DAY)
    ledger.save(cur)
    assert get(client, "/api/v1/summary")["window"]["to"] == "2026-11-25T00:00:00Z"


def test_metrics_name_no_user_and_no_job(client: FlaskClient, filled: Cursor) -> None:
    answer = client.get("/metrics")
    assert answer.content_type == "application/openmetrics-text; version=1.0.0; charset=utf-8"
    lines = answer.text.splitlines()
    assert lines[-1] == "# EOF"
    assert 'gpuledger_build_info{version="1.2.3"} 1' in lines
    assert 'gpuledger_nodes{state="reporting"} 1' in lines
    assert 'gpuledger_task_ok{task="judge"} 1.0' in lines
    for secret in ("ann", "bob", "physics", "bio", "train", "4100", "4101"):
        assert secret not in answer.text


def test_metrics_are_well_formed(client: FlaskClient, filled: Cursor) -> None:
    declared = set()
    for line in client.get("/metrics").text.splitlines()[:-1]:
        if line.startswith("#"):
            _, kind, name, *_ = line.split(" ")
            assert kind in ("TYPE", "HELP")
            declared.add(name)
        else:
            name, _, value = line.rpartition(" ")
            assert name.partition("{")[0] in declared
            float(value)


def test_metrics_of_an_empty_store_claim_nothing(client: FlaskClient) -> None:
    text = client.get("/metrics").text
    assert "gpuledger_gpu_hours_24h{" not in text
    assert "\ngpuledger_data_age_seconds " not in text
