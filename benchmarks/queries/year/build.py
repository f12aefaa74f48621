"""Builds the year in a directory, or takes one that was kept there."""

import logging
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from benchmarks.queries.year.described import describe
from benchmarks.queries.year.judged import judge
from benchmarks.queries.year.raw import fill_raw
from benchmarks.queries.year.rollups import roll_up
from benchmarks.queries.year.sizes import YearSizes
from benchmarks.queries.year.slurm import tell
from benchmarks.queries.year.workload import workload
from store.database import Cursor, Database
from store.settings import StoreSettings

log = logging.getLogger(__name__)

_KEPT: Final = "built.json"
_SETTINGS: Final = StoreSettings(memory_limit_mib=3072)


class Built(msgspec.Struct, frozen=True):
    """What was built: of which sizes, by which tables, and the runs of 8 GPUs whose raw rows are sealed and hot."""

    sizes: YearSizes
    sealed_run: int
    hot_run: int


def built(directory: Path, sizes: YearSizes) -> Built:
    """Returns the store of these sizes in ``directory``, which is made where there is none or another."""
    note = directory / _KEPT
    if note.exists() and (found := msgspec.json.decode(note.read_bytes(), type=Built)).sizes == sizes:
        return found
    shutil.rmtree(directory, ignore_errors=True)
    load = workload(sizes)
    with Database.open(directory, synthetic=True, settings=_SETTINGS) as database:
        _step(database, "runs", lambda cursor: describe(cursor, sizes, load))
        with _timed("rollups"):
            roll_up(database, sizes)
        if sizes.footprints:
            _step(database, "footprints", judge)
        _step(database, "inventory", lambda cursor: tell(cursor, sizes))
        if sizes.raw:
            with _timed("raw rows"):
                fill_raw(database, load.hot_run)
        _step(database, "checkpoint", lambda cursor: cursor.execute("CHECKPOINT"))
    found = Built(sizes, load.sealed_run, load.hot_run)
    note.write_bytes(msgspec.json.encode(found))
    return found


def _step(database: Database, name: str, work: Callable[[Cursor], object]) -> None:
    with _timed(name), database.cursor() as cursor:
        work(cursor)


@contextmanager
def _timed(name: str) -> Iterator[None]:
    begin = time.monotonic()
    yield
    log.info("%s in %.1f s", name, time.monotonic() - begin)
