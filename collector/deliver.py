"""Segments from the spool to the hub, at least once: a segment is deleted when the hub has acknowledged it.

The hub acknowledges after an fsync and takes a segment it already has as delivered, so an answer that was lost on the
way costs a repetition and nothing else.
"""

import http.client
import logging
import random
import ssl
import threading
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import SplitResult, urlsplit

from collector.settings import CollectorSettings
from collector.spool import Spool

log = logging.getLogger(__name__)
PATH: Final = "/api/v1/segments"
CONTENT_TYPE: Final = "application/vnd.gpuledger.segment"
_FIRST_WAIT_S: Final = 1.0
_LONGEST_WAIT_S: Final = 60.0
_LONGEST_RETRY_AFTER_S: Final = 600.0
_DELIVERED: Final = frozenset({200, 201, 202, 204})
_REFUSED: Final = frozenset({400, 409, 413, 415, 422})  # these bytes will never be taken; 409: synthetic to a real hub
_DENIED: Final = frozenset({401, 403})


class BadAddress(ValueError):
    """The hub's address cannot be used. The message is one sentence for the person who wrote it."""


class _Unprepared(Exception):
    """The token or the certificate authority cannot be read, so there is nothing to ask the hub with."""


class _Outcome(NamedTuple):
    """What became of one attempt. ``problem`` is empty when the hub has the segment."""

    problem: str = ""
    refused: bool = False  # this segment will never be taken; the next one may be
    wait_s: float | None = None  # how long to leave the hub alone; None: by back-off


def _parts(hub: str) -> SplitResult:
    try:
        address = urlsplit(hub)
        if address.scheme in {"http", "https"} and address.hostname and address.port != 0:
            return address
    except ValueError:  # a port or an address in brackets that is none
        pass
    raise BadAddress(f"collector.hub {hub!r} is no address: write one such as https://hub.example.org:8050.")


