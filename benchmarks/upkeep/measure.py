"""Figures of `benchmarks.upkeep`; ``_cpu_ms`` and ``us`` are CPU of the process, all threads; medians of the repeats.

The rollups as data comes are those of segments of a minute that end within a minute, so that each minute is summed
twice; about as many nodes are summed at once as send within a hub's ten seconds at 12,500 nodes.
"""

import argparse
import json
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import duckdb
import msgspec

from benchmarks import machine
from benchmarks.telemetry import Fleet
from benchmarks.upkeep.fleet import Filled, mark
from store.columns import HOUR_MS
from store.database import Database
from store.manifest import DAY_MS
from store.retention import retain
from store.rollup import HOLD_WAIT_MS, roll_up
from store.samples import FOLDER
from store.seal import seal
from store.settings import StoreSettings

MINUTE_MS: Final = 60_000
DAY: Final = 1_790_035_200_000  # 2026-09-22 00:00 UTC
PHASE_MS: Final = 25_000
_AT_ONCE: Final = StoreSettings(seal_after_s=0)
_ONE_DAY: Final = StoreSettings(raw_days=1)


class Sizes(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes of 8 GPUs: of the fleet that data comes late to, and of those that send every 10 s and every second."""

    nodes: int = 125
    nodes_10s: int = 2000
    nodes_1s: int = 2000
    minutes: int = 6
    minutes_1s: int = 4
    repeats: int = 5


QUICK: Final = Sizes(nodes=4, nodes_10s=8, nodes_1s=4, minutes=3, minutes_1s=3, repeats=2)


class Cost(msgspec.Struct, frozen=True):
    """Seconds of wall and of CPU."""

    wall_s: float
    cpu_s: float


def _cost(work: Callable[[], object]) -> Cost:
    began, used = time.perf_counter(), _cpu_s()
    work()
    return Cost(time.perf_counter() - began, _cpu_s() - used)


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _rolled(database: Database, wait_ms: int = 0) -> None:
    while roll_up(database, wait_ms=wait_ms):
        pass


def _told(name: str, costs: Sequence[Cost]) -> dict[str, float]:
    return {
        f"{name}_ms": round(1000 * statistics.median(cost.wall_s for cost in costs), 1),
        f"{name}_cpu_ms": round(1000 * statistics.median(cost.cpu_s for cost in costs), 1),
    }


def late(sizes: Sizes) -> dict[str, Any]:
    """Return what it costs to sum late data anew, and to drop a day: two hours of a fleet, sealed, around midnight."""
    fleet = Fleet(nodes=sizes.nodes, from_ms=DAY - HOUR_MS, to_ms=DAY + HOUR_MS)
    with tempfile.TemporaryDirectory(prefix="gpuledger-bench-") as folder, Database.open(Path(folder)) as database:
        filled = Filled(database, fleet)
        taken = filled.take(fleet.from_ms, fleet.to_ms)
        _rolled(database)
        seal(database, _AT_ONCE, fleet.to_ms + HOUR_MS)
        before = _sums(database)
        node, everybody = ([_late(database, nodes) for _ in range(sizes.repeats)] for nodes in (1, sizes.nodes))
        assert _sums(database) == before, "summed anew, the hours are others"
        assert before["rows"] == taken, f"{taken} rows came in and {before['rows']} are summed"
        dropped, freed = _dropped(database)
    return {
        **_told("late_node_hour", node),
        **_told("late_fleet_hour", everybody),
        **_told("day_dropped", [dropped]),
        "day_dropped_bytes": freed,
    }


def _late(database: Database, nodes: int) -> Cost:
    with database.cursor() as cursor, cursor.transaction():
        cursor.execute("SELECT nextval('generations')")
        mark(cursor, range(1, nodes + 1), DAY - HOUR_MS, DAY)
    return _cost(lambda: _rolled(database))


def _sums(database: Database) -> dict[str, int]:
    with database.cursor() as cursor:
        [(rows, held, util)] = cursor.tuples(
            "SELECT sum(rows)::BIGINT, sum(held_ms)::BIGINT, sum(util_pct_sum)::BIGINT FROM gpu_hour"
        )
        days = cursor.scalar("SELECT sum(held_ms)::BIGINT FROM holder_day")
    assert held == days, "the days are not the sum of the hours"
    return {"rows": rows, "held_ms": held, "util_sum": util}


def _dropped(database: Database) -> tuple[Cost, int]:
    folder = database.directory / FOLDER
    before = _bytes(folder)
    with database.cursor() as cursor:
        cursor.execute("UPDATE node SET last_ms = $1", [DAY + DAY_MS])
    cost = _cost(lambda: retain(database, _ONE_DAY, DAY + DAY_MS))
    return cost, before - _bytes(folder)


def _bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*.parquet"))


def coming(nodes: int, interval_s: int, minutes: int) -> dict[str, float]:
    """Return what the rollups cost as data comes, by the row; the first minute is not counted."""
    fleet = Fleet(nodes=nodes, from_ms=DAY, to_ms=DAY + (minutes + 1) * MINUTE_MS, interval_ms=1000 * interval_s)
    costs, rows, to_ms = [], 0, DAY
    with tempfile.TemporaryDirectory(prefix="gpuledger-bench-") as folder, Database.open(Path(folder)) as database:
        filled = Filled(database, fleet)
        for minute in range(1, minutes + 1):
            after_ms, to_ms = to_ms, DAY + minute * MINUTE_MS + PHASE_MS
            taken = filled.take(after_ms, to_ms)
            cost = _cost(lambda: _rolled(database, HOLD_WAIT_MS))
            if minute > 1:
                costs.append(cost)
                rows += taken
        with database.cursor() as cursor:
            summed, stored = (
                cursor.scalar(sql) for sql in ("SELECT sum(rows)::BIGINT FROM gpu_hour", "SELECT count(*) FROM hot")
            )
    assert summed == stored, f"{stored} rows came in and {summed} are summed"
    used_s = sum(cost.cpu_s for cost in costs)
    return {
        f"rollup_us_per_row_{interval_s}s": round(1e6 * used_s / rows, 3),
        f"rollup_pct_core_{interval_s}s": round(100 * used_s / rows * 100_000 / interval_s, 1),
        f"rollup_wall_ms_{interval_s}s": round(1000 * statistics.median(cost.wall_s for cost in costs), 1),
    }


def measure(sizes: Sizes) -> dict[str, Any]:
    """Return the benchmark's JSON object. ``pct_core``: of one core, at 100,000 GPUs."""
    return {
        "name": "upkeep",
        "machine": machine() | {"duckdb": duckdb.__version__},
        "sizes": msgspec.structs.asdict(sizes),
        "figures": {
            **late(sizes),
            **coming(sizes.nodes_10s, 10, sizes.minutes),
            **coming(sizes.nodes_1s, 1, sizes.minutes_1s),
        },
        "peers": {},
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.upkeep", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON (there is no other form)")
    parser.add_argument("--quick", action="store_true", help="few nodes for a few minutes")
    for name, kind in Sizes.__annotations__.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=kind)
    chosen = vars(parser.parse_args(arguments))
    given = {name: chosen[name] for name in Sizes.__struct_fields__ if chosen[name] is not None}
    sizes = msgspec.structs.replace(QUICK if chosen["quick"] else Sizes(), **given)
    print(json.dumps(measure(sizes), indent=1))
