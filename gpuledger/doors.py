"""What a request has to pass before anybody works on it: the name it came by, its size, and the time it takes.

Without sign-in whoever reaches the hub reads everything, so the loopback door must not be reachable from a page of some
other site: a name of theirs that resolves to 127.0.0.1 (DNS rebinding) makes their scripts same-origin with the hub.
Their requests carry that name, so a name that is not this machine's is refused. Under TLS the certificate does this.
"""

import asyncio
import ipaddress
import re
import socket
from collections.abc import Awaitable, Callable, Collection, MutableMapping
from typing import Any, Final

import msgspec
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from dashboard.owner import OWNER

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
AsgiApp = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

_HOST: Final = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?")

HEAD_S: Final = 20.0
"""How long a client may take to send the head of a request."""
BODY_S: Final = 20.0
"""How long it may take to send a body to the pages; what they get is small."""
MAX_HEAD_BYTES: Final = 64 << 10
MAX_BODY_BYTES: Final = 4 << 20


def by_owner(app: AsgiApp) -> AsgiApp:
    """Returns the app for the door of the socket file: who may open that (mode 0600) administers this hub."""

    async def owned(scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        await app({**scope, OWNER: True}, receive, send)

    return owned


def known_names(app: AsgiApp, names: Collection[str]) -> AsgiApp:
    """Returns the app for requests by an address, by a name of this machine, or by one of ``names``; 421 else."""
    known = {"localhost", socket.gethostname().lower(), *(name.lower().rstrip(".") for name in names)}

    async def guarded(scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        sent = next((value for name, value in scope["headers"] if name == b"host"), b"").decode("latin-1")
        if _is_known(sent, known):
            await app(scope, receive, send)
            return
        shown = "".join(letter for letter in sent if letter.isprintable())[:80]
        await refuse(
            send,
            421,
            f"This hub does not answer to the name {shown}; use its address, or add the name to hub.names.",
        )

    return guarded


def bounded(app: AsgiApp) -> AsgiApp:
    """Returns the app for requests whose body is there: a slow client must not keep one of the pages' few threads."""

    async def whole(scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if not scope["query_string"].isascii():
            await refuse(send, 400, "The address holds bytes that no address holds; write them as %XX.")
            return
        try:
            async with asyncio.timeout(BODY_S):
                body = await _body(receive)
        except TimeoutError:
            await refuse(send, 408, f"The request did not arrive within {BODY_S:g} s.")
            return
        if body is None:
            await refuse(send, 413, f"A request may have {MAX_BODY_BYTES >> 20} MiB.")
            return
        waiting = [{"type": "http.request", "body": body, "more_body": False}]

        async def replay() -> Message:
            return waiting.pop() if waiting else await receive()

        await app(scope, replay, send)

    return whole


async def refuse(send: Send, status: int, sentence: str) -> None:
    """Answers with one sentence and closes the connection, on which more may be coming."""
    body = msgspec.json.encode({"error": sentence})
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class PatientProtocol(HttpToolsProtocol):
    """uvicorn's HTTP with an end to patience: a head is as long, and takes as long, as a client likes otherwise."""

    _patience: asyncio.TimerHandle | None = None
    _in_head = True
    _head_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # uvicorn's own
        super().connection_made(transport)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_patience()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._in_head and self._head_bytes > MAX_HEAD_BYTES:
            self.transport.close()
            return
        self._head_bytes += len(data)
        super().data_received(data)

    def on_message_begin(self) -> None:
        self._await_head()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._end_patience()
        self._in_head, self._head_bytes = False, 0
        super().on_headers_complete()

    def _await_head(self) -> None:
        self._end_patience()
        self._in_head = True
        self._patience = self.loop.call_later(HEAD_S, self.transport.close)

    def _end_patience(self) -> None:
        if self._patience is not None:
            self._patience.cancel()


async def _body(receive: Receive) -> bytes | None:
    """Returns the whole body, None where it is larger than MAX_BODY_BYTES."""
    pieces: list[bytes] = []
    while True:
        message = await receive()
        pieces.append(message.get("body", b""))
        if sum(map(len, pieces)) > MAX_BODY_BYTES:
            return None
        if not message.get("more_body", False):
            return b"".join(pieces)


def _is_known(host: str, known: Collection[str]) -> bool:
    """Whether a Host header names this machine: an address cannot be rebound, and a browser always sends the header."""
    if not host:
        return True
    found = _HOST.fullmatch(host.lower())
    if found is None:
        return False
    name = found[1].rstrip(".")
    return name in known or name.endswith(".localhost") or _is_address(name.strip("[]"))


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
