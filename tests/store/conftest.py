"""An empty real store."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from store.database import Database


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with Database.open(tmp_path / "data") as opened:
        yield opened
