"""Tokens: seen once, kept as a hash, good until revoked."""

import pytest

from store import tokens
from store.database import Database
from store.errors import StoreError
from store.tokens import Token, Tokens


def test_a_token_lets_its_holder_in_until_it_is_revoked(database: Database) -> None:
    gate = Tokens(database)
    with database.cursor() as cursor:
        token = tokens.create(cursor, "node-1", 1000)
        assert gate.holder(token) == "node-1"
        assert gate.holder(token + "x") is None
        assert token not in str(cursor.tuples("FROM token"))
        tokens.revoke(cursor, "node-1", 2000)
        gate.forget()
        assert gate.holder(token) is None
        assert tokens.listed(cursor) == [Token("node-1", 1000, 2000)]


def test_names_are_plain_and_once(database: Database) -> None:
    with database.cursor() as cursor:
        tokens.create(cursor, "a", 1)
        with pytest.raises(StoreError, match="already"):
            tokens.create(cursor, "a", 2)
        for name in ("", "a b", "../x", "x" * 65):
            with pytest.raises(StoreError, match="no name for a token"):
                tokens.create(cursor, name, 3)
        with pytest.raises(StoreError, match="no token b"):
            tokens.revoke(cursor, "b", 4)
