"""Simulated nodes over real HTTP for minutes, with pages open: what the hub takes, how far behind it is, how it grows.

The generator of load is another process, and who looks at pages is this one; neither is counted. Runs begin and end
meanwhile, and the analysis goes on as always.
"""

import argparse
import json
import statistics
import time
from collections.abc import Sequence
from typing import Any, Final

import duckdb
import msgspec

from benchmarks import machine
from benchmarks.fleet.pages import Browsers
from benchmarks.load.deliver import Delivered, Order
from benchmarks.load.hub import Hub
from benchmarks.load.nodes import Load
from benchmarks.load.process import Generator
from benchmarks.load.watched import Watched
from store import samples
from store.database import Database

CONFIG: Final = "[store]\nmin_free_mib = 64\n"
SETTLE_S: Final = 120.0
WATCH_S: Final = 1.0
STAGES: Final = ("http", "decode", "insert", "rollup", "seal", "analysis")


class Sizes(msgspec.Struct, frozen=True, kw_only=True):
    """Of the fleet, and for how long; pages are loaded every ``load_s`` and refresh every ``refresh_s``."""

    nodes: int = 12_500
    gpus: int = 8
    interval_s: int = 10
    segment_s: int = 60
    minutes: float = 10.0
    refresh_s: float = 60.0
    load_s: float = 5.0


QUICK: Final = Sizes(nodes=20, interval_s=1, segment_s=2, minutes=0.1, refresh_s=5.0, load_s=2.0)


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it."""

    delivered: Delivered
    watched: Watched
    cpu_s: float
    http_s: float
    rss_mib: list[float]  # each second
    answers_s: dict[str, list[float]]


def run(sizes: Sizes) -> Seen:
    """Return what a new hub did. Raises AssertionError where a page failed or a row is missing or there twice."""
    load = Load(
        nodes=sizes.nodes,
        gpus=sizes.gpus,
        interval_s=sizes.interval_s,
        segment_s=sizes.segment_s,
        segments=max(1, round(60 * sizes.minutes / sizes.segment_s)),
        from_ms=time.time_ns() // 1_000_000 - 1000 * sizes.segment_s,  # the first segment is over when it is sent
    )
    with Hub(CONFIG) as hub:
        with Generator(Order(port=hub.port, token=hub.token, load=load, prepared=False)) as generator:
            before_s, http_s, rss_mib = hub.cpu_s(), hub.main_thread_s(), [hub.rss_mib()]
            browsers = Browsers(hub.port, sizes.refresh_s, sizes.load_s)
            generator.go()
            browsers.start()
            try:
                while not generator.is_done(WATCH_S):
                    rss_mib.append(hub.rss_mib())
                delivered = generator.done()
            finally:
                browsers.end()
        hub.until(lambda: hub.settled(delivered.segments), SETTLE_S, "sum all rows")
        cpu_s, http_s = hub.cpu_s() - before_s, hub.main_thread_s() - http_s
        watched = hub.stop()
        assert not browsers.failed, browsers.failed[:5]
        with Database.open(hub.data, read_only=True) as database, database.cursor() as cursor:
            assert samples.count(cursor) == delivered.rows
    return Seen(
        delivered=delivered,
        watched=watched,
        cpu_s=cpu_s,
        http_s=http_s,
        rss_mib=rss_mib,
        answers_s=browsers.answers_s,
    )


def measure(sizes: Sizes) -> dict[str, Any]:
    """Return the benchmark's JSON object."""
    seen = run(sizes)
    stages = {name: seen.watched.stages.get(name, 0.0) for name in STAGES}
    stages["http"] += seen.http_s
    every = sorted(answer for answers in seen.answers_s.values() for answer in answers)
    wall_s = seen.delivered.wall_s
    return {
        "name": "fleet",
        "machine": machine() | {"duckdb": duckdb.__version__},
        "sizes": msgspec.structs.asdict(sizes),
        "figures": {
            "nodes": sizes.nodes,
            "gpus": sizes.nodes * sizes.gpus,
            "rows_per_s": round(seen.delivered.rows / wall_s),
            "requests_per_s": round(seen.delivered.segments / wall_s, 1),
            "cpu_pct_core": round(100 * seen.cpu_s / wall_s, 1),
            **{f"{name}_pct_core": round(100 * seconds / wall_s, 2) for name, seconds in stages.items()},
            "rest_pct_core": round(100 * (seen.cpu_s - sum(stages.values())) / wall_s, 2),
            "lag_s": round(seen.watched.lag_s, 1),
            "answer_p99_ms": _ms(sorted(seen.delivered.answers_s), 0.99),
            "sent_late_s": round(seen.delivered.behind_s, 2),
            "refused_busy": seen.delivered.busy,
            "page_p95_ms": _ms(every, 0.95),
            "page_median_ms": _ms(every, 0.5),
            "rss_mib": round(seen.rss_mib[-1]),
            "rss_begin_mib": round(seen.rss_mib[0]),
            "rss_half_mib": round(statistics.median(seen.rss_mib[len(seen.rss_mib) // 2 :])),
            "rss_most_mib": round(max(seen.rss_mib)),
            **{f"page_{name}_ms": _ms(sorted(answers), 0.5) for name, answers in sorted(seen.answers_s.items())},
        },
        "peers": {},
    }


def _ms(answers: list[float], share: float) -> float:
    return round(1000 * answers[min(int(share * len(answers)), len(answers) - 1)], 1)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fleet", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON (there is no other form)")
    parser.add_argument("--quick", action="store_true", help="few nodes for a few seconds")
    for name, kind in Sizes.__annotations__.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=kind)
    chosen = vars(parser.parse_args(arguments))
    given = {name: chosen[name] for name in Sizes.__struct_fields__ if chosen[name] is not None}
    print(json.dumps(measure(msgspec.structs.replace(QUICK if chosen["quick"] else Sizes(), **given)), indent=1))
