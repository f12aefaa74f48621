"""The hub: one process that owns a data directory, receives, stores, analyses and shows it.

Threads: uvicorn's loop with both doors, a2wsgi's workers for pages and API, one ingest thread (inbox -> raw rows ->
rollups), APScheduler's jobs (footprints, findings, recommendations, reports). Each takes a database cursor of its own.
"""

import contextlib
import os
import signal
from pathlib import Path
from typing import Final

import gpuledger
from analytics.in_force import in_force as thresholds
from analytics.queries.health import RECEIVE
from analytics.reports.archive import weekly_job
from analytics.schedule import Job, Schedule
from dashboard.app import create_app
from gpuledger.errors import Refused
from gpuledger.ingester import Ingester
from gpuledger.server import Callback, compose, listen_tcp, listen_unix, serve
from gpuledger.settings import Settings, linked
from gpuledger.upkeep import tidy, upkeep_jobs
from gpuledger.wiring import clock_ms, services
from store import in_force
from store.database import Database
from store.errors import DeliveriesRefused, StoreError
from store.inbox import Inbox
from store.lock import DirectoryLock
from store.receive import Receiver
from store.tokens import Tokens
from store.turned_away import TurnedAway

RECEIVE_S: Final = 60.0


class Hub:
    """A hub over one data directory.

    Args:
        settings: the whole configuration.
        data: the data directory, made where it does not exist.
        synthetic: whether it holds the synthetic cluster.
        home: the directory that the user named, where hub.sock lies; None takes ``data``.

    Raises:
        Refused: the directory belongs to another process, is on a network file system or cannot be written; the port
            is taken, or would be open to the network without TLS.
    """

    def __init__(self, settings: Settings, data: Path, *, synthetic: bool = False, home: Path | None = None) -> None:
        self.home = home or data
        self._failure = ""
        with contextlib.ExitStack() as opened:
            self._tcp = opened.enter_context(contextlib.closing(listen_tcp(settings.hub)))
            if self.home != data:
                opened.callback(_own(self.home).release)
            self.database = opened.enter_context(contextlib.closing(_open(data, settings, synthetic=synthetic)))
            tidy(self.database)
            self._unix = opened.enter_context(contextlib.closing(listen_unix(self._socket_path)))
            self.inbox = opened.enter_context(contextlib.closing(_inbox(data, settings)))
            self._opened = opened.pop_all()
        self.settings = settings = linked(settings, self.port)
        store = settings.store
        self.tokens = Tokens(self.database)
        self._turned_away = TurnedAway()
        self._receiver = Receiver(
            self.inbox,
            self.tokens,
            synthetic=synthetic,
            turned_away=self._turned_away,
            now_ms=clock_ms,
            max_bytes=store.max_segment_mib << 20,
        )
        self._schedule = Schedule(
            self.database,
            settings.analytics,
            settings.site,
            clock_ms,
            states=store.states,
            more=[
                *upkeep_jobs(store),
                weekly_job(settings.site, settings.analytics.schedule.report_s),
                Job(name=RECEIVE, every_s=RECEIVE_S, work=self._tell_refused),
            ],
        )
        with self.database.cursor() as cursor:
            in_force.keep(cursor, thresholds(settings.analytics, store.states, gpuledger.__version__), clock_ms())
        self._ingester = Ingester(
            self.database, self.inbox, store.states, self._schedule.runner, self.give_up, zone=settings.site.zone
        )

    @property
    def port(self) -> int:
        """The TCP port, also where the settings asked for any free one (0)."""
        port: int = self._tcp.getsockname()[1]
        return port

    @property
    def address(self) -> str:
        """Where a browser on this machine finds the pages."""
        scheme = "https" if self.settings.hub.tls_cert else "http"
        host = self.settings.hub.host
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{self.port}"

    def run(self, on_ready: Callback, before_stop: Callback = lambda: None) -> None:
        """Serves until SIGTERM or SIGINT, then takes in what was acknowledged and closes the database.

        Raises Refused where the database stopped, as on a full disk; nothing acknowledged is lost, and a new process
        finds the file whole: under systemd this one is started again.
        """
        with self._opened:
            hub = self.settings.hub
            web = create_app(services(self.database, self.settings, self.tokens.forget)).server
            app = compose(self._receiver, web, None if hub.tls_cert else (hub.host, *hub.names))
            self._ingester.start()
            self._schedule.start()
            try:
                serve(app, self.settings.hub, self._tcp, self._unix, on_ready, before_stop)
            finally:
                self._socket_path.unlink(missing_ok=True)
                self._ingester.stop()
                self._schedule.stop()
        if self._failure:
            raise Refused(self._failure)

    def push(self, segments: list[tuple[str, bytes]]) -> None:
        """Puts (name, bytes) into the inbox as if received, with one sync for all: the synthetic cluster's door."""
        self.inbox.append_many(segments)

    @property
    def _socket_path(self) -> Path:
        return self.home / "hub.sock"

    def _tell_refused(self, _db: Database, now_ms: int) -> int:
        """Fails while deliveries are refused, so that the log and the Health page have it once a minute."""
        if sentence := self._turned_away.sentence(now_ms):
            raise DeliveriesRefused(sentence)
        return 0

    def give_up(self, error: Exception) -> None:
        """Stops the hub as SIGTERM does, from any thread; ``run`` then raises Refused with the error's sentence."""
        self._failure = str(error)
        os.kill(os.getpid(), signal.SIGTERM)


def _own(home: Path) -> DirectoryLock:
    """Takes the directory that the user named: hub.sock lies there, also where the store lies further down."""
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        return DirectoryLock(home, shared=False)
    except StoreError as error:
        raise Refused(str(error)) from error
    except OSError as error:
        raise Refused(f"{home} cannot be used ({error.strerror}); name another directory with --data.") from error


def _open(data: Path, settings: Settings, *, synthetic: bool) -> Database:
    try:
        return Database.open(data, synthetic=synthetic, settings=settings.store)
    except StoreError as error:
        raise Refused(str(error)) from error


def _inbox(data: Path, settings: Settings) -> Inbox:
    limits = settings.store
    try:
        return Inbox(
            data / "inbox", min_free_bytes=limits.min_free_mib << 20, max_waiting_bytes=limits.max_backlog_mib << 20
        )
    except OSError as error:
        raise Refused(f"{data} cannot be written ({error.strerror}); name another directory with --data.") from error
