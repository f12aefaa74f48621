"""The doctor's look at the hub: does it answer, does it take this node's token, do the clocks agree?"""

import http.client
import json
import ssl
import time
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Final, Literal

import msgspec

from collector.deliver import PATH
from collector.settings import CollectorSettings
from gpuledger.errors import Refused
from gpuledger.remote import address_parts, from_socket

State = Literal["good", "note", "bad"]
HUB_TIMEOUT_S: Final = 3.0
MAX_SKEW_S: Final = 2.0
OWN_HUB: Final = CollectorSettings().hub


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the doctor. ``fix`` is the next step where ``state`` is bad, else empty."""

    name: str
    state: State
    found: str
    fix: str = ""


def hub_checks(settings: CollectorSettings, data: Path) -> Iterator[Check]:
    """Asks the hub of the data directory where one runs, and the hub that this node delivers to."""
    if _answers_here(data):
        yield Check(name="hub", state="good", found=f"the hub of {data} answers")
        yield from _disk(data)
        if settings.hub == OWN_HUB:
            return  # nobody chose that address: `up` delivers to its own, whatever its port
    try:
        scheme, host, port, prefix = address_parts(settings.hub)
    except Refused as error:
        yield Check(name="hub", state="bad", found=f"collector.hub: {error}", fix="change collector.hub")
        return
    connection: http.client.HTTPConnection
    if scheme == "https":
        context = ssl.create_default_context(cafile=settings.ca_file or None)
        connection = http.client.HTTPSConnection(host, port, timeout=HUB_TIMEOUT_S, context=context)
    else:
        connection = http.client.HTTPConnection(host, port, timeout=HUB_TIMEOUT_S)
    try:
        yield from _asked(connection, prefix, settings)
    except (OSError, http.client.HTTPException) as error:
        fix = "start it with `gpuledger serve`, or set collector.hub"
        yield Check(name="hub", state="bad", found=f"{settings.hub} does not answer ({error})", fix=fix)
    finally:
        connection.close()


def _disk(data: Path) -> Iterator[Check]:
    """What Health says of the disk; at rest nothing grows."""
    fetch = from_socket(data / "hub.sock")
    status, body = fetch("/api/v1/health") if fetch else (0, b"")
    found = json.loads(body) if status == http.HTTPStatus.OK else {}
    if sentence := found.get("disk_sentence"):
        days_left = found["disk"]["days_left"]
        state: State = "bad" if days_left == 0 else "note" if sentence in found["problems"] else "good"
        yield Check(name="disk", state=state, found=sentence.rstrip("."))


def _answers_here(data: Path) -> bool:
    try:
        return from_socket(data / "hub.sock") is not None
    except PermissionError:
        return False  # another user's: the address tells as much


def _asked(connection: http.client.HTTPConnection, prefix: str, settings: CollectorSettings) -> Iterator[Check]:
    connection.request("GET", f"{prefix}/healthz")
    answer = connection.getresponse()
    answer.read()
    yield Check(name="hub", state="good", found=f"{settings.hub} answers {answer.status}")
    if date := answer.getheader("date"):
        skew_s = time.time() - parsedate_to_datetime(date).timestamp()
        good = abs(skew_s) <= MAX_SKEW_S
        fix = "" if good else "synchronise the clocks (chrony, ntpd)"
        yield Check(name="clock", state="good" if good else "bad", found=f"{skew_s:+.0f} s against the hub", fix=fix)
    yield _token(connection, prefix, settings)


def _token(connection: http.client.HTTPConnection, prefix: str, settings: CollectorSettings) -> Check:
    """Delivers nothing, which a hub refuses as no segment once it has let the token in."""
    fix = (
        "make one at the hub, also while it runs, with `gpuledger token add NAME` and put it into collector.token_file"
    )
    try:
        token = _configured_token(settings)
    except (OSError, UnicodeDecodeError) as error:
        found = f"collector.token_file {settings.token_file} cannot be read ({error})"
        return Check(name="token", state="bad", found=found, fix="make it readable for the user of the service")
    if not token:
        state: State = "note" if settings.hub == OWN_HUB else "bad"
        return Check(name="token", state=state, found="no token is configured, so nothing can be delivered", fix=fix)
    connection.request("POST", prefix + PATH, b"", {"Authorization": f"Bearer {token}"})
    answer = connection.getresponse()
    answer.read()
    if answer.status == http.HTTPStatus.BAD_REQUEST:
        return Check(name="token", state="good", found="the hub lets this node's token in")
    if answer.status in {http.HTTPStatus.UNAUTHORIZED, http.HTTPStatus.FORBIDDEN}:
        return Check(name="token", state="bad", found="the hub does not know this node's token", fix=fix)
    found = f"{settings.hub} answers {answer.status} to a delivery: it is no GPU Ledger hub"
    return Check(name="token", state="bad", found=found, fix="change collector.hub")


def _configured_token(settings: CollectorSettings) -> str:
    if not settings.token_file:
        return settings.token
    return next(iter(Path(settings.token_file).read_text(encoding="ascii").splitlines()), "").strip()
