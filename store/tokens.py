"""Tokens by which nodes are let in: shown once, kept as SHA-256. They are random, so a plain hash is enough."""

import hashlib
import re
import secrets
import threading
from typing import Final

import msgspec

from store.database import Cursor, Database
from store.errors import StoreError

PREFIX: Final = "gpl_"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class Token(msgspec.Struct, frozen=True):
    """A token as it is listed; ``revoked_ms`` None while it is good."""

    name: str
    made_ms: int
    revoked_ms: int | None


def create(cursor: Cursor, name: str, now_ms: int) -> str:
    """Makes a token and returns it, the only time that it can be seen; raises StoreError where the name is taken."""
    if not _NAME.fullmatch(name):
        raise StoreError(f"{name!r} is no name for a token; use letters, digits, dot, dash and underscore.")
    token = PREFIX + secrets.token_urlsafe(32)
    with cursor.transaction():
        if cursor.scalar("SELECT count(*) FROM token WHERE name = $1", [name]):
            raise StoreError(f"There is a token {name} already; revoke it under another name, or choose another name.")
        cursor.execute("INSERT INTO token VALUES ($1, $2, $3, NULL)", [name, _digest(token), now_ms])
    return token


def revoke(cursor: Cursor, name: str, now_ms: int) -> None:
    """Takes a token back; raises StoreError where there is none of that name."""
    if not cursor.execute("UPDATE token SET revoked_ms = $1 WHERE name = $2 AND revoked_ms IS NULL", [now_ms, name]):
        raise StoreError(f"There is no token {name} to revoke; `gpuledger token list` shows those there are.")


def listed(cursor: Cursor) -> list[Token]:
    """Returns every token, the newest first."""
    return cursor.rows("SELECT name, made_ms, revoked_ms FROM token ORDER BY made_ms DESC, name", None, Token)


class Tokens:
    """Says whose token it is. Good ones are remembered, so a request costs a hash and no query."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._good: dict[str, str] = {}

    def holder(self, token: str) -> str | None:
        """Returns the name of a good token, or None."""
        digest = _digest(token)
        name = self._good.get(digest)
        return name if name is not None else self._look_up(digest)

    def forget(self) -> None:
        """Call after a token was revoked."""
        with self._lock:
            self._good = {}

    def _look_up(self, digest: str) -> str | None:
        with self._lock, self._database.cursor() as cursor:
            found = cursor.tuples("SELECT name FROM token WHERE sha256 = $1 AND revoked_ms IS NULL", [digest])
            if not found:
                return None
            self._good[digest] = name = str(found[0][0])
            return name


def _digest(token: str) -> str:
    # Looked up by digest: the time that takes tells nothing of the token.
    return hashlib.sha256(token.encode()).hexdigest()
