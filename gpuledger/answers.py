"""Where a command gets its numbers: a running hub through DIR/hub.sock or its address, else the directory at rest.

All ways answer the same HTTP API with the same named queries, so a command prints what the pages show.
"""

import contextlib
import http
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import click

from gpuledger.errors import Refused
from gpuledger.remote import TIMEOUT_S, Fetch, from_address, from_socket, tell
from gpuledger.settings import Settings
from gpuledger.source import Source

if TYPE_CHECKING:
    from store.database import Database


class Answers:
    """The HTTP API of one hub or data directory."""

    def __init__(self, fetch: Fetch) -> None:
        self._fetch = fetch

    def raw(self, path: str, parameters: Mapping[str, object] | None = None) -> bytes:
        """Returns the body of GET ``path``; raises Refused with the hub's own sentence on any error status."""
        given = {key: value for key, value in (parameters or {}).items() if value not in (None, "")}
        status, body = self._fetch(f"{path}?{urlencode(given)}" if given else path)
        if status != http.HTTPStatus.OK:
            raise Refused(sentence(status, body))
        return body

    def json(self, path: str, parameters: Mapping[str, object] | None = None) -> Any:
        """Returns the decoded JSON body of GET ``path``."""
        try:
            return json.loads(self.raw(path, parameters))
        except ValueError as error:
            raise Refused(f"What answers {path} is no GPU Ledger hub; name another address with --hub URL.") from error


def sentence(status: int, body: bytes) -> str:
    """Returns what a hub says of a request that it refuses."""
    with contextlib.suppress(ValueError, TypeError, KeyError):
        return str(json.loads(body)["error"])
    return f"The hub answered {status}; see its log."


@contextlib.contextmanager
def open_answers(settings: Settings, source: Source) -> Iterator[Answers]:
    """Opens the running hub of the source's data directory, else that directory, else the hub at its address.

    Standard error says first where data is still coming in, as every page does. Raises Refused where there is none.
    """
    with contextlib.ExitStack() as opened:
        fetch = _local(settings, source, opened) if source.data else None
        answers = Answers(fetch or from_address(source.hub, settings.collector.ca_file))
        loading = answers.json("/api/v1/pending")["sentence"]
        if loading:
            click.echo(loading, err=True)
        yield answers


def _local(settings: Settings, source: Source, opened: contextlib.ExitStack) -> Fetch | None:
    """Returns the way to a data directory; None where it holds nothing that may be read and an address is left."""
    data = source.data or Path()
    try:
        fetch = from_socket(data / "hub.sock")
        if fetch is not None:
            return fetch
        chosen = store_in(data)
    except PermissionError as error:
        if source.hub:
            return None
        raise Refused(
            f"{data} belongs to another user; ask its hub with --hub URL, or run this as its owner."
        ) from error
    if chosen is not None:
        return opened.enter_context(_at_rest(settings, chosen))
    if source.hub:
        return None
    raise Refused(
        f"{data} holds no data yet; start `gpuledger up --data {data}`, or name another directory with --data."
    )


def told(
    data: Path, method: str, target: str, given: dict[str, Any] | None, timeout_s: float | None = TIMEOUT_S
) -> dict[str, Any] | None:
    """Returns what the hub of a directory answers its owner, None where none runs; raises Refused with its sentence.

    ``timeout_s`` None waits for as long as it takes.
    """
    try:
        answer = tell(data / "hub.sock", method, target, json.dumps(given).encode() if given else b"", timeout_s)
    except PermissionError as error:
        raise Refused(f"{data} belongs to another user; run this as its owner.") from error
    if answer is None:
        return None
    status, body = answer
    if status != http.HTTPStatus.OK:
        raise Refused(sentence(status, body))
    found: dict[str, Any] = json.loads(body)
    return found


def store_in(data: Path) -> Path | None:
    """Returns the store that a data directory shows: the real one, or the synthetic one beside it."""
    files = [path for path in (data, data / "demo") if (path / "gpuledger.duckdb").exists()]
    if len(files) < 2:
        return files[0] if files else None
    from gpuledger.stores import holds_real_data

    return data if holds_real_data(data) else data / "demo"


@contextlib.contextmanager
def opened(settings: Settings, data: Path, *, read_only: bool = True) -> "Iterator[Database]":
    """Opens the store that a data directory shows, for a command of its owner; raises Refused where there is none."""
    from store.database import Database
    from store.errors import StoreError

    chosen = store_in(data)
    if chosen is None:
        raise Refused(f"{data} holds no data yet; start `gpuledger up --data {data}`, or name another with --data.")
    try:
        database = Database.open(chosen, read_only=read_only, settings=settings.store)
    except StoreError as error:
        raise Refused(str(error)) from error
    with contextlib.closing(database):
        yield database


@contextlib.contextmanager
def _at_rest(settings: Settings, chosen: Path) -> Iterator[Fetch]:
    from flask import Flask

    from dashboard.api import create_blueprint
    from dashboard.services import EXTENSION
    from gpuledger.wiring import services
    from store.database import Database
    from store.errors import StoreError

    try:
        database = Database.open(chosen, read_only=True, settings=settings.store)
    except StoreError as error:
        raise Refused(str(error)) from error
    with contextlib.closing(database):
        app = Flask("at rest", static_folder=None)
        app.extensions[EXTENSION] = given = services(database, settings)
        app.register_blueprint(create_blueprint(given))
        client = app.test_client()

        def fetch(target: str) -> tuple[int, bytes]:
            answer = client.get(target)
            return answer.status_code, answer.data

        yield fetch
