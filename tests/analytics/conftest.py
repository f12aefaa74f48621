"""A store, and scenes to play in it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from store.database import Database
from tests.factories.scenes import Scene
from tests.store.building import empty_store


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with empty_store(tmp_path / "data") as database:
        yield database


@pytest.fixture
def scene() -> Scene:
    return Scene()
