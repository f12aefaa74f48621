"""What could not be read is kept, each by itself."""

import pytest

from store.database import Database
from store.quarantine import FOLDER, Refusal, keep
from tests.store.building import NOW

LONG = "n" * 253


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (f"{LONG}~b0~0000000000", f"{LONG}~b0~0000000001"),
        ("n1~b/0~0000000000", "n1~b:0~0000000000"),
        ("é", "è"),
        ("", "_"),
        ("x" * 241, "x" * 242),
    ],
)
def test_names_that_look_alike_keep_their_own_bytes(database: Database, first: str, second: str) -> None:
    with database.cursor() as cursor, cursor.transaction():
        keep(cursor, [Refusal(first, b"1", "because"), Refusal(second, b"2", "because")], NOW)
    kept = list((database.directory / FOLDER).iterdir())
    assert sorted(path.read_bytes() for path in kept) == [b"1", b"2"]


def test_what_comes_twice_is_kept_once(database: Database) -> None:
    refusal = Refusal(f"{LONG}~b0~0000000000", b"1", "because")
    for _ in range(2):
        with database.cursor() as cursor, cursor.transaction():
            keep(cursor, [refusal], NOW)
    assert len(list((database.directory / FOLDER).iterdir())) == 1
