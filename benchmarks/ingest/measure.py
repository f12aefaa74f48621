"""A hub under the load of a large fleet, end to end: from the request of a node to rows that are summed and sealed.

CPU is that of the whole hub process, from its first request until nothing waits any more and every row is sealed; the
generator of load is another process. The analysis is put off, since it is no part of storing.
"""

import argparse
import json
import time
from collections.abc import Sequence
from typing import Any, Final

import duckdb
import msgspec

from benchmarks import machine
from benchmarks.ingest.peers import Fed, compare
from benchmarks.load.deliver import Delivered, Order
from benchmarks.load.hub import Hub
from benchmarks.load.nodes import Load
from benchmarks.load.process import Generator
from benchmarks.load.watched import Watched
from store import samples
from store.columns import HOUR_MS
from store.database import Database

CONFIG: Final = """
[store]
seal_after_s = 0.0
min_free_mib = 64

[analytics.schedule]
footprints_s = 86400.0
judge_s = 86400.0
rightsize_s = 86400.0
report_s = 86400.0
"""
SETTLE_S: Final = 600.0
STAGES: Final = ("http", "decode", "insert", "seal", "rollup")


class Sizes(msgspec.Struct, frozen=True, kw_only=True):
    """Of the fleet and of what it sends; ``flood_segments``: what each node sends at once to another hub (0: none).

    ``peer_nodes``: how many of the nodes the peers get; ``scrapes``: how often Prometheus reads their pages.
    """

    nodes: int = 12_500
    gpus: int = 8
    interval_s: int = 1
    segment_s: int = 60
    segments: int = 2
    flood_segments: int = 1
    seal_every_s: float = 20.0
    peer_nodes: int = 200
    scrapes: int = 20


