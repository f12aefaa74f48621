"""Browsers of a hub: pages that refresh once a minute, and somebody who opens one every few seconds."""

import http.client
import itertools
import json
import threading
import time
from typing import Any, Final

OPEN: Final = ("/", "/jobs", "/nodes", "/people", "/recommendations")
"""The pages that stay open and refresh."""
_HEADERS: Final = {"Content-Type": "application/json"}


def named(page: str) -> str:
    """Return what a page is called among the figures."""
    return page.strip("/") or "overview"


def asked(address: str) -> bytes:
    """Return what the browser's router asks Dash for when a page is opened or refreshes."""
    path, _, query = address.partition("?")
    place = [
        {"id": "_pages_location", "property": name, "value": value}
        for name, value in (("pathname", path), ("search", f"?{query}" if query else ""))
    ]
    outputs = [{"id": "_pages_content", "property": "children"}, {"id": "_pages_store", "property": "data"}]
    body: dict[str, Any] = {
        "output": ".._pages_content.children..._pages_store.data..",
        "outputs": outputs,
        "inputs": place,
        "state": place,
        "changedPropIds": ["_pages_location.pathname"],
    }
    return json.dumps(body).encode()


class Browsers(threading.Thread):
    """Asks until :meth:`end`; ``answers_s`` then holds how long each answer took, by page.

    A page that refreshes asks for its content every ``refresh_s``; a full load, every ``load_s``, is the document, what
    Dash asks for first, and the content.
    """

    def __init__(self, port: int, refresh_s: float = 60.0, load_s: float = 5.0) -> None:
        super().__init__(name="browsers")
        self._port = port
        self._refresh_s = refresh_s
        self._load_s = load_s
        self._over = threading.Event()
        self.answers_s: dict[str, list[float]] = {}
        self.failed: list[str] = []

    def run(self) -> None:
        """Ask for each page when it is due."""
        begin, opened = time.monotonic(), itertools.cycle(OPEN)
        due = [(self._refresh_s * at / len(OPEN), page, self._refresh_s) for at, page in enumerate(OPEN)]
        due.append((self._load_s / 2, "", self._load_s))
        while True:
            due.sort()
            at_s, page, every_s = due[0]
            if self._over.wait(max(0.0, begin + at_s - time.monotonic())):
                return
            if page:
                self._ask(f"refresh_{named(page)}", ("POST", "/_dash-update-component", asked(page)))
            else:
                self._load(next(opened))
            due[0] = (max(at_s + every_s, time.monotonic() - begin), page, every_s)

    def end(self) -> None:
        """Stop, once the answer that is being waited for has come."""
        self._over.set()
        self.join()

    def _load(self, page: str) -> None:
        document = ("GET", page, None)
        first = (("GET", path, None) for path in ("/_dash-layout", "/_dash-dependencies"))
        self._ask(f"load_{named(page)}", document, *first, ("POST", "/_dash-update-component", asked(page)))

    def _ask(self, name: str, *requests: tuple[str, str, bytes | None]) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        began = time.monotonic()
        try:
            for method, path, body in requests:
                connection.request(method, path, body, _HEADERS if body else {})
                answer = connection.getresponse()
                text = answer.read()
                if answer.status != 200:
                    self.failed.append(f"{name}: {answer.status} {text[:200]!r}")
        except (OSError, http.client.HTTPException) as error:
            self.failed.append(f"{name}: {error!r}")
        finally:
            connection.close()
        self.answers_s.setdefault(name, []).append(time.monotonic() - began)
