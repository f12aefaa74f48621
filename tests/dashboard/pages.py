"""The application without a browser: asks for a page as the browser would and looks at what comes back."""

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from analytics.model import Viewer
from analytics.settings import AnalyticsSettings
from analytics.site import SiteSettings
from dashboard.app import create_app
from dashboard.components.cards import LAST_GOOD
from dashboard.components.first_run import COMPLETE
from dashboard.services import Services
from store.database import Cursor, Database

LOCATION = "_pages_location"


@dataclass
class Shown:
    """A page as the browser gets it: components as plain JSON."""

    tree: Any

    def walk(self, node: Any = None) -> Iterator[dict[str, Any]]:
        node = self.tree if node is None else node
        if isinstance(node, list):
            for one in node:
                if one is not None:
                    yield from self.walk(one)
        elif isinstance(node, dict) and "props" in node:
            yield node["props"] | {"_type": node["type"]}
            children = node["props"].get("children")
            if children is not None:
                yield from self.walk(children)

    def text(self) -> str:
        return " ".join(_texts(self.tree))

    def having(self, name: str) -> list[dict[str, Any]]:
        return [props for props in self.walk() if props.get(name) is not None]

    def figures(self) -> dict[str, float | None]:
        return {
            one["data-figure"]: float(one["data-value"]) if one["data-value"] else None
            for one in self.having("data-figure")
        }

    def figure_link(self, name: str) -> str:
        """Returns where a figure leads to."""
        (tile,) = (one for one in self.having("data-figure") if one["data-figure"] == name)
        (href,) = (props["href"] for props in Shown(tile["children"]).having("href"))
        return str(href)

    def failed(self) -> list[str]:
        return [" ".join(_texts(one.get("children"))) for one in self.walk() if one.get("data-state") == "error"]

    def charts(self) -> dict[str, Any]:
        graphs = [one for one in self.walk() if one["_type"] == "Graph"]
        return {one["id"]["chart"]: one for one in graphs}

    def links(self) -> list[str]:
        return [one["href"] for one in self.having("href")]


def _texts(node: Any) -> Iterator[str]:
    if isinstance(node, str | int | float):
        yield str(node)
    elif isinstance(node, list):
        for one in node:
            yield from _texts(one)
    elif isinstance(node, dict) and "props" in node:
        yield from _texts(node["props"].get("children"))


class Pages:
    """``get`` returns a page; ``client`` is Flask's own for everything else."""

    def __init__(self, database: Database, now_ms: int, **site: str) -> None:
        self.broken: Exception | None = None
        self.database = database
        services = Services(
            cursor=self._cursor,
            now_ms=lambda: now_ms,
            site=SiteSettings(**{"name": "Aurora", "contact": "help@example.org"} | site),
            analytics=AnalyticsSettings(),
            viewer=lambda: Viewer("admin", user="ann"),
            version="1.2.3",
        )
        self.app = create_app(services)
        self.client = self.app.server.test_client()

    @contextlib.contextmanager
    def _cursor(self) -> Iterator[Cursor]:
        if self.broken:
            raise self.broken
        with self.database.cursor() as cursor:
            yield cursor

    def forget(self) -> None:
        """Puts the application back to where it was when it was made."""
        self.broken = None
        for key in (LAST_GOOD, COMPLETE):
            self.app.server.extensions.pop(key, None)
        self.client = self.app.server.test_client()

    def get(self, address: str) -> Shown:
        path, _, query = address.partition("?")
        search = f"?{query}" if query else ""
        values = {"pathname": path, "search": search}
        place = [{"id": LOCATION, "property": name, "value": value} for name, value in values.items()]
        self.client.get("/")  # Dash registers the router with the first request
        answer = self.client.post(
            "/_dash-update-component",
            json={
                "output": ".._pages_content.children..._pages_store.data..",
                "outputs": [
                    {"id": "_pages_content", "property": "children"},
                    {"id": "_pages_store", "property": "data"},
                ],
                "inputs": place,
                "state": place,
                "changedPropIds": [f"{LOCATION}.pathname"],
            },
        )
        assert answer.status_code == 200, answer.text
        return Shown(json.loads(answer.data)["response"]["_pages_content"]["children"])
