"""Pinned notes: what is taken, what is refused in one sentence."""

from typing import Any

import pytest

from store import notes
from store.database import Cursor
from tests.factories.fixtures import cur, database

__all__ = ["cur", "database"]

GIVEN: dict[str, Any] = {"at_ms": 1000, "until_ms": None, "kind": "policy", "text": "x", "who": "root", "now_ms": 2000}


def test_notes_are_listed_newest_first_and_removed_by_number(cur: Cursor) -> None:
    first = notes.add(cur, **GIVEN | {"text": " two\n words "})
    second = notes.add(cur, **GIVEN | {"at_ms": 5000, "until_ms": 6000})
    assert [(one.note_id, one.text) for one in notes.listed(cur)] == [(second, "x"), (first, "two words")]
    notes.remove(cur, first)
    assert [one.note_id for one in notes.listed(cur)] == [second]
    with pytest.raises(notes.BadNote, match=f"There is no note {first}"):
        notes.remove(cur, first)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"text": "  "}, "1 to 200 characters"),
        ({"text": "x" * 201}, "this one has 201"),
        ({"kind": "party"}, "maintenance, policy, deadline, not 'party'"),
        ({"until_ms": 1000}, "ends after it begins"),
    ],
)
def test_what_is_no_note_is_refused(wrong: dict[str, Any], sentence: str, cur: Cursor) -> None:
    with pytest.raises(notes.BadNote, match=sentence):
        notes.add(cur, **GIVEN | wrong)
    assert notes.listed(cur) == []
