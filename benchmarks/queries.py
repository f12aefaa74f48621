"""Every page query, and every page as the server renders it, on a synthetic cluster that this makes for itself.

Figures are milliseconds of wall time: ``NAME_ms`` the median, ``worst_max_ms`` the slowest of all repeats of a query.
Nothing is kept between two repeats but what a running hub keeps too, such as pages of the database file in memory.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import duckdb
import msgspec

from analytics.model import Filter, Viewer, Window
from analytics.queries import (
    findings,
    first_run,
    health,
    hours,
    job,
    jobs,
    lanes,
    me,
    node,
    node_findings,
    nodes,
    pending,
    people,
    recommendations,
    reports,
    series,
    shapes,
    site,
    summary,
    timeline,
)
from analytics.reports.archive import weekly_job
from benchmarks import machine
from dashboard.app import create_app
from dashboard.filters import job_path, node_path
from gpuledger.demo.fill import fill
from gpuledger.demo.settings import DemoSettings
from gpuledger.settings import Settings, linked
from gpuledger.wiring import clock_ms, services
from store.database import Cursor, Database

Work = Callable[[], object]

ADMIN: Final = Viewer()
ALL: Final = Filter()
METRICS: Final = ("util_pct", "sm_active_pct", "mem_used_mib", "power_w", "temp_c")
BARS: Final = 120
FIRST_NODE: Final = "SELECT min(name) FROM node WHERE node_key <> 0"
LARGEST_RUN: Final = "SELECT run_key FROM allocation GROUP BY run_key ORDER BY count(*) DESC, run_key LIMIT 1"
BUSIEST_USER: Final = """
    SELECT user_name FROM run WHERE user_name IS NOT NULL
    GROUP BY user_name ORDER BY count(*) DESC, user_name LIMIT 1"""


class Sizes(msgspec.Struct, frozen=True, kw_only=True):
    """Of the synthetic cluster, and how often each query is asked."""

    nodes: int = 16
    gpus: int = 8
    days: int = 14
    interval_s: int = 30
    repeats: int = 21


QUICK: Final = Sizes(days=2, repeats=5)


def measure(sizes: Sizes) -> dict[str, Any]:
    """Return the benchmark's JSON object for a cluster of these sizes."""
    with tempfile.TemporaryDirectory(prefix="gpuledger-bench-") as directory:
        _fill(Path(directory), sizes)
        with Database.open(Path(directory), read_only=True) as database, database.cursor() as cur:
            asked = {name: _times(work, sizes.repeats) for name, work in queries(cur).items()}
            drawn = {name: _times(work, sizes.repeats) for name, work in pages(database, cur).items()}
            runs = cur.scalar("SELECT count(*) FROM run")
    slowest = max(asked, key=lambda name: statistics.median(asked[name]))
    return {
        "name": "queries",
        "machine": machine() | {"duckdb": duckdb.__version__},
        "sizes": msgspec.structs.asdict(sizes),
        "figures": {
            "gpus": sizes.nodes * sizes.gpus,
            "runs": runs,
            "worst_query": slowest,
            "worst_median_ms": _ms(statistics.median(asked[slowest])),
            "worst_max_ms": _ms(max(max(times) for times in asked.values())),
            "raw_run_hot_ms": _ms(statistics.median(asked["series"])),
            **{f"{name}_ms": _ms(statistics.median(times)) for name, times in asked.items()},
            **{f"page_{name}_ms": _ms(statistics.median(times)) for name, times in drawn.items()},
        },
        "peers": {},
    }


def _fill(directory: Path, sizes: Sizes) -> None:
    settings, now_ms = Settings(), clock_ms()
    known = linked(settings).site
    demo = DemoSettings(nodes=sizes.nodes, gpus=sizes.gpus, days=sizes.days, interval_s=sizes.interval_s)
    report = weekly_job(known, settings.analytics.schedule.report_s)
    fill(directory, demo, now_ms, settings.store, settings.analytics, known, more=[report])


def _times(work: Work, repeats: int) -> list[float]:
    work()  # the first reads the file
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return times


def _ms(seconds: float) -> float:
    return round(1000 * seconds, 2)


