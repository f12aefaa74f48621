"""Wall and CPU time of every query and page, as the benchmark's JSON object."""

import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import duckdb
import msgspec

from benchmarks import machine
from benchmarks.queries.asked import Query, known, longest, queries
from benchmarks.queries.pages import pages
from benchmarks.queries.year.build import built
from benchmarks.queries.year.sizes import YearSizes
from store.database import Database
from store.settings import StoreSettings

THREADS: Final = 2
QUICK: Final = YearSizes(nodes=8, days=10, runs=4_000, users=30, accounts=8, minute_days=1)


class Times(msgspec.Struct, frozen=True):
    """Of the repeats of one query, in seconds."""

    wall: list[float]
    cpu: list[float]

    @property
    def median_ms(self) -> float:
        return round(1000 * statistics.median(self.wall), 2)

    @property
    def cpu_ms(self) -> float:
        """The least: what other processes take is not in it, what they slow down is."""
        return round(1000 * min(self.cpu), 2)


def measure(sizes: YearSizes, repeats: int, keep: Path | None) -> dict[str, Any]:
    """Returns the benchmark's JSON object for a year of these sizes, which is built in ``keep`` or taken from there."""
    with _directory(keep) as directory:
        note = built(directory, sizes)
        with Database.open(directory, read_only=True, settings=StoreSettings(threads=THREADS)) as database:
            with database.cursor() as cur:
                of = known(cur, note.hot_run, note.sealed_run)
                runs = cur.scalar("SELECT count(*) FROM run")
            asked = _asked(database, queries(of), repeats)
            long = _asked(database, longest(of), max(1, repeats // 3))
            drawn = {name: _times(work, max(1, repeats // 3)) for name, work in pages(database, of).items()}
    slowest = max(asked, key=lambda name: asked[name].median_ms)
    slowest_long = max(long, key=lambda name: long[name].median_ms)
    return {
        "name": "queries",
        "machine": machine() | {"duckdb": duckdb.__version__},
        "sizes": msgspec.structs.asdict(sizes) | {"repeats": repeats, "threads": THREADS},
        "figures": {
            "gpus": sizes.nodes * sizes.gpus,
            "runs": runs,
            "worst_query": slowest,
            "worst_median_ms": asked[slowest].median_ms,
            "worst_max_ms": round(1000 * max(max(times.wall) for times in asked.values()), 2),
            "worst_longest_query": slowest_long,
            "worst_longest_median_ms": long[slowest_long].median_ms,
            "raw_run_hot_ms": asked["series"].median_ms,
            "raw_run_sealed_ms": asked["series_sealed"].median_ms,
            **_figures(asked | long),
            **_figures({f"page_{name}": times for name, times in drawn.items()}),
        },
        "peers": {},
    }


def _figures(times: Mapping[str, Times]) -> dict[str, float]:
    return {f"{name}_ms": each.median_ms for name, each in times.items()} | {
        f"{name}_cpu_ms": each.cpu_ms for name, each in times.items()
    }


@contextmanager
def _directory(keep: Path | None) -> Iterator[Path]:
    if keep is not None:
        yield keep / "year"
        return
    with tempfile.TemporaryDirectory(prefix="gpuledger-bench-") as made:
        yield Path(made) / "year"


def _asked(database: Database, wanted: Mapping[str, Query], repeats: int) -> dict[str, Times]:
    def ask(query: Query) -> None:
        with database.request() as cur:
            query(cur)

    return {name: _times(lambda query=query: ask(query), repeats) for name, query in wanted.items()}


def _times(work: Callable[[], object], repeats: int) -> Times:
    work()  # the first reads the file
    wall, cpu = [], []
    for _ in range(repeats):
        begin, used = time.perf_counter(), _cpu_s()
        work()
        wall.append(time.perf_counter() - begin)
        cpu.append(_cpu_s() - used)
    return Times(wall, cpu)


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
