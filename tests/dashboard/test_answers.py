"""What every answer carries, and the rows of the grid."""

import gzip
import re
from collections.abc import Callable

import pytest

from dashboard.components import job_grid
from dashboard.pages.jobs import PAGE
from dashboard.table_rows import block
from store.database import Cursor
from tests.dashboard.pages import Pages
from tests.factories.ledger import T0, Ledger


def test_policy_allows_only_ours(pages: Pages) -> None:
    answer = pages.client.get("/")
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe-eval" not in policy
    script = re.search(r"script-src ([^;]*)", policy)
    assert script is not None
    assert "unsafe-inline" not in script[1]
    assert "http" not in policy
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_index_names_nothing_outside(pages: Pages) -> None:
    html = pages.client.get("/").text
    assert not re.search(r"(src|href)=\"(https?:)?//", html)
    assert "/_mcp" not in html
    assert pages.client.post("/_mcp").status_code in (404, 405)


def test_index_does_not_repeat_the_address(pages: Pages) -> None:
    assert "alert(1)" not in pages.client.get('/jobs/"><script>alert(1)</script>').text


def test_compressed_where_asked(pages: Pages, small: Callable[..., Ledger]) -> None:
    small()
    plain = pages.client.get("/_dash-dependencies")
    packed = pages.client.get("/_dash-dependencies", headers={"Accept-Encoding": "gzip"})
    assert "Content-Encoding" not in plain.headers
    assert packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.data) == plain.data


def test_scheme_of_the_cookie_colours_the_charts(pages: Pages, small: Callable[..., Ledger]) -> None:
    small()
    for scheme, colour in (("light", "#2E86C1"), ("dark", "#4FA3DD")):
        pages.client.set_cookie("scheme", scheme)
        assert colour in str(pages.get("/").charts()["overview-timeline"]["figure"])


@pytest.mark.parametrize(
    ("model", "first"),
    [
        ([], "102"),
        ([{"colId": "gpu_h", "sort": "asc"}], "102"),
        ([{"colId": "util", "sort": "desc"}], "101"),
        ([{"colId": "unknown_gpu_h", "sort": "desc"}], "103"),
        ([{"colId": "nonsense; DROP", "sort": "desc"}], "102"),
    ],
)
def test_grid_is_sorted_in_sql(
    model: list[dict[str, str]], first: str, pages: Pages, small: Callable[..., Ledger]
) -> None:
    small()
    asked = {"startRow": 0, "endRow": 50, "sortModel": model}
    with pages.app.server.test_request_context("/jobs"):
        found = block(PAGE, asked, "/jobs", "")
    assert found["rowCount"] == 3
    assert found["rowData"][0]["job"]["text"] == first


def test_grid_takes_pages_and_the_address(pages: Pages, small: Callable[..., Ledger]) -> None:
    small()
    with pages.app.server.test_request_context("/jobs"):
        second = block(PAGE, {"startRow": 1, "endRow": 2, "sortModel": []}, "/jobs", "")
        none = block(PAGE, {"startRow": 0, "endRow": 50}, "/jobs", "?user=nobody")
    assert len(second["rowData"]) == 1
    assert none == {"rowData": [], "rowCount": 0}


def test_columns_of_the_address() -> None:
    assert job_grid.shown_columns("user,nonsense,coverage") == ["user", "coverage"]
    assert job_grid.shown_columns("nonsense") == job_grid.shown_columns(None)
    assert "sm" not in job_grid.shown_columns(None)


def test_kept_report_is_served_as_it_was_made(pages: Pages, ledger: Ledger, cur: Cursor) -> None:
    kept = {"html": "<html><body>kept</body></html>", "text": "kept", "figures": "{}"}
    ledger.put("report", scope="cluster", week="2026-W48", revision=1, made_ms=T0, data_to_ms=T0, **kept)
    ledger.save(cur)
    (link,) = [link for link in pages.get("/reports").links() if link.startswith("/reports/")]
    answer = pages.client.get(link)
    assert answer.text == kept["html"]
    assert "sandbox" in answer.headers["Content-Security-Policy"]
    assert pages.client.get("/reports/cluster/2026-W01/1").status_code == 404
