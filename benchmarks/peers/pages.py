"""Pages of metrics on loopback that Prometheus scrapes: one port, a path a node, in a thread of its own."""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import Final, Self

Page = Callable[[str], bytes]
"""Returns the text of the page of a path, as OpenMetrics' forerunner has it (lines of ``name{labels} value``)."""

_HEAD: Final = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: %d\r\n\r\n"


class Pages:
    """A context manager; ``address`` is host:port inside it, ``served`` how many pages were asked for."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self.served = 0
        self.address = ""

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="pages")
        self._thread.start()
        begun = asyncio.run_coroutine_threadsafe(asyncio.start_server(self._serve, "127.0.0.1", 0), self._loop)
        self._server = begun.result()
        self.address = f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _close(self) -> None:
        self._server.close()
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                body = self._page(head.split(b" ", 2)[1].decode("ascii"))
                self.served += 1
                writer.write(_HEAD % len(body) + body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # Prometheus is done with the connection
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()
