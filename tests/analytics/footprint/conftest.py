"""Footprints of scenes."""

from typing import Any

import pytest

from analytics.footprint import footprints
from analytics.settings import FootprintSettings
from store.database import Database
from tests.factories.scenes import Scene


class Prints:
    """The footprints of a store, rows as dicts."""

    def __init__(self, db: Database) -> None:
        self.db = db

    def make(self, scene: Scene, settings: FootprintSettings | None = None, *, rolled_up: bool = False) -> int:
        """Stores a scene and renews what it touched."""
        scene.play(self.db, rolled_up=rolled_up)
        return self.renew(settings)

    def renew(self, settings: FootprintSettings | None = None) -> int:
        """Renews what is due."""
        return footprints(self.db, 0, settings or FootprintSettings())

    def run(self, job_id: str) -> dict[str, Any]:
        """The run's row."""
        return self._one("SELECT f.* FROM footprint_run f JOIN run USING (run_key) WHERE job_id_raw = $1", job_id)

    def gpu(self, job_id: str, index: int = 0) -> dict[str, Any]:
        """The row of its GPU at this place."""
        return self._one(
            "SELECT f.* FROM footprint_gpu f JOIN run USING (run_key) WHERE job_id_raw = $1 "
            f"ORDER BY gpu_key LIMIT 1 OFFSET {index:d}",
            job_id,
        )

    def _one(self, sql: str, job_id: str) -> dict[str, Any]:
        with self.db.cursor() as cur:
            rows: list[dict[str, Any]] = cur.arrow(sql, [job_id]).to_pylist()
        assert len(rows) == 1
        return rows[0]


@pytest.fixture
def prints(db: Database) -> Prints:
    return Prints(db)