class Delivery:
    """A thread that empties the spool. Problems are logged once, when they begin and when they are over."""

    def __init__(self, spool: Spool, settings: CollectorSettings) -> None:
        """Raises BadAddress."""
        self._spool = spool
        self._settings = settings
        self._address = _parts(settings.hub)
        self._connection: http.client.HTTPConnection | None = None
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._backoff_s = _FIRST_WAIT_S
        self._problem = ""
        self._token = ""
        self._thread = threading.Thread(target=self._run, name="deliver", daemon=True)

    @property
    def problem(self) -> str:
        """One sentence while the hub does not take segments, else empty."""
        return self._problem

    def start(self) -> None:
        """Begins to deliver what lies in the spool."""
        self._thread.start()

    def wake(self) -> None:
        """Says that there is a new segment. A hub that is being left alone stays so."""
        self._wake.set()

    def finish(self, timeout_s: float) -> None:
        """Tries once more to empty the spool, for ``timeout_s`` at most; what is left waits for the next start."""
        self._stop.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(timeout_s)

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                wait_s = self._empty()
            except Exception:
                log.exception("delivery failed; it goes on in %s s", _LONGEST_WAIT_S)
                wait_s = _LONGEST_WAIT_S
            if wait_s is None:
                self._wake.wait()
            else:
                self._stop.wait(wait_s)
            self._wake.clear()
        self._empty()
        self._close()

    def _empty(self) -> float | None:
        """Sends until the spool is empty (returns None) or the hub does not take more (returns the wait)."""
        while (name := self._spool.oldest()) is not None:
            data = self._spool.read(name)
            if data is None:
                continue
            outcome = self._send(data)
            if outcome.refused:
                self._spool.refuse(name, outcome.problem)
            elif outcome.problem:
                self._tell(outcome.problem)
                return self._next_wait_s(outcome.wait_s)
            else:
                self._spool.acknowledge(name)
            self._backoff_s = _FIRST_WAIT_S
            self._tell("")
        return None

    def _next_wait_s(self, asked_s: float | None) -> float:
        # Thousands of nodes are asked to wait at the same moment: they spread, none coming earlier than it was asked.
        if asked_s is not None:
            return min(asked_s, _LONGEST_RETRY_AFTER_S) * random.uniform(1.0, 1.5)  # noqa: S311 - nothing secret
        wait_s, self._backoff_s = self._backoff_s, min(self._backoff_s * 2, _LONGEST_WAIT_S)
        return wait_s * random.uniform(0.5, 1.0)  # noqa: S311 - nothing secret

    def _send(self, data: bytes) -> _Outcome:
        try:
            response, answer = self._post(data)
        except _Unprepared as error:
            return _Outcome(str(error), wait_s=_LONGEST_WAIT_S)
        except (OSError, http.client.HTTPException) as error:
            self._close()
            reason = str(error) or type(error).__name__
            return _Outcome(f"the hub {self._settings.hub} does not answer ({reason}); segments wait in the spool")
        return self._judge(response.status, answer, response.getheader("Retry-After"))

    def _post(self, data: bytes) -> tuple[http.client.HTTPResponse, str]:
        """Posts on the connection that is there. A server closes one that was idle, which is seen only now."""
        kept = self._connection is not None
        try:
            return self._post_once(data)
        except (ConnectionError, ssl.SSLError, http.client.HTTPException):
            if not kept:
                raise
            self._close()
        return self._post_once(data)

    def _post_once(self, data: bytes) -> tuple[http.client.HTTPResponse, str]:
        connection = self._connect()
        connection.request("POST", self._address.path.rstrip("/") + PATH, body=data, headers=self._headers())
        response = connection.getresponse()
        answer = response.read(500).decode(errors="replace").strip()
        response.close()
        if response.will_close:
            self._close()
        return response, answer

    def _judge(self, status: int, answer: str, retry_after: str | None) -> _Outcome:
        if status in _DELIVERED:
            return _Outcome()
        if status in _REFUSED:
            return _Outcome(f"the hub refused it ({status}): {answer or 'no reason given'}", refused=True)
        self._close()  # a new connection reads the token again
        if status in _DENIED:
            sentence = (
                f"the hub {self._settings.hub} does not accept this node's token ({status}); put the token that "
                "the hub lists for this node into collector.token_file. Segments wait in the spool"
            )
            return _Outcome(sentence, wait_s=_LONGEST_WAIT_S)
        if status in {408, 429, 503}:
            waits = float(retry_after) if retry_after and retry_after.isdigit() else None
            return _Outcome(f"the hub {self._settings.hub} asks to wait ({status}): {answer}", wait_s=waits)
        if status < 500:
            sentence = (
                f"{self._settings.hub} answers {status} to a segment: collector.hub does not name a GPU Ledger hub"
            )
            return _Outcome(sentence, wait_s=_LONGEST_WAIT_S)
        return _Outcome(f"the hub {self._settings.hub} failed ({status}): {answer}")

    def _headers(self) -> dict[str, str]:
        headers = {"Content-Type": CONTENT_TYPE}
        if token := self._token:
            headers["Authorization"] = f"Bearer {token}"
        return headers

    def _connect(self) -> http.client.HTTPConnection:
        if self._connection is None:
            self._token = self._read_token()
            host, port = self._address.hostname or "", self._address.port
            if self._address.scheme == "https":
                self._connection = http.client.HTTPSConnection(
                    host, port, timeout=self._settings.timeout_s, context=self._tls()
                )
            else:
                self._connection = http.client.HTTPConnection(host, port, timeout=self._settings.timeout_s)
        return self._connection

    def _read_token(self) -> str:
        path = self._settings.token_file
        if not path:
            return self._settings.token
        try:
            lines = Path(path).read_text(encoding="ascii").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise _Unprepared(f"collector.token_file {path} cannot be read ({error}); segments wait") from error
        return lines[0].strip() if lines else ""

    def _tls(self) -> ssl.SSLContext:
        try:
            return ssl.create_default_context(cafile=self._settings.ca_file or None)
        except OSError as error:
            raise _Unprepared(
                f"collector.ca_file {self._settings.ca_file} cannot be used ({error}); segments wait"
            ) from error

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _tell(self, problem: str) -> None:
        if problem and not self._problem:
            log.warning("%s", problem)
        elif self._problem and not problem:
            log.info("the hub %s takes segments again", self._settings.hub)
        self._problem = problem
