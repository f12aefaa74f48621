"""An empty store and a Ledger to fill it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from store.database import Cursor, Database
from tests.factories.ledger import Ledger


@pytest.fixture
def cur(tmp_path: Path) -> Iterator[Cursor]:
    with Database.open(tmp_path / "data") as database, database.cursor() as cursor:
        yield cursor


@pytest.fixture
def ledger() -> Ledger:
    return Ledger()
