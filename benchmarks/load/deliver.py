"""Delivers the segments of a load to a hub, each when it is due, over connections that stay open."""

import asyncio
import time
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from benchmarks.load.nodes import Load, Nodes
from store.segment import encode

PATH: Final = "/api/v1/segments"
BUSY: Final = 503
PATIENCE_S: Final = 1.0
"""How long a node waits that the hub asked to come again. Real ones wait as long as it says."""


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What a generator is told to do.

    ``paced``: each segment when it is due, else as fast as the hub takes them. ``prepared``: all of them are made
    before the first one is sent.
    """

    port: int
    token: str
    load: Load
    connections: int = 32
    paced: bool = True
    prepared: bool = True


class Delivered(msgspec.Struct, kw_only=True):
    """What came of it, all of it acknowledged. ``behind_s``: how late the last was sent; ``answers_s``: of each."""

    segments: int = 0
    rows: int = 0
    values: int = 0
    sent_bytes: int = 0
    busy: int = 0
    wall_s: float = 0.0
    behind_s: float = 0.0
    answers_s: list[float] = []


Due = tuple[float, int, int, bytes]
"""Seconds after the begin, rows, values, bytes."""


def made(load: Load) -> Iterator[Due]:
    """Yield every segment of a load as bytes."""
    structure = 4
    for at_s, segment in Nodes(load).in_order():
        table = segment.samples
        yield at_s, table.rows, table.rows * (len(table.columns) - structure), encode(segment)


async def deliver(order: Order, waiting: Iterable[Due]) -> Delivered:
    """Send them all; returns when the last one is acknowledged. Raises RuntimeError on any answer but 200 and 503."""
    done, shared = Delivered(), iter(waiting)
    begin = time.monotonic()

    async def node() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", order.port)
        for at_s, rows, values, data in shared:
            wait_s = begin + at_s - time.monotonic()
            if order.paced and wait_s > 0:
                await asyncio.sleep(wait_s)
            done.behind_s = max(0.0, time.monotonic() - begin - at_s)
            sent = time.monotonic()
            while (status := await _post(order, reader, writer, data)) == BUSY:
                done.busy += 1
                await asyncio.sleep(PATIENCE_S)
            if status != 200:
                raise RuntimeError(f"the hub answered {status}")
            done.answers_s.append(round(time.monotonic() - sent, 4))
            done.segments += 1
            done.rows += rows
            done.values += values
            done.sent_bytes += len(data)
        writer.close()
        await writer.wait_closed()

    await asyncio.gather(*(node() for _ in range(order.connections)))
    done.wall_s = time.monotonic() - begin
    return done


async def _post(order: Order, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, data: bytes) -> int:
    writer.write(
        f"POST {PATH} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {order.token}\r\n"
        f"Content-Type: application/vnd.gpuledger.segment\r\nContent-Length: {len(data)}\r\n\r\n".encode()
    )
    writer.write(data)
    head = await reader.readuntil(b"\r\n\r\n")
    lines = head.decode("ascii").lower().split("\r\n")
    length = next(int(line.partition(":")[2]) for line in lines if line.startswith("content-length:"))
    await reader.readexactly(length)
    return int(lines[0].split()[1])
