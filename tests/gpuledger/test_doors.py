"""What a request has to pass: a name of this machine, a bounded size, a bounded time."""

import asyncio
import contextlib
import socket
from collections.abc import Iterator
from threading import Thread
from typing import Any

import pytest
import uvicorn

from gpuledger import doors, server
from gpuledger.doors import AsgiApp, bounded, known_names

OWN = socket.gethostname()


async def echo(scope: Any, receive: Any, send: Any) -> None:
    message = await receive()
    body = b"%d bytes" % len(message["body"])
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


def ask(app: AsgiApp, *pieces: bytes, host: str | None = "localhost", query: bytes = b"", stuck: bool = False) -> Any:
    """Returns status and body; ``stuck``: the last piece of the body never comes."""
    sent: list[Any] = []
    waiting = list(pieces) or [b""]

    async def receive() -> Any:
        if not waiting:
            await asyncio.Event().wait()
        return {"type": "http.request", "body": waiting.pop(0), "more_body": bool(waiting) or stuck}

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [] if host is None else [(b"host", host.encode("latin-1"))]
    asyncio.run(app({"type": "http", "headers": headers, "query_string": query}, receive, send))
    return sent[0]["status"], sent[1]["body"].decode()


@pytest.mark.parametrize(
    "host",
    [
        *("localhost", "localhost:8050", "LOCALHOST.", "app.localhost:1", "127.0.0.1:8050", "10.1.2.3", "[::1]:8050"),
        *("[fe80::1]", OWN, f"{OWN.upper()}:8050", "gpu.example.org", "GPU.example.org.:443", None),
    ],
)
def test_this_machine_answers_to_its_names_and_addresses(host: str | None) -> None:
    assert ask(known_names(echo, ["GPU.example.org"]), host=host) == (200, "0 bytes")


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "evil.example:8050", "localhost.evil.example", "127.0.0.1.evil.example", "xlocalhost"),
        *("gpu.example.org.evil", "[::1", "[::1].evil.example", "\x80", ":8050", "127.0.0.1@evil.example"),
    ],
)
def test_a_name_that_somebody_else_chose_is_refused(host: str) -> None:
    """A page of theirs would read everything here: their name was made to resolve to 127.0.0.1."""
    status, body = ask(known_names(echo, ["gpu.example.org"]), host=host)
    assert status == 421
    assert "add the name to hub.names" in body


def test_the_pages_get_a_body_when_it_is_whole() -> None:
    assert ask(bounded(echo), b"ab", b"", b"cde") == (200, "5 bytes")


def test_too_much_and_too_slow_and_odd_bytes_are_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doors, "MAX_BODY_BYTES", 1 << 20)
    assert ask(bounded(echo), bytes(600_000), bytes(600_000))[0] == 413
    monkeypatch.setattr(doors, "BODY_S", 0.05)
    assert ask(bounded(echo), b"ab", stuck=True)[0] == 408
    assert ask(bounded(echo), query=b"user=\xff")[0] == 400


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A real server, impatient."""
    monkeypatch.setattr(doors, "HEAD_S", 0.3)
    door = socket.create_server(("127.0.0.1", 0))
    serving = uvicorn.Server(server._config(bounded(echo)))
    thread = Thread(target=lambda: serving.run(sockets=[door]))
    thread.start()
    yield door.getsockname()[1]
    serving.should_exit = True
    thread.join(10)
    door.close()


def talk(port: int, *pieces: bytes) -> bytes:
    """What comes back until the server closes the connection."""
    answer = b""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        # It may close while we still send.
        with contextlib.suppress(OSError):
            for piece in pieces:
                connection.sendall(piece)
        with contextlib.suppress(ConnectionError):
            while piece := connection.recv(65536):
                answer += piece
    return answer


def test_a_head_that_never_ends_is_not_waited_for(port: int) -> None:
    assert talk(port) == b""
    assert talk(port, b"GET / HTTP/1.1\r\nX: ") == b""
    whole = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
    assert talk(port, whole, b"GET / HTTP/1.1\r\nX: ").count(b"200 OK") == 1
    assert talk(port, b"GET / HTTP/1.1\r\n", b"X: y\r\n" * (1 << 20)) == b""


def test_requests_follow_each_other_on_a_connection(port: int) -> None:
    one = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\n" + bytes(200_000)
    last = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    assert talk(port, one, one, last).count(b"200000 bytes") == 2
