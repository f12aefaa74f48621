"""A GPU in MIG mode from the driver's library to pages: nobody on it is called idle, whatever the driver answers."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from analytics.footprint import footprints
from analytics.judge import judge
from analytics.settings import AnalyticsSettings
from collector.sessions import Sessions
from store.database import Database
from tests.collector.conftest import START_S, StandIn
from tests.collector.driving import Daemon
from tests.dashboard.pages import Pages, Shown
from tests.fakenvml import Fake
from tests.store.building import empty_store, store

HELD_S = 20 * 60
END_S = HELD_S + 15 * 60
NOW_MS = 1000 * (START_S + END_S)
# Two GPUs without any work, a program on each. The first is cut into instances, and its driver answers all the same.
GPUS = "count=2\ngpu.0.mig_mode=1\ngpu.0.mig_utilization=1\n"
PROGRAMS = "gpu.*.proc.0 = pid=self type=C mem=10GiB\n"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pages]:
    folder = tmp_path_factory.mktemp("mig")
    with empty_store(folder / "store") as database:
        _record(folder, database)
        yield Pages(database, NOW_MS)


def _record(folder: Path, database: Database) -> None:
    node = StandIn(Fake(folder / "scenario"))
    daemon = Daemon(node, Sessions("n1", "c", 600_000, []))
    daemon.start(GPUS + PROGRAMS)
    for second in range(10, END_S, 10):
        at = node.set(second, GPUS + (PROGRAMS if second <= HELD_S else ""))
        daemon.agent.beat(at, reads=True)
    daemon.finish(END_S, GPUS)
    store(database, *daemon.shipped, now_ms=NOW_MS)
    settings = AnalyticsSettings()
    footprints(database, NOW_MS, settings.footprint)
    judge(database, NOW_MS, settings)


def test_its_hours_are_unknown_and_cannot_be_measured_here(pages: Pages) -> None:
    on_mig, on_whole = _sessions(pages)
    assert on_mig["gpu_h"] == on_mig["unknown_gpu_h"] == on_whole["gpu_h"] > 0.3
    assert (on_mig["idle_gpu_h"], on_mig["active_gpu_h"], on_mig["coverage"]) == (0, 0, None)
    assert on_whole["idle_gpu_h"] == on_whole["gpu_h"]
    hours = _json(pages, "/api/v1/summary")["hours"]
    assert hours["unmeasurable_gpu_h"] == on_mig["gpu_h"]
    assert (hours["idle_gpu_h"], hours["missing_gpu_h"], hours["coverage"]) == (on_whole["gpu_h"], 0, 1)


def test_nothing_is_found_on_it_and_it_is_said_why(pages: Pages) -> None:
    on_mig, on_whole = _sessions(pages)
    assert [finding["rule"] for finding in on_whole["findings"]] == ["gpu_never_used"]
    assert on_mig["findings"] == []
    assert [one["reason"] for one in on_mig["unjudged"]] == ["utilization cannot be measured on its GPUs"]


def test_the_pages_call_nothing_of_it_idle(pages: Pages) -> None:
    on_mig, on_whole = _sessions(pages)
    page = _open(pages, f"/jobs/{on_mig['job_id']}")
    assert "nothing of it could be measured" in page.text()
    assert page.figures()["idle_gpu_h"] == 0
    assert "utilization cannot be measured on its GPUs" in page.text()
    assert on_mig["job_id"] not in [item["job_id"] for item in _json(pages, "/api/v1/findings")["items"]]
    (node,) = _json(pages, "/api/v1/nodes")["items"]
    assert [gpu["state"] for gpu in node["gpu_now"]] == ["unallocated"] * 2
    assert node["idle_gpu_h_day"] == on_whole["idle_gpu_h"]
    assert (
        "Decoder, Encoder, Memory controller, Utilization the driver or device does not"
        in _open(pages, "/health").text()
    )


def test_the_program_on_it_is_told_all_the_same(pages: Pages) -> None:
    for index, run in enumerate(_sessions(pages)):
        (program,) = run["processes"]["items"]
        assert (program["gpu"], program["pid"], program["uid"]) == (f"n1:{index}", os.getpid(), os.getuid())
        assert (program["program"], program["mem_max_mib"]) == (Path("/proc/self/comm").read_text().strip(), 10 * 1024)
        assert (program["user"], program["foreign"]) == (run["user"], False)
        assert (program["first_ms"], program["last_ms"]) == (run["start_ms"], run["end_ms"])
        assert "Processes" in _open(pages, f"/jobs/{run['job_id']}").text()


def _sessions(pages: Pages) -> list[Any]:
    """Returns the two sessions in full, by the node's index of their GPU."""
    found = [_json(pages, f"/api/v1/jobs/{item['job_id']}") for item in _json(pages, "/api/v1/jobs")["items"]]
    assert len(found) == 2
    return sorted(found, key=lambda run: str(run["gpus"][0]["gpu"]))


def _json(pages: Pages, path: str) -> Any:
    answer = pages.client.get(path)
    assert answer.status_code == 200, answer.text
    return answer.json


def _open(pages: Pages, path: str) -> Shown:
    page = pages.get(path)
    assert page.failed() == []
    return page
