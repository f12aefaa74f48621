"""What no page of ours sends is refused in one sentence, and the log has no traceback of it."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from dashboard.callbacks import LOCATION, PATH
from tests.dashboard.pages import Pages
from tests.factories.ledger import Ledger

FIGURES = '{"figure":["ALL"]}'
SLOTS = '{"slot":["ALL"]}'
GRID = '{"grid":"jobs-grid","view":["MATCH"]}'


def place(id: Any, name: str, value: Any = None) -> dict[str, Any]:
    return {"id": id, "property": name, "value": value}


ADDRESS = [place(LOCATION, "pathname", "/"), place(LOCATION, "search", "")]
ROUTER: dict[str, Any] = {
    "output": ".._pages_content.children..._pages_store.data..",
    "outputs": [place("_pages_content", "children"), place("_pages_store", "data")],
    "inputs": ADDRESS,
    "state": ADDRESS,
    "changedPropIds": [f"{LOCATION}.pathname"],
}
REFRESH: dict[str, Any] = {
    "output": f"..live-part.children...{SLOTS}.children...{SLOTS}.data-digest...{FIGURES}.data...refreshed.data..",
    "outputs": [
        place("live-part", "children"),
        [place({"slot": "age"}, "children")],
        [place({"slot": "age"}, "data-digest")],
        [],
        place("refreshed", "data"),
    ],
    "inputs": [place("tick", "data", 1)],
    "state": [
        *ADDRESS,
        place("live-part", "data-digest", "x"),
        [place({"slot": "age"}, "id", {"slot": "age"})],
        [place({"slot": "age"}, "data-digest", "x")],
        [],
    ],
    "changedPropIds": ["tick.data"],
}
JOBS_GRID = {"grid": "jobs-grid", "view": "1"}
ROWS: dict[str, Any] = {
    "output": f"{GRID}.getRowsResponse",
    "outputs": place(JOBS_GRID, "getRowsResponse"),
    "inputs": [place(JOBS_GRID, "getRowsRequest", {"startRow": 0, "endRow": 50, "sortModel": []})],
    "state": [place(LOCATION, "pathname", "/jobs"), place(LOCATION, "search", "")],
    "changedPropIds": [],
}


def changed(call: dict[str, Any], *path: Any, to: Any) -> dict[str, Any]:
    """The call with the value at ``path`` replaced."""
    found = copy.deepcopy(call)
    node = found
    for step in path[:-1]:
        node = node[step]
    node[path[-1]] = to
    return found


MADE_UP: dict[str, Any] = {
    "no object": [],
    "nothing in it": {},
    "null": None,
    "an unknown output": {"output": "x", "inputs": [], "outputs": []},
    "an output that is no text": changed(ROUTER, "output", to=5),
    "a callback of the browser": changed(ROUTER, "output", to="arrived.children"),
    "no inputs": changed(ROUTER, "inputs", to=[]),
    "inputs that are none": changed(ROUTER, "inputs", to=[1, 2]),
    "an input without a name": changed(ROUTER, "inputs", 0, to={"value": "/"}),
    "another input": changed(ROUTER, "inputs", 0, "id", to="tick"),
    "one output too few": changed(ROUTER, "outputs", to=[]),
    "an address that is a number": changed(ROUTER, "inputs", 0, "value", to=5),
    "no address": changed(ROUTER, "state", 0, "value", to=None),
    "changes that are no list": changed(ROUTER, "changedPropIds", to=7),
    "slots that are not many": changed(REFRESH, "state", 3, to=place("x", "id")),
    "slots without a name": changed(REFRESH, "state", 3, 0, "value", to={"other": 1}),
    "slots that are text": changed(REFRESH, "state", 3, 0, "value", to="age"),
    "fewer digests than slots": changed(REFRESH, "state", 4, to=[]),
    "rows that are text": changed(ROWS, "inputs", 0, "value", to="rows"),
    "a row that is no number": changed(ROWS, "inputs", 0, "value", to={"startRow": "x"}),
    "a row beyond all": changed(ROWS, "inputs", 0, "value", to={"startRow": 1e400}),
    "an order that is none": changed(ROWS, "inputs", 0, "value", to={"sortModel": ["gpu_h"]}),
}


@pytest.mark.parametrize("call", MADE_UP.values(), ids=MADE_UP)
def test_made_up_requests_are_one_sentence(call: Any, pages: Pages, caplog: pytest.LogCaptureFixture) -> None:
    pages.client.get("/")
    answer = pages.client.post(PATH, json=call)
    assert answer.status_code == 400
    assert answer.json["error"].endswith("; load the page again.")
    assert not [record for record in caplog.records if record.exc_info]


@pytest.mark.parametrize("body", [b"", b"{", b"\xff\xfe", b"[" * 100_000], ids=["empty", "cut", "bytes", "deep"])
def test_what_is_no_json_is_one_sentence(body: bytes, pages: Pages, caplog: pytest.LogCaptureFixture) -> None:
    pages.client.get("/")
    answer = pages.client.post(PATH, data=body, content_type="application/json")
    assert answer.status_code == 400
    assert answer.json["error"].endswith("; load the page again.")
    assert not [record for record in caplog.records if record.exc_info]


@pytest.mark.parametrize("call", [ROUTER, REFRESH, ROWS], ids=["router", "refresh", "rows"])
def test_what_pages_send_is_answered(call: dict[str, Any], pages: Pages, small: Callable[..., Ledger]) -> None:
    small()
    pages.client.get("/")
    assert pages.client.post(PATH, json=call).status_code == 200


def test_a_row_far_below_the_last_is_none(pages: Pages, small: Callable[..., Ledger]) -> None:
    small()
    pages.client.get("/")
    answer = pages.client.post(PATH, json=changed(ROWS, "inputs", 0, "value", to={"startRow": 1e18}))
    (given,) = answer.json["response"].values()
    assert given["getRowsResponse"] == {"rowData": [], "rowCount": 3}
