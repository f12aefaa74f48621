"""What somebody means by a word in the search field: a job, a person, an account, a partition, a node, or a name."""

from typing import Final, Literal

import msgspec

from analytics.model import Viewer
from analytics.queries.resolve import resolve
from analytics.queries.scope import fill, visible
from store.database import Cursor

Kind = Literal["job", "node", "user", "account", "partition", "text"]


class Meant(msgspec.Struct, frozen=True):
    """``value`` is the name as it is written in the store; for text it is what was typed."""

    kind: Kind
    value: str


_NAMES: Final[tuple[Kind, ...]] = ("user", "account", "partition")

# Of millions of runs the few different names are compared.
_NAMED: Final = """
    SELECT min("user") FILTER (lower("user") = lower($text)), min(account) FILTER (lower(account) = lower($text)),
        min("partition") FILTER (lower("partition") = lower($text))
    FROM (SELECT DISTINCT r.user_name AS "user", r.account, r."partition" FROM run r WHERE {where})"""


def meant(cur: Cursor, viewer: Viewer, text: str) -> Meant:
    """Returns what ``text`` names exactly, whatever its capitals; else it is part of a job's name or id."""
    text = text.strip()
    if resolve(cur, viewer, text):
        return Meant("job", text)
    where = visible(viewer)
    [named] = cur.tuples(fill(_NAMED, where=where.sql), where.params | {"text": text})
    for kind, found in zip(_NAMES, named, strict=True):
        if found:
            return Meant(kind, str(found))
    node = cur.scalar("SELECT min(name) FROM node WHERE lower(name) = lower($text)", {"text": text})
    return Meant("node", str(node)) if node else Meant("text", text)
