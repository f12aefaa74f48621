"""MIG instances from the driver's library to pages: each a part of its GPU, busy or idle by its own counters."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from analytics.footprint import footprints
from analytics.judge import judge
from analytics.settings import AnalyticsSettings
from collector.probes.activity import ActivityProbe
from collector.sessions import Sessions
from store.database import Database
from tests.collector.conftest import START_S, StandIn
from tests.collector.driving import Daemon
from tests.dashboard.pages import Pages
from tests.fakenvml import Fake
from tests.store.building import empty_store, store

HELD_S = 20 * 60
END_S = HELD_S + 15 * 60
NOW_MS = 1000 * (START_S + END_S)
GPUS = (
    "count=2\ngpu.0.mig_mode=1\n"
    "gpu.0.mig.0 = gi=1 ci=0 profile=3g.40gb mem_total=40GiB uuid=MIG-three cslice=3 gslice=3\n"
    "gpu.0.mig.3 = gi=5 ci=0 profile=1g.10gb mem_total=10GiB uuid=MIG-one cslice=1 gslice=1\n"
    "gpu.0.gpm.1.gi5=0\n"
)
PROGRAMS = (
    "gpu.0.gpm.1.gi1=77\n"
    "gpu.0.proc.0 = pid=self type=C mem=2GiB gi=1 ci=0\n"
    "gpu.0.proc.1 = pid=self type=C mem=1GiB gi=5 ci=0\n"
)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pages]:
    folder = tmp_path_factory.mktemp("instances")
    with empty_store(folder / "store") as database:
        _record(folder, database)
        yield Pages(database, NOW_MS)


def _record(folder: Path, database: Database) -> None:
    node = StandIn(Fake(folder / "scenario"))
    daemon = Daemon(node, Sessions("n1", "c", 600_000, []), [ActivityProbe(node.inventory)])
    daemon.start(GPUS + PROGRAMS)
    for second in range(10, END_S, 10):
        at = node.set(second, GPUS + (PROGRAMS if second <= HELD_S else "gpu.0.gpm.1.gi1=0\n"))
        daemon.agent.beat(at, reads=True)
    daemon.finish(END_S, GPUS)
    store(database, *daemon.shipped, now_ms=NOW_MS)
    settings = AnalyticsSettings()
    footprints(database, NOW_MS, settings.footprint)
    judge(database, NOW_MS, settings)


def _json(pages: Pages, path: str) -> Any:
    answer = pages.client.get(path)
    assert answer.status_code == 200, answer.text
    return answer.json


def _sessions(pages: Pages) -> tuple[Any, Any]:
    """The session on three slices and the one on a single slice."""
    found = [_json(pages, f"/api/v1/jobs/{item['job_id']}") for item in _json(pages, "/api/v1/jobs")["items"]]
    one, three = sorted(found, key=lambda run: run["gpu_h"])
    return three, one


def test_each_holds_its_slices_of_the_gpu(pages: Pages) -> None:
    three, one = _sessions(pages)
    held_h = (three["end_ms"] - three["start_ms"]) / 3_600_000
    assert held_h == pytest.approx(HELD_S / 3600, abs=0.01)
    assert three["gpu_h"] == pytest.approx(held_h * 3 / 7)
    assert one["gpu_h"] == pytest.approx(held_h / 7)


def test_one_is_busy_and_the_other_idle_by_its_own_counters(pages: Pages) -> None:
    three, one = _sessions(pages)
    assert three["util_mean_pct"] == pytest.approx(77, abs=1)
    assert three["active_gpu_h"] == pytest.approx(three["gpu_h"], rel=0.02)
    assert one["idle_gpu_h"] == pytest.approx(one["gpu_h"], rel=0.02)
    assert three["coverage"] > 0.98
    assert three["findings"] == []
    assert [finding["rule"] for finding in one["findings"]] == ["gpu_never_used"]
    assert [unjudged for unjudged in three["unjudged"] if "cannot be measured" in unjudged["reason"]] == []


def test_instances_add_nothing_to_what_the_node_has(pages: Pages) -> None:
    hours = _json(pages, "/api/v1/summary")["hours"]
    three, one = _sessions(pages)
    assert hours["held_gpu_h"] == pytest.approx(three["gpu_h"] + one["gpu_h"])
    assert hours["capacity_gpu_h"] == pytest.approx(2 * END_S / 3600, rel=0.02)


def test_the_page_shows_what_an_instance_answers_and_names_what_it_does_not(pages: Pages) -> None:
    three, _ = _sessions(pages)
    page = pages.get(f"/jobs/{three['job_id']}")
    assert page.failed() == []
    names = {trace.get("name") for trace in page.charts()["job-metrics"]["figure"]["data"]}
    assert {"Utilization", "Memory used", "SM activity"} <= names
    why = {one["children"]: one["data-tip"] for one in page.having("data-tip") if isinstance(one["children"], str)}
    assert why["Power"] == "the driver or device does not offer this reading"
