"""A week of a fleet's raw rows, sealed, through the analysis: means of runs, footprints, rules, the weekly report.

``NAME_s`` is wall time, ``NAME_cpu_s`` CPU time of the process, ``NAME_rss_mib`` its most memory meanwhile. Telemetry
is made for it (benchmarks/telemetry); everything measured is the product's own code on an ordinary store.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import duckdb
import msgspec
import numpy as np

from analytics.footprint import footprints
from analytics.judge import judge
from analytics.model import Filter, Viewer, Window
from analytics.queries.run_means import run_means
from analytics.reports.build import build
from analytics.reports.model import Scope
from analytics.reports.render import render_html, render_text
from analytics.settings import AnalyticsSettings
from analytics.site import SiteSettings
from benchmarks import machine
from benchmarks.analysis.week import make_due, week
from benchmarks.telemetry import Fleet
from store.database import Database
from store.manifest import DAY_MS
from store.samples import count, sealed_bytes

MONDAY_MS: Final = 1_789_948_800_000
"""2026-09-21 00:00 UTC."""
WEEK: Final = "2026-W39"


class Sizes(msgspec.Struct, frozen=True, kw_only=True):
    """Of the fleet; whole weeks are reported on."""

    nodes: int = 125
    gpus: int = 8
    days: int = 7
    interval_s: int = 10
    seed: int = 7

    @property
    def fleet(self) -> Fleet:
        return Fleet(
            nodes=self.nodes,
            gpus=self.gpus,
            from_ms=MONDAY_MS,
            to_ms=MONDAY_MS + self.days * DAY_MS,
            interval_ms=1000 * self.interval_s,
            seed=self.seed,
        )


QUICK: Final = Sizes(nodes=4, interval_s=60)


class Cost(msgspec.Struct, frozen=True):
    """What one piece of work took, and how many rows, runs or characters it made."""

    wall_s: float
    cpu_s: float
    rss_mib: float
    made: int

    def figures(self, name: str) -> dict[str, float]:
        return {
            f"{name}_s": round(self.wall_s, 3),
            f"{name}_cpu_s": round(self.cpu_s, 3),
            f"{name}_rss_mib": round(self.rss_mib),
        }


def cost(work: Callable[[], int]) -> Cost:
    """Do the work and return what it took."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak of memory begins anew (proc(5))
    wall_s, cpu_s = time.perf_counter(), time.process_time()
    made = work()
    return Cost(time.perf_counter() - wall_s, time.process_time() - cpu_s, _peak_mib(), made)


def _peak_mib() -> float:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def measure(sizes: Sizes, directory: Path) -> dict[str, Any]:
    """Return the benchmark's JSON object; the store in the directory is made where it is empty, else used again."""
    fleet = sizes.fleet
    with week(directory, fleet) as database:
        costs = {name: cost(work) for name, work in _works(database, fleet).items()}
        with database.cursor() as cursor:
            figures = {
                "raw_rows": count(cursor),
                "sealed_bytes": sealed_bytes(cursor),
                "runs": cursor.scalar("SELECT count(*) FROM run"),
                "run_gpus": cursor.scalar("SELECT count(*) FROM footprint_gpu"),
                "findings": cursor.scalar("SELECT count(*) FROM finding"),
            }
    figures["footprint_cpu_us_per_row"] = round(1e6 * costs["footprint"].cpu_s / figures["raw_rows"], 3)
    for name, found in costs.items():
        figures |= found.figures(name)
    return {
        "name": "analysis",
        "machine": machine() | {"duckdb": duckdb.__version__, "numpy": np.__version__},
        "sizes": msgspec.structs.asdict(sizes),
        "figures": figures,
        "peers": {},
    }


def _works(database: Database, fleet: Fleet) -> dict[str, Callable[[], int]]:
    """Return what is measured, in order: each rests on the one before it."""
    settings = AnalyticsSettings()
    window = Window(start_ms=fleet.from_ms, end_ms=fleet.to_ms)

    def means() -> int:
        with database.cursor() as cursor:
            return int(run_means(cursor, Viewer(), window, Filter()).num_rows)

    def footprint() -> int:
        return footprints(database, fleet.to_ms, settings.footprint)

    def rules() -> int:
        return judge(database, fleet.to_ms, settings)

    def report() -> int:
        with database.cursor() as cursor:
            made = build(cursor, Viewer(), Scope("cluster"), WEEK, SiteSettings(), fleet.to_ms)
            return len(render_html(made)) + len(render_text(made))

    make_due(database)
    return {"means": means, "footprint": footprint, "rules": rules, "report": report}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.analysis", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON (there is no other form)")
    parser.add_argument("--quick", action="store_true", help="4 nodes at 60 s instead of 125 at 10 s")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="make the store in DIR and use it again next time")
    for name in Sizes.__struct_fields__:
        parser.add_argument(f"--{name.replace('_', '-')}", type=int)
    chosen = vars(parser.parse_args(arguments))
    given = {name: chosen[name] for name in Sizes.__struct_fields__ if chosen[name] is not None}
    sizes = msgspec.structs.replace(QUICK if chosen["quick"] else Sizes(), **given)
    with tempfile.TemporaryDirectory(prefix="gpuledger-bench-") as directory:
        print(json.dumps(measure(sizes, chosen["keep"] or Path(directory)), indent=1))


if __name__ == "__main__":
    main()
