"""An empty real store."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from store.database import Database
from tests.store.building import empty_store


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with empty_store(tmp_path / "data") as opened:
        yield opened
