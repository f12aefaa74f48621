"""A cursor of one request asks alike questions once; any other asks each time."""

from store.database import Cursor, Database
from tests.factories.fixtures import cur, database

__all__ = ["cur", "database"]

COUNT = "SELECT count(*) FROM meta WHERE key = $1"


def test_a_request_is_told_once(cur: Cursor, database: Database) -> None:
    with database.request() as request:
        assert request.once(COUNT, ["x"]) == [(0,)]
        cur.execute("INSERT INTO meta VALUES ('x', '1')")
        assert request.once(COUNT, ["x"]) == [(0,)]
        assert request.once(COUNT, ["y"]) == [(0,)]
        assert request.tuples(COUNT, ["x"]) == [(1,)]
    with database.request() as following:
        assert following.once(COUNT, ["x"]) == [(1,)]


def test_another_cursor_asks_each_time(cur: Cursor) -> None:
    assert cur.once(COUNT, ["x"]) == [(0,)]
    cur.execute("INSERT INTO meta VALUES ('x', '1')")
    assert cur.once(COUNT, ["x"]) == [(1,)]
