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


_NAMES: Final[tuple[tuple[Kind, str], ...]] = (
    ("user", "r.user_name"),
    ("account", "r.account"),
    ("partition", 'r."partition"'),
)
_NAMED: Final = "SELECT min({column}) FROM run r WHERE lower({column}) = lower($text) AND {where}"


def meant(cur: Cursor, viewer: Viewer, text: str) -> Meant:
    """Returns what ``text`` names exactly, whatever its capitals; else it is part of a job's name or id."""
    text = text.strip()
    if resolve(cur, viewer, text):
        return Meant("job", text)
    where = visible(viewer)
    for kind, column in _NAMES:
        found = cur.scalar(fill(_NAMED, column=column, where=where.sql), where.params | {"text": text})
        if found:
            return Meant(kind, str(found))
    node = cur.scalar("SELECT min(name) FROM node WHERE lower(name) = lower($text)", {"text": text})
    return Meant("node", str(node)) if node else Meant("text", text)