QUICK: Final = Sizes(nodes=24, segment_s=4, segments=1, flood_segments=0, seal_every_s=0.5, peer_nodes=4, scrapes=2)


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A hub that took a load: CPU seconds of the process and of each stage, and until when it was busy."""

    delivered: Delivered
    watched: Watched
    cpu_s: float
    http_s: float
    wall_s: float
    rss_mib: float

    @property
    def us(self) -> float:
        """CPU of a row."""
        return 1e6 * self.cpu_s / self.delivered.rows

    def stage_us(self, name: str) -> float:
        """CPU of a row in one stage."""
        more_s = self.http_s if name == "http" else 0.0
        return 1e6 * (self.watched.stages.get(name, 0.0) + more_s) / self.delivered.rows


def load(sizes: Sizes, segments: int) -> Load:
    """Return the load whose last row ends the hour that was over last, so that all of it can be sealed at once."""
    hour_ms = time.time_ns() // 1_000_000 // HOUR_MS * HOUR_MS
    made = Load(
        nodes=sizes.nodes,
        gpus=sizes.gpus,
        interval_s=sizes.interval_s,
        segment_s=sizes.segment_s,
        segments=segments,
        from_ms=0,
    )
    return msgspec.structs.replace(made, from_ms=hour_ms - made.last_ms)


def run(sizes: Sizes, segments: int, *, paced: bool) -> Run:
    """Return what a new hub took for a load. Raises AssertionError where a row is missing or there twice."""
    with Hub(CONFIG, sizes.seal_every_s) as hub:
        whole = load(sizes, segments + 1)
        known, before = _make_known(hub, whole)
        offered = msgspec.structs.replace(whole, sent=(1, segments + 1))
        order = Order(port=hub.port, token=hub.token, load=offered, paced=paced)
        with Generator(order) as generator:
            before_s, http_s, began_s = hub.cpu_s(), hub.main_thread_s(), time.monotonic()
            generator.go()
            delivered = generator.done()
        hub.until(lambda: hub.settled(known.segments + delivered.segments), SETTLE_S, "sum all rows")
        wall_s = time.monotonic() - began_s
        hub.until(lambda: hub.sealed_rows() >= known.rows + delivered.rows, SETTLE_S, "seal all rows")
        time.sleep(0.5)  # until what follows the last file is done
        cpu_s, http_s, rss_mib = hub.cpu_s() - before_s, hub.main_thread_s() - http_s, hub.rss_mib()
        watched = hub.stop().since(before)
        check(hub, known.rows + delivered.rows)
    return Run(delivered=delivered, watched=watched, cpu_s=cpu_s, http_s=http_s, wall_s=wall_s, rss_mib=rss_mib)


def _make_known(hub: Hub, load: Load) -> tuple[Delivered, Watched]:
    """Deliver the first segment of each node: nodes, GPUs and runs are new once, which is not what a day costs."""
    first = msgspec.structs.replace(load, sent=(0, 1))
    with Generator(Order(port=hub.port, token=hub.token, load=first, paced=False)) as generator:
        generator.go()
        delivered = generator.done()
    hub.until(lambda: hub.settled(delivered.segments), SETTLE_S, "sum the first rows")
    return delivered, hub.watched()


def check(hub: Hub, sent: int) -> None:
    """Raise AssertionError where the rows in the store, sealed and summed are not exactly those that were sent."""
    with Database.open(hub.data, read_only=True) as database, database.cursor() as cursor:
        found = {
            "stored": samples.count(cursor),
            "sealed": cursor.scalar("SELECT coalesce(sum(rows), 0)::BIGINT FROM sealed"),
            "summed": cursor.scalar("SELECT coalesce(sum(rows), 0)::BIGINT FROM gpu_minute"),
            "in hours": cursor.scalar("SELECT coalesce(sum(rows), 0)::BIGINT FROM gpu_hour"),
        }
    assert found == dict.fromkeys(found, sent), f"{sent} rows were sent: {found}"


def measure(sizes: Sizes, *, peers: bool) -> dict[str, Any]:
    """Return the benchmark's JSON object."""
    offered = run(sizes, sizes.segments, paced=True)
    flooded = run(sizes, sizes.flood_segments, paced=False) if sizes.flood_segments else offered
    beside = compare(sizes.peer_nodes, load(sizes, 1), sizes.scrapes) if peers else {}
    rows_per_s = sizes.nodes * sizes.gpus / sizes.interval_s
    answers = sorted(offered.delivered.answers_s)
    return {
        "name": "ingest",
        "machine": machine() | {"duckdb": duckdb.__version__},
        "sizes": msgspec.structs.asdict(sizes) | {"values_a_row": offered.delivered.values // offered.delivered.rows},
        "figures": {
            "offered_rows_per_s": round(rows_per_s),
            "cpu_pct_core": round(offered.us * rows_per_s / 1e4, 1),
            "cpu_us_per_row": round(offered.us, 3),
            **{f"us_{name}": round(offered.stage_us(name), 3) for name in STAGES},
            "us_rest": round(offered.us - sum(offered.stage_us(name) for name in STAGES), 3),
            "max_rows_per_s": round(1e6 / flooded.us),
            "flooded_rows_per_s": round(flooded.delivered.rows / flooded.wall_s),
            "flooded_us_per_row": round(flooded.us, 3),
            "segment_bytes": offered.delivered.sent_bytes // offered.delivered.segments,
            "segments_a_batch": round(offered.delivered.segments / offered.watched.batches, 1),
            "answer_p50_ms": _ms(answers, 0.5),
            "answer_p99_ms": _ms(answers, 0.99),
            "refused_busy": offered.delivered.busy,
            "rss_mib": round(offered.rss_mib),
            **_ratios(offered, beside),
        },
        "peers": {name: fed.told() for name, fed in beside.items()},
    }


def _ms(answers: list[float], share: float) -> float:
    return round(1000 * answers[min(int(share * len(answers)), len(answers) - 1)], 1)


def _ratios(ours: Run, peers: dict[str, Fed]) -> dict[str, float | None]:
    """Return our CPU a row as a share of each peer's; None where it was not measured."""
    names = {"vs_victoriametrics": "victoria-metrics", "vs_prometheus": "prometheus"}
    found = {
        figure: next((fed for name, fed in peers.items() if name.startswith(peer)), None)
        for figure, peer in names.items()
    }
    return {figure: round(ours.us / fed.us, 4) if fed and fed.cpu_s else None for figure, fed in found.items()}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ingest", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON (there is no other form)")
    parser.add_argument("--quick", action="store_true", help="few nodes for a few seconds")
    parser.add_argument("--no-peers", action="store_true", help="leave the other stores out")
    for name, kind in Sizes.__annotations__.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=kind)
    chosen = vars(parser.parse_args(arguments))
    given = {name: chosen[name] for name in Sizes.__struct_fields__ if chosen[name] is not None}
    sizes = msgspec.structs.replace(QUICK if chosen["quick"] else Sizes(), **given)
    print(json.dumps(measure(sizes, peers=not chosen["no_peers"]), indent=1))
