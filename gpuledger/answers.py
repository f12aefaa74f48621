"""Where a command gets its numbers: the running hub through DIR/hub.sock, else the directory at rest.

Both ways answer the same HTTP API with the same named queries, so a command prints what the pages show.
"""

import contextlib
import http.client
import json
import socket
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

from gpuledger.errors import Refused
from gpuledger.settings import Settings

TIMEOUT_S: Final = 120.0
Fetch = Callable[[str], tuple[int, bytes]]


class Answers:
    """The HTTP API of one data directory; ``fetch`` takes a path with its query string, gives status and body."""

    def __init__(self, fetch: Fetch) -> None:
        self._fetch = fetch

    def raw(self, path: str, parameters: Mapping[str, object] | None = None) -> bytes:
        """Returns the body of GET ``path``; raises Refused with the hub's own sentence on any error status."""
        given = {key: value for key, value in (parameters or {}).items() if value not in (None, "")}
        status, body = self._fetch(f"{path}?{urlencode(given)}" if given else path)
        if status != http.HTTPStatus.OK:
            raise Refused(_sentence(status, body))
        return body

    def json(self, path: str, parameters: Mapping[str, object] | None = None) -> Any:
        """Returns the decoded JSON body of GET ``path``."""
        return json.loads(self.raw(path, parameters))


def _sentence(status: int, body: bytes) -> str:
    with contextlib.suppress(ValueError, TypeError, KeyError):
        return str(json.loads(body)["error"])
    return f"The hub answered {status}; see its log."


@contextlib.contextmanager
def open_answers(settings: Settings, data: Path) -> Iterator[Answers]:
    """Opens the running hub of ``data``, else the directory itself; raises Refused where there is neither."""
    fetch = _from_socket(data / "hub.sock")
    if fetch is not None:
        yield Answers(fetch)
        return
    with _from_directory(settings, data) as at_rest:
        yield Answers(at_rest)


class _UnixConnection(http.client.HTTPConnection):
    """An HTTP connection over a Unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=TIMEOUT_S)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


def _from_socket(path: Path) -> Fetch | None:
    def fetch(target: str) -> tuple[int, bytes]:
        connection = _UnixConnection(path)
        try:
            connection.request("GET", target)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except OSError as error:
            raise Refused(f"The hub at {path} stopped answering ({error}); see its log and try again.") from error
        finally:
            connection.close()

    probe = _UnixConnection(path)
    try:
        probe.connect()
    except PermissionError as error:
        raise Refused(f"{path} belongs to another user; ask for the HTTP API, or run this as its owner.") from error
    except OSError:
        return None  # nothing listens: a hub that is not running, or a socket left by one that was killed
    finally:
        probe.close()
    return fetch


@contextlib.contextmanager
def _from_directory(settings: Settings, data: Path) -> Iterator[Fetch]:
    from flask import Flask

    from dashboard.api import create_blueprint
    from dashboard.services import EXTENSION
    from gpuledger.wiring import services
    from store.database import Database, database_file
    from store.errors import StoreError

    chosen = data if database_file(data).exists() else data / "demo"
    if not database_file(chosen).exists():
        raise Refused(
            f"{data} holds no data yet; start `gpuledger up --data {data}`, or name another directory with --data."
        )
    try:
        database = Database.open(chosen, read_only=True)
    except StoreError as error:
        raise Refused(str(error)) from error
    with contextlib.closing(database):
        app = Flask("at rest", static_folder=None)
        app.extensions[EXTENSION] = given = services(database, settings, data)
        app.register_blueprint(create_blueprint(given))
        client = app.test_client()

        def fetch(target: str) -> tuple[int, bytes]:
            answer = client.get(target)
            return answer.status_code, answer.data

        yield fetch