def queries(cur: Cursor) -> Mapping[str, Work]:
    """Return every query that a page asks, over a week where it takes a window, as of the end of the data."""
    to_ms = site.data_to(cur) or 0
    week = Window.last(7 * 24, to_ms)
    user, run_key = cur.scalar(BUSIEST_USER), cur.scalar(LARGEST_RUN)
    name = cur.scalar(FIRST_NODE)
    return {
        "summary": lambda: summary.summary(cur, ADMIN, week, ALL),
        "timeline": lambda: timeline.over_time(cur, ADMIN, week, ALL, BARS),
        "by_partition": lambda: hours.breakdown(cur, ADMIN, week, ALL, "partition"),
        "by_node": lambda: hours.breakdown(cur, ADMIN, week, ALL, "node"),
        "hours": lambda: hours.hours(cur, ADMIN, week, ALL),
        "idle_now": lambda: findings.idle_now(cur, ADMIN, ALL),
        "recommendations": lambda: recommendations.recommendations(cur, ADMIN, week, ALL),
        "first_run": lambda: first_run.progress(cur, ADMIN, to_ms),
        "pending": lambda: pending.pending(cur),
        "site": lambda: site.site(cur),
        "choices": lambda: site.choices(cur, ADMIN, week),
        "me": lambda: me.me(cur, ADMIN, to_ms, user),
        "jobs": lambda: jobs.jobs(cur, ADMIN, week, ALL),
        "histogram": lambda: shapes.histogram(cur, ADMIN, week, ALL),
        "hexmap": lambda: shapes.hexmap(cur, ADMIN, week, ALL),
        "job": lambda: job.job(cur, ADMIN, run_key),
        "lanes": lambda: lanes.lanes(cur, ADMIN, run_key),
        "series": lambda: series.metrics(cur, ADMIN, run_key, METRICS),
        "node_findings": lambda: node_findings.node_findings(cur, ADMIN, week),
        "nodes": lambda: nodes.nodes(cur, ADMIN, to_ms),
        "node": lambda: node.node(cur, ADMIN, name, to_ms),
        "people": lambda: people.people(cur, ADMIN, week, ALL),
        "findings": lambda: findings.findings(cur, ADMIN, week, ALL),
        "reports": lambda: reports.archive(cur, ADMIN),
        "health": lambda: health.health(cur, ADMIN, to_ms),
    }


def pages(database: Database, cur: Cursor) -> Mapping[str, Work]:
    """Return every page as the server answers the browser's router: components and figures as JSON."""
    app = create_app(services(database, Settings())).server
    client = app.test_client()
    client.get("/")  # Dash registers its router with the first request
    job_id = cur.scalar("SELECT job_id FROM run WHERE run_key = $1", [cur.scalar(LARGEST_RUN)])
    addresses = {
        "overview": "/",
        "me": f"/me?user={cur.scalar(BUSIEST_USER)}",
        "jobs": "/jobs",
        "job": job_path(job_id),
        "nodes": "/nodes",
        "node": node_path(cur.scalar(FIRST_NODE)),
        "people": "/people",
        "recommendations": "/recommendations",
        "reports": "/reports",
        "health": "/health",
    }
    return {name: _page(client, address) for name, address in addresses.items()}


def _page(client: Any, address: str) -> Work:
    path, _, query = address.partition("?")
    place = [
        {"id": "_pages_location", "property": name, "value": value}
        for name, value in (("pathname", path), ("search", f"?{query}" if query else ""))
    ]
    outputs = [{"id": "_pages_content", "property": "children"}, {"id": "_pages_store", "property": "data"}]
    asked = {
        "output": ".._pages_content.children..._pages_store.data..",
        "outputs": outputs,
        "inputs": place,
        "state": place,
        "changedPropIds": ["_pages_location.pathname"],
    }

    def get() -> None:
        answer = client.post("/_dash-update-component", json=asked)
        assert answer.status_code == 200, answer.text

    return get


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.queries", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON (there is no other form)")
    parser.add_argument("--quick", action="store_true", help="two days instead of two weeks, fewer repeats")
    for name in Sizes.__struct_fields__:
        parser.add_argument(f"--{name.replace('_', '-')}", type=int)
    chosen = vars(parser.parse_args(arguments))
    given = {name: chosen[name] for name in Sizes.__struct_fields__ if chosen[name] is not None}
    print(json.dumps(measure(msgspec.structs.replace(QUICK if chosen["quick"] else Sizes(), **given)), indent=1))


if __name__ == "__main__":
    main()
