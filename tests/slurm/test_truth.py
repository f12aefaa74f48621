"""The truth test: what the product says of every run of a busy cluster, against what the test did and Slurm noted."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.browser import CHROMIUM, Chromium
from tests.fakenvml.building import obstacle
from tests.slurm.product import Hub
from tests.slurm.running import SlurmCluster
from tests.slurm.truth.case import State
from tests.slurm.truth.cases import CASES
from tests.slurm.truth.crew import INTERVAL_MS, POLL_MS, SEGMENT_MS, WITHOUT_HOOKS, on_duty
from tests.slurm.truth.play import Play
from tests.slurm.truth.record import Run, runs
from tests.slurm.truth.stage import Stage

STATES: tuple[State, ...] = ("active", "low", "idle_held", "idle_empty", "unknown")
PLAIN = (0, 1, 2, 3)
ORDERS = (PLAIN, PLAIN, (2, 0, 3, 1), PLAIN)  # of the device files, by the driver's count: the third node's differs
MS_PER_H = 3_600_000
_CELLS = """cells => cells.filter(cell => !cell.closest(".ag-floating-top"))
    .map(cell => [cell.closest(".ag-row").getAttribute("row-index"), cell.getAttribute("col-id"), cell.innerText])
"""


@dataclass(repr=False)
class Told:
    """What was played, what is true of it, and the hub that tells of it, at rest."""

    hub: Hub
    truth: list[Run]
    play: Play
    statuses: dict[str, int]
    without_hooks: str = ""

    def rows(self) -> dict[tuple[str, int], dict[str, Any]]:
        """Returns the hub's runs by job id and start."""
        return {(row["job_id"], row["start_ms"]): row for row in self.hub.get("jobs?range=24h&limit=1000")["items"]}

    def runs(self) -> Iterator[tuple[Run, dict[str, Any]]]:
        """Yields each run with what the hub says of it alone."""
        rows = self.rows()
        for run in self.truth:
            row = rows[run.job_id, run.start_ms]
            yield run, self.hub.get(f"jobs/{run.job_id}?run={row['run_key']}")


