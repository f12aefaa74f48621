"""Ways to a running hub: DIR/hub.sock on its own machine, its address from everywhere else. Needs no hub's packages."""

import http.client
import socket
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from gpuledger.errors import USAGE, Refused

TIMEOUT_S: Final = 120.0
CONNECT_S: Final = 10.0
Fetch = Callable[[str], tuple[int, bytes]]
"""Takes a path with its query string, gives status and body; raises Refused where nobody answers any more."""


class _UnixConnection(http.client.HTTPConnection):
    """An HTTP connection over a Unix socket."""

    def __init__(self, path: Path, timeout_s: float | None = TIMEOUT_S) -> None:
        super().__init__("localhost", timeout=timeout_s)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


def answers_at(path: Path) -> bool:
    """Whether a process listens on a Unix socket; raises PermissionError where it is another user's."""
    probe = _UnixConnection(path)
    try:
        probe.connect()
    except PermissionError:
        raise
    except OSError:
        return False  # nothing listens: no hub runs, or it left the socket behind when it was killed
    finally:
        probe.close()
    return True


def from_socket(path: Path) -> Fetch | None:
    """Returns the way through a socket, None where nothing listens; raises PermissionError."""
    return _fetch(lambda: _UnixConnection(path), "", f"The hub at {path}") if answers_at(path) else None


def tell(
    path: Path, method: str, target: str, body: bytes, timeout_s: float | None = TIMEOUT_S
) -> tuple[int, bytes] | None:
    """Sends a request with a body through a socket; None where nothing listens; raises PermissionError and Refused.

    ``timeout_s`` None waits for as long as it takes.
    """
    if not answers_at(path):
        return None
    return _send(lambda: _UnixConnection(path, timeout_s), f"The hub at {path}", method, target, body)


def from_address(url: str, ca_file: str = "") -> Fetch:
    """Returns the way to the hub at ``url``.

    Args:
        url: such as https://hub.example.org:8050; a path in it comes before /api.
        ca_file: PEM file of the authority that signed the hub's certificate; empty: the system's own.

    Raises:
        Refused: it is no address, or nobody answers there.
    """
    scheme, host, port, prefix = address_parts(url)

    def connection() -> http.client.HTTPConnection:
        if scheme == "http":
            return http.client.HTTPConnection(host, port, timeout=TIMEOUT_S)
        context = ssl.create_default_context(cafile=ca_file or None)
        return http.client.HTTPSConnection(host, port, timeout=TIMEOUT_S, context=context)

    try:
        socket.create_connection((host, port or (443 if scheme == "https" else 80)), CONNECT_S).close()
    except OSError as error:
        raise Refused(
            f"No hub answers at {url} ({error.strerror or error}); name another with --hub URL, "
            "or its data directory with --data DIR."
        ) from error
    return _fetch(connection, prefix, f"The hub at {url}")


def address_parts(url: str) -> tuple[str, str, int | None, str]:
    """Returns scheme, host, port (None: the scheme's own) and path of a hub's address; raises Refused."""
    try:
        address = urlsplit(url)
        if address.scheme in {"http", "https"} and address.hostname:
            return address.scheme, address.hostname, address.port, address.path.rstrip("/")
    except ValueError:  # a port or an address in brackets that is none
        pass
    raise Refused(f"{url!r} is no hub's address; write one such as https://hub.example.org:8050.", exit_code=USAGE)


def _fetch(connect: Callable[[], http.client.HTTPConnection], prefix: str, who: str) -> Fetch:
    return lambda target: _send(connect, who, "GET", prefix + target, None)


def _send(
    connect: Callable[[], http.client.HTTPConnection], who: str, method: str, target: str, body: bytes | None
) -> tuple[int, bytes]:
    connection = None
    try:
        connection = connect()
        connection.request(method, target, body)
        answer = connection.getresponse()
        return answer.status, answer.read()
    except (OSError, http.client.HTTPException) as error:
        raise Refused(
            f"{who} does not answer ({str(error) or type(error).__name__}); see its log and try again."
        ) from error
    finally:
        if connection is not None:
            connection.close()
