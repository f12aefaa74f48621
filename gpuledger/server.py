"""One uvicorn application behind two doors: TCP for browsers and nodes, and DIR/hub.sock for commands on this machine.

The receiver is a plain ASGI route; everything else is Dash's WSGI app under a2wsgi threads. Whoever may open the socket
file (mode 0600) is admin; a TCP address other than loopback needs TLS.
"""

import asyncio
import contextlib
import os
import signal
import socket
from collections.abc import Callable, Collection, Generator
from pathlib import Path
from typing import Any, Final

import uvicorn
import uvloop
from a2wsgi import WSGIMiddleware

from gpuledger.doors import AsgiApp, PatientProtocol, bounded, by_owner, known_names
from gpuledger.errors import Refused
from gpuledger.remote import answers_at
from gpuledger.settings import HubSettings, why_not_to_listen

Callback = Callable[[], None]
RECEIVER_PATH: Final = "/api/v1/segments"
WEB_THREADS: Final = 8
STOP_S: Final = 5
"""How long an answer that is being written may go on when the hub is asked to stop."""


def compose(receiver: AsgiApp, web: Any, names: Collection[str] | None = None) -> AsgiApp:
    """Returns one ASGI app: segments to the receiver, everything else to the WSGI app.

    With ``names`` only requests by an address, by this machine's or by one of these names reach the pages.
    """
    # A queue without bound: a client that reads slowly must not keep the thread that answers it.
    wsgi: Any = WSGIMiddleware(web, workers=WEB_THREADS, send_queue_size=0)
    pages = bounded(wsgi)
    if names is not None:
        pages = known_names(pages, names)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        target = receiver if scope["type"] == "http" and scope["path"] == RECEIVER_PATH else pages
        await target(scope, receive, send)

    return app


def listen_tcp(hub: HubSettings) -> socket.socket:
    """Binds the TCP door; raises Refused where the port is taken or the address would be open without TLS."""
    if reason := why_not_to_listen(hub):
        raise Refused(reason)
    family = socket.AF_INET6 if ":" in hub.host else socket.AF_INET
    door = socket.socket(family, socket.SOCK_STREAM)
    door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        door.bind((hub.host, hub.port))
    except OSError as error:
        door.close()
        reason = error.strerror or str(error)
        raise Refused(
            f"Port {hub.port} on {hub.host} cannot be opened ({reason}); choose another with --port."
        ) from error
    return door


def listen_unix(path: Path) -> socket.socket:
    """Binds DIR/hub.sock, readable by the owner alone. The caller holds the data directory's lock.

    Raises Refused where the path cannot be bound, or a process answers there: a living hub keeps its door.
    """
    if answers_at(path):
        raise Refused(f"A hub answers at {path} already; stop it first, or name another directory with --data.")
    door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    previous = os.umask(0o177)
    try:
        path.unlink(missing_ok=True)
        # A socket address holds 107 bytes: bind relative to the directory where the whole path is longer.
        door.bind(str(path))
    except OSError as error:
        door.close()
        raise Refused(
            f"{path} cannot be opened ({error.strerror or error}); use a data directory with a shorter path."
        ) from error
    finally:
        os.umask(previous)
    return door


class _Server(uvicorn.Server):
    """A uvicorn server that leaves signals to its owner: two of them share one loop here."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


def serve(
    app: AsgiApp, hub: HubSettings, tcp: socket.socket, unix: socket.socket, on_ready: Callback, before_stop: Callback
) -> None:
    """Serves until SIGTERM or SIGINT.

    ``on_ready`` is called once both doors answer; ``before_stop`` in a thread while they still do, so that what runs
    beside the hub can deliver what it has.
    """
    tls = {"ssl_certfile": hub.tls_cert, "ssl_keyfile": hub.tls_key} if hub.tls_cert else {}
    servers = [(_Server(_config(app, **tls)), tcp), (_Server(_config(by_owner(app))), unix)]

    async def main() -> None:
        loop = asyncio.get_running_loop()
        asked = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, asked.set)
        tasks = [asyncio.create_task(server.serve(sockets=[door])) for server, door in servers]
        await _started(servers, tasks)
        on_ready()
        waiting = asyncio.create_task(asked.wait())
        await asyncio.wait([waiting, *tasks], return_when=asyncio.FIRST_COMPLETED)
        await asyncio.to_thread(before_stop)
        for server, _ in servers:
            server.should_exit = True
        await asyncio.gather(*tasks)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())


async def _started(servers: list[tuple["_Server", socket.socket]], tasks: list["asyncio.Task[None]"]) -> None:
    # uvicorn sets a flag and offers no event to wait for.
    while not all(server.started for server, _ in servers) and not any(task.done() for task in tasks):  # noqa: ASYNC110
        await asyncio.sleep(0.01)


def _config(app: AsgiApp, **tls: Any) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=PatientProtocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=STOP_S,
        **tls,
    )
