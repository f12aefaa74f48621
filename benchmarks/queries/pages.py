"""Every page as the server answers the browser's router: components and figures as JSON."""

from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.queries.asked import Known
from dashboard.app import create_app
from dashboard.filters import job_path, node_path
from gpuledger.settings import Settings
from gpuledger.wiring import services
from store.database import Database

Work = Callable[[], object]


def pages(database: Database, of: Known) -> Mapping[str, Work]:
    """Returns each page by name, with the period it opens with."""
    app = create_app(services(database, Settings())).server
    client = app.test_client()
    client.get("/")  # Dash registers its router with the first request
    with database.cursor() as cur:
        job_id = cur.scalar("SELECT job_id FROM run WHERE run_key = $1", [of.hot_run])
    addresses = {
        "overview": "/",
        "me": f"/me?user={of.user}",
        "jobs": "/jobs",
        "job": job_path(job_id),
        "nodes": "/nodes",
        "node": node_path(of.node),
        "people": "/people",
        "recommendations": "/recommendations",
        "reports": "/reports",
        "health": "/health",
    }
    return {name: _page(client, address) for name, address in addresses.items()}


def _page(client: Any, address: str) -> Work:
    path, _, query = address.partition("?")
    place = [
        {"id": "_pages_location", "property": name, "value": value}
        for name, value in (("pathname", path), ("search", f"?{query}" if query else ""))
    ]
    outputs = [{"id": "_pages_content", "property": "children"}, {"id": "_pages_store", "property": "data"}]
    asked = {
        "output": ".._pages_content.children..._pages_store.data..",
        "outputs": outputs,
        "inputs": place,
        "state": place,
        "changedPropIds": ["_pages_location.pathname"],
    }

    def get() -> None:
        answer = client.post("/_dash-update-component", json=asked)
        assert answer.status_code == 200, answer.text

    return get
