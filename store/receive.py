"""The door for segments: a plain ASGI route. What it acknowledges is on disk."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from concurrent.futures import Future
from typing import Any, Final

import msgspec

from store.errors import StoreError
from store.inbox import Inbox
from store.room import Room, Share
from store.segment import SegmentError, read_head
from store.tokens import Tokens
from store.turned_away import TurnedAway

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

PATH: Final = "/api/v1/segments"
RETRY_AFTER_S: Final = 60
BODY_S: Final = 60.0
"""How long a node may take to send a segment: 32 MiB at 5 Mbit/s."""

_LET_IN_BY = "The token is missing or not known here; make one with `gpuledger token add` and give it to the collector."


class _Answer(Exception):
    """Ends a request with a status and one sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class _Tried(_Answer):
    """An empty body with a good token, by which `gpuledger doctor` tries the token: nothing was refused."""


class _Gone(Exception):
    """The client went away before its segment was whole."""


class Receiver:
    """ASGI app for ``POST /api/v1/segments``: one segment a request, ``{"ack": name}`` once it is on disk.

    401 no good token, 400 not a whole segment, 408 too slow, 409 synthetic data for a real store or the other way
    round, 413 too large, 503 with Retry-After when there is no room, on disk or in memory: a segment takes its share of
    ``room`` as soon as it is announced, however slowly it comes, until it is on disk. What is refused is counted in
    ``turned_away``.
    """

    def __init__(
        self,
        inbox: Inbox,
        tokens: Tokens,
        *,
        synthetic: bool,
        turned_away: TurnedAway,
        now_ms: Callable[[], int],
        max_bytes: int = 32 << 20,
        room: Room | None = None,
    ) -> None:
        self._inbox = inbox
        self._tokens = tokens
        self._synthetic = synthetic
        self._turned_away = turned_away
        self._now_ms = now_ms
        self._max_bytes = max_bytes
        self._room = room or Room()
        self._shared: tuple[Future[None], asyncio.Future[None]] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            name = await self._take(scope, receive)
        except _Answer as answer:
            if not isinstance(answer, _Tried):
                self._turned_away.count(answer.status, _address(scope), self._now_ms(), str(answer))
            await _respond(send, answer.status, {"error": str(answer)})
        except _Gone:
            return
        else:
            await _respond(send, 200, {"ack": name})

    async def _take(self, scope: Scope, receive: Receive) -> str:
        if scope["path"] != PATH:
            raise _Answer(404, f"There is nothing at {scope['path']}; segments go to {PATH}.")
        if scope["method"] != "POST":
            raise _Answer(405, f"{PATH} takes POST only.")
        headers = {key: value.decode("latin-1") for key, value in scope["headers"]}
        scheme, _, token = headers.get(b"authorization", "").partition(" ")
        if scheme.lower() != "bearer" or self._tokens.holder(token.strip()) is None:
            raise _Answer(401, _LET_IN_BY)
        try:
            with self._room.share() as share:
                return await self._keep(await self._whole(headers.get(b"content-length", ""), receive, share))
        except StoreError as error:
            raise _Answer(503, str(error)) from error

    async def _keep(self, data: bytes) -> str:
        """Returns the name of the segment once it is on disk."""
        try:
            head, _ = read_head(data)
        except SegmentError as error:
            raise (_Answer if data else _Tried)(400, f"{error}.") from error
        if head.synthetic != self._synthetic:
            kind, other = ("synthetic", "real") if head.synthetic else ("real", "synthetic")
            raise _Answer(409, f"This hub holds {other} data and takes no {kind} segments; deliver to another hub.")
        await self._on_disk(self._inbox.submit(data, head.name))
        return head.name

    async def _on_disk(self, kept: Future[None]) -> None:
        """Waits for what several requests share: this loop is woken once for all of them."""
        if self._shared is None or self._shared[0] is not kept:
            self._shared = kept, asyncio.wrap_future(kept)
        # One of them that is given up ends its own waiting and not that of the others.
        await asyncio.shield(self._shared[1])

    async def _whole(self, announced: str, receive: Receive, share: Share) -> bytes:
        try:
            async with asyncio.timeout(BODY_S):
                return await self._body(announced, receive, share)
        except TimeoutError:
            raise _Answer(408, f"The segment did not arrive within {BODY_S:g} s; it will be taken next time.") from None

    async def _body(self, announced: str, receive: Receive, share: Share) -> bytes:
        length = int(announced[:19]) if announced.isascii() and announced.isdigit() else 0
        if length > self._max_bytes:
            raise self._too_large()
        share.hold(length)
        pieces: list[bytes] = []
        size = 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise _Gone
            pieces.append(message.get("body", b""))
            size += len(pieces[-1])
            if size > self._max_bytes:
                raise self._too_large()
            share.hold(size)
            if not message.get("more_body", False):
                return b"".join(pieces)

    def _too_large(self) -> _Answer:
        return _Answer(413, f"A segment may have {self._max_bytes >> 20} MiB; let the collector close them more often.")


def _address(scope: Scope) -> str:
    client = scope.get("client")
    return str(client[0]) if client else "this machine"


async def _respond(send: Send, status: int, content: dict[str, str]) -> None:
    body = msgspec.json.encode(content)
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if status == 503:
        headers.append((b"retry-after", str(RETRY_AFTER_S).encode()))
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