@pytest.fixture(scope="module")
def told(slurm_cluster: SlurmCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    if reason := obstacle():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("truth")
    minors = dict(zip(slurm_cluster.nodes, ORDERS, strict=True))
    stages = {node: Stage(folder / f"{node}.scenario", minors[node]) for node in slurm_cluster.nodes}
    with on_duty(slurm_cluster, folder, stages) as crew:
        play = Play(slurm_cluster, CASES, stages, crew)
        play.perform()

        def as_accounted() -> list[Run] | None:
            truth = runs(slurm_cluster, play, stages)
            said = {key: row["state"] for key, row in Told(crew.hub, [], play, {}).rows().items()}
            return truth if said == {(run.job_id, run.start_ms): run.state for run in truth} else None

        def at_rest() -> bool | None:
            health = crew.hub.get("health")
            return True if health["pending_hours"] == health["pending_runs"] == 0 else None

        try:
            truth = slurm_cluster.eventually(as_accounted, timeout_s=30)
        except TimeoutError:  # a test says better what is amiss
            truth = runs(slurm_cluster, play, stages)
        statuses = crew.stop_all()
        slurm_cluster.eventually(at_rest, timeout_s=30)
        yield Told(crew.hub, truth, play, statuses, slurm_cluster.nodes[WITHOUT_HOOKS - 1])


def test_every_case_was_played_as_written(told: Told) -> None:
    ended: dict[str, list[str]] = {}
    for run in told.truth:
        ended.setdefault(run.case, []).append(run.state)
    assert {case.name: ended.get(case.name) for case in CASES} == {
        case.name: [*case.ends] * case.parts for case in CASES
    }
    assert set(told.statuses.values()) == {0}


def test_every_run_is_there_once_with_its_owner_and_its_times(told: Told) -> None:
    names = ("job_id", "name", "user", "account", "partition", "state", "start_ms", "end_ms", "gpus")
    said = {key: [row[name] for name in names] for key, row in told.rows().items()}
    assert said == {(run.job_id, run.start_ms): [getattr(run, name) for name in names] for run in told.truth}
    assert told.hub.get("jobs?range=24h")["total"]["count"] == len(told.truth)


def test_every_run_has_its_gpus_and_no_others(told: Told) -> None:
    for run, row in told.runs():
        assert {gpu["gpu"] for gpu in row["gpus"] if gpu["node"]} == run.places, run.name
        for gpu in (gpu for gpu in row["gpus"] if gpu["node"]):
            sources = {"step", "poll"} if gpu["node"] == told.without_hooks else {"hook"}
            assert gpu["source"] in sources, run.name


def test_hours_are_the_truth_within_one_interval_an_edge(told: Told) -> None:
    for run, row in told.runs():
        assert round(row["gpu_h"] * MS_PER_H) == run.held_ms, run.name
        for state in STATES:
            said_ms, true_ms = row[f"{state}_gpu_h"] * MS_PER_H, run.times.get(state, 0)
            slack_ms = run.edges[state] * INTERVAL_MS
            if told.without_hooks in run.nodes:  # a poll may be the first to tell of it
                slack_ms += run.gpus * POLL_MS
            if run.state == "NODE_FAIL":  # what was not in a segment yet went with the node
                slack_ms += run.gpus * SEGMENT_MS
            assert said_ms == pytest.approx(true_ms, abs=slack_ms), (run.name, state)


def test_what_is_found_is_what_was_idle_and_nobody_else(told: Told) -> None:
    said = {(row["job_id"], row["rule"], row["user"]) for row in told.hub.get("findings?range=24h&limit=1000")["items"]}
    assert said == {(run.job_id, run.rule, run.user) for run in told.truth if run.rule}
    for looked, items in told.play.acts.looks.items():
        live = {row["name"] for row in items if row["rule"] == "idle_now" and row["name"] == looked}
        assert live == {looked}


def test_a_page_shows_those_that_were_found(told: Told) -> None:
    if not Path(CHROMIUM).exists():
        pytest.skip(f"{CHROMIUM} is not there: apt install chromium")
    with Chromium.started() as chromium, chromium.sheet(told.hub.address) as sheet:
        sheet.open("/jobs?range=24h&finding=any")
        shown: dict[str, dict[str, str]] = {}
        for row, column, text in sheet.page.eval_on_selector_all(".ag-row [col-id]", _CELLS):
            shown.setdefault(row, {})[column] = text.strip()
        found = {row["job"]: row["user"] for row in shown.values()}
        assert found == {run.job_id: run.user for run in told.truth if run.rule}
        for run in told.truth:
            if run.rule:
                figures = sheet.open(f"/jobs/{run.job_id}").figures()
                idle_ms, edges = (figures["idle_gpu_h"] or 0) * MS_PER_H, run.edges["idle_empty"]
                assert idle_ms == pytest.approx(run.times["idle_empty"], abs=edges * INTERVAL_MS), run.name


def test_sums_agree_exactly(told: Told) -> None:
    total = told.hub.get("summary?range=24h")["hours"]
    assert sum(total[f"{state}_gpu_h"] for state in STATES) == pytest.approx(total["held_gpu_h"], abs=1e-12)
    held_ms = sum(run.held_ms for run in told.truth)
    assert round(total["held_gpu_h"] * MS_PER_H) == held_ms
    for by in ("user", "account", "partition", "node", "model", "cluster", "day"):
        rows = told.hub.get(f"summary?range=24h&by={by}")["breakdown"]
        for figure in ("held_gpu_h", "idle_gpu_h", "unknown_gpu_h", *(f"{state}_gpu_h" for state in STATES)):
            assert sum(row[figure] for row in rows) == pytest.approx(total[figure], abs=1e-12), (by, figure)
    parts = ("held", "suspended", "releasing", "stray", "offline", "taken", "reserved", "free", "stranded")
    assert sum(total[f"{part}_gpu_h"] for part in parts) == pytest.approx(total["capacity_gpu_h"], abs=1e-12)
    suspended_ms = sum((run.end_ms - run.start_ms) * run.gpus - run.held_ms for run in told.truth)
    assert total["suspended_gpu_h"] * MS_PER_H == pytest.approx(suspended_ms, abs=INTERVAL_MS)
    users = {row["key"]: row["held_gpu_h"] for row in told.hub.get("summary?range=24h&by=user")["breakdown"]}
    for user, held_gpu_h in users.items():
        assert round(held_gpu_h * MS_PER_H) == sum(run.held_ms for run in told.truth if run.user == user)


def test_the_report_names_those_that_were_found(told: Told) -> None:
    found = [run for run in told.truth if run.rule]
    lines = told.hub.command("report").splitlines()
    assert f"{len(found)} findings." in lines
    for run in found:
        assert [line for line in lines if {run.user, run.account, run.job_id} <= set(line.split())], run.name
    report = told.hub.command("report", "--format", "json")
    assert set(re.findall(r'/jobs/([0-9_+]+)"', report)) == {run.job_id for run in found}
    assert json.loads(report)["figures"]["hours"]["held_gpu_h"] * MS_PER_H == pytest.approx(
        sum(run.held_ms for run in told.truth)
    )
