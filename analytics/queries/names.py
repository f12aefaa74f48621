"""Names that a filter asks for and nobody here bears: a misspelt one must not look like good news."""

import difflib
from collections.abc import Sequence
from typing import Final

from analytics.model import Filter, Viewer
from analytics.queries.scope import fill, visible
from store.database import Cursor

LISTED: Final = 10
"""So many known names are told where none is near."""

_KNOWN: Final = {
    "cluster": "SELECT DISTINCT cluster FROM node WHERE node_key <> 0 UNION SELECT r.cluster FROM run r WHERE {seen}",
    "user": "SELECT DISTINCT r.user_name FROM run r WHERE {seen}",
    "account": "SELECT DISTINCT r.account FROM run r WHERE {seen}",
    "partition": 'SELECT DISTINCT r."partition" FROM run r WHERE {seen}',
    "model": "SELECT DISTINCT model FROM gpu",
    "node": "SELECT DISTINCT name FROM node WHERE node_key <> 0",
}


def unknown(cur: Cursor, viewer: Viewer, where: Filter) -> list[str]:
    """Returns a sentence for each name in the filter that no run, node or GPU which the viewer may see has ever borne.

    A sentence has the nearest known names, else the first of all of them.
    """
    found = []
    for kind, statement in _KNOWN.items():
        asked = getattr(where, kind)
        if asked is None:
            continue
        seen = visible(viewer)
        params = seen.params if "{seen}" in statement else {}
        known = [name for (name,) in cur.tuples(fill(statement, seen=seen.sql), params) if name]
        if asked not in known:
            found.append(f"No {kind} {_shown(asked)} is known here; {_hint(asked, sorted(known))}")
    return found


def _hint(asked: str, known: Sequence[str]) -> str:
    if not known:
        return "none has been seen yet."
    by_fold = {name.casefold(): name for name in known}
    near = [by_fold[name] for name in difflib.get_close_matches(asked.casefold(), by_fold, n=3, cutoff=0.5)]
    if near:
        return f"did you mean {' or '.join(map(_shown, near))}?"
    more = f" and {len(known) - LISTED} more" if len(known) > LISTED else ""
    return f"known are {', '.join(map(_shown, known[:LISTED]))}{more}."


def _shown(name: str) -> str:
    clean = "".join(letter for letter in name if letter.isprintable())
    return f"{clean[:40]}{'...' if len(clean) > 40 else ''}"
