"""Bytes of every tier a GPU and day, on a synthetic cluster that this makes for itself, and what a year of them takes.

Raw rows and minutes are sealed as in a running hub; what lies in the database is counted by its blocks, of which one
that several tables share counts for each in part.
"""

import argparse
import json
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import duckdb
import msgspec

from benchmarks import machine
from benchmarks.storage.ours import at_rest
from benchmarks.telemetry import Fleet, plan
from gpuledger.demo.fill import fill
from gpuledger.demo.settings import DemoSettings
from gpuledger.settings import Settings, linked
from gpuledger.wiring import clock_ms
from store.database import Cursor, Database
from store.merge import merge
from store.seal import seal
from store.seal_minutes import seal_minutes
from store.settings import StoreSettings

TIERS: Final[Mapping[str, tuple[str, ...]]] = {
    "hours": ("gpu_hour", "spare_hour"),
    "coarser": ("node_hour", "node_day", "holder_hour", "holder_day"),
    "footprints": (
        *("run", "allocation", "footprint_gpu", "footprint_run", "finding", "finding_hour", "unjudged"),
        "recommendation",
    ),
    "minutes_beside": ("host_minute", "spare_minute"),
}
"""What lies in the database for good, or as long as minutes do."""
KEPT_DAYS: Final = {
    "raw_10s": 30,
    "raw_1s": 30,
    "minutes": 180,
    "minutes_beside": 180,
    **dict.fromkeys(("hours", "coarser", "footprints"), 1826),
}
"""The defaults of [store]."""
_BLOCK: Final = 262_144
_AT_ONCE: Final = StoreSettings(seal_after_s=0, merge_after_s=0, minute_seal_days=1)
# The fleet at one second: an hour, since more rows of a GPU say no more of the bytes a row.
_SECONDS: Final = Fleet(nodes=8, to_ms=1_790_035_200_000 + 3_600_000, interval_ms=1000)


class Sizes(msgspec.Struct, frozen=True, kw_only=True):
    """Of the synthetic cluster."""

    nodes: int = 16
    gpus: int = 8
    days: int = 8
    interval_s: int = 30


QUICK: Final = Sizes(nodes=2, gpus=4, days=3, interval_s=60)


def measure(sizes: Sizes) -> dict[str, Any]:
    """Return the benchmark's JSON object for a cluster of these sizes."""
    with tempfile.TemporaryDirectory(prefix="gpuledger-bench-") as directory:
        settings, now_ms = Settings(), clock_ms()
        demo = DemoSettings(nodes=sizes.nodes, gpus=sizes.gpus, days=sizes.days, interval_s=sizes.interval_s)
        fill(Path(directory), demo, now_ms, settings.store, settings.analytics, linked(settings).site)
        with Database.open(Path(directory), synthetic=True) as database:
            seal(database, _AT_ONCE, now_ms)
            while merge(database, _AT_ONCE, now_ms):
                pass
            seal_minutes(database, _AT_ONCE, now_ms)
            with database.cursor() as cursor:
                cursor.execute("CHECKPOINT")
                figures = _figures(cursor, sizes)
    seconds = at_rest(plan(_SECONDS))
    figures["raw_1s"] = round(86_400 * seconds.bytes / seconds.rows)
    return {
        "name": "sizing",
        "machine": machine() | {"duckdb": duckdb.__version__},
        "sizes": msgspec.structs.asdict(sizes),
        "figures": {f"{tier}_bytes_per_gpu_day": size for tier, size in figures.items()}
        | {f"{tier}_mib_kept_per_gpu": round(size * KEPT_DAYS[tier] / 2**20, 2) for tier, size in figures.items()},
        "peers": {},
    }


def _figures(cursor: Cursor, sizes: Sizes) -> dict[str, int]:
    """Returns the bytes of each tier a GPU and day."""
    [(raw_bytes, raw_rows)] = cursor.tuples("SELECT sum(bytes)::BIGINT, sum(rows)::BIGINT FROM sealed")
    [(minute_bytes, days)] = cursor.tuples("SELECT sum(bytes)::BIGINT, count(DISTINCT day) FROM sealed_minute")
    in_database = _tables(cursor)
    gpu_days = sizes.nodes * sizes.gpus * sizes.days
    return {
        "raw_10s": round(8640 * raw_bytes / raw_rows),  # as many bytes a row as at the interval of the cluster
        "minutes": round(minute_bytes / (sizes.nodes * sizes.gpus * days)),
        **{tier: round(sum(in_database[table] for table in tables) / gpu_days) for tier, tables in TIERS.items()},
    }


def _tables(cursor: Cursor) -> dict[str, float]:
    """Returns the bytes of each table in the database file."""
    users: dict[int, set[str]] = defaultdict(set)
    for table in {table for tables in TIERS.values() for table in tables}:
        found = cursor.tuples(
            "SELECT DISTINCT unnest(list_append(additional_block_ids, block_id)) FROM pragma_storage_info($1) "
            "WHERE persistent",
            [table],
        )
        for (block,) in found:
            if block >= 0:
                users[block].add(table)
    sizes: dict[str, float] = defaultdict(float)
    for tables in users.values():
        for table in tables:
            sizes[table] += _BLOCK / len(tables)
    return sizes


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sizing", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON (there is no other form)")
    parser.add_argument("--quick", action="store_true", help="a few GPUs and days")
    for name in Sizes.__struct_fields__:
        parser.add_argument(f"--{name.replace('_', '-')}", type=int)
    chosen = vars(parser.parse_args(arguments))
    given = {name: chosen[name] for name in Sizes.__struct_fields__ if chosen[name] is not None}
    print(json.dumps(measure(msgspec.structs.replace(QUICK if chosen["quick"] else Sizes(), **given)), indent=1))


if __name__ == "__main__":
    main()
