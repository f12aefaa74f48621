"""A machine without Slurm, from the driver's library to the last digit on a page, in a report and in a command."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from analytics.wording import format_energy, format_gpu_h, format_pct, format_ratio, number_gpu_h
from tests.e2e.browser import Chromium, Sheet
from tests.e2e.machine import State
from tests.e2e.workstation import GPUS, INTERVAL_MS, Workstation, lived

pytestmark = pytest.mark.browser
MS_PER_H = 3_600_000
STATES: tuple[State, ...] = ("active", "low", "idle_held", "idle_empty", "unknown")
PAGES = ("/", "/me", "/jobs", "/nodes", "/people", "/recommendations", "/reports", "/health", "/about")


@pytest.fixture(scope="module")
def workstation(tmp_path_factory: pytest.TempPathFactory, chromium: Chromium, stand_in: None) -> Iterator[Workstation]:
    with lived(tmp_path_factory.mktemp("workstation"), chromium) as found:
        yield found


@pytest.fixture
def sheet(workstation: Workstation, chromium: Chromium) -> Iterator[Sheet]:
    with chromium.sheet(workstation.hub.address) as opened:
        yield opened


def by_gpu(workstation: Workstation) -> dict[int, dict[str, Any]]:
    """Returns each session by the index of its GPU: nobody comes back after a session has ended here."""
    items = workstation.json("/api/v1/jobs?limit=1000")["items"]
    runs = [workstation.json(f"/api/v1/jobs/{item['job_id']}") for item in items]
    return {int(run["gpus"][0]["gpu"].rpartition(":")[2]): run for run in runs}


def test_the_first_rows_are_there_soon(workstation: Workstation) -> None:
    assert workstation.first_data_s < 20


def test_it_stops_within_seconds_and_loses_nothing(workstation: Workstation) -> None:
    assert workstation.exit_code == 0
    assert workstation.stop_s < 10
    assert list((workstation.data / "spool").glob("*.segment")) == []
    assert list((workstation.data / "inbox").iterdir()) == []
    (node,) = workstation.json("/api/v1/nodes")["items"]
    events = workstation.json(f"/api/v1/nodes/{node['name']}")["events"]
    stopped = [event for event in events if event["kind"] == "agent_stopped"]
    assert [event["ts_ms"] for event in stopped] == [node["last_ms"]]


def test_the_log_of_a_quiet_life_says_only_where_it_is(workstation: Workstation) -> None:
    (said,) = workstation.log.read_text().splitlines()
    assert said.startswith("GPU Ledger records this machine and listens on http://127.0.0.1:")


def test_hours_are_the_truth_within_one_interval_an_edge(workstation: Workstation) -> None:
    truth, runs = workstation.machine, by_gpu(workstation)
    assert sorted(runs) == list(range(GPUS))
    for gpu, run in runs.items():
        for state in STATES:
            told_ms = run[f"{state}_gpu_h"] * MS_PER_H
            edges = truth.edges[gpu, state] + 1  # where the recording ended
            assert told_ms == pytest.approx(truth.true_ms[gpu, state], abs=edges * INTERVAL_MS), (gpu, state)
        assert sum(run[f"{state}_gpu_h"] for state in STATES) == pytest.approx(run["gpu_h"], abs=1e-12)
        assert run["idle_gpu_h"] == pytest.approx(run["idle_held_gpu_h"] + run["idle_empty_gpu_h"], abs=1e-12)


def test_a_lost_gpu_is_unknown_and_never_idle(workstation: Workstation) -> None:
    states = {gpu["index"]: gpu["state"] for gpu in workstation.while_lost["gpu_now"]}
    assert states[1] == "unknown"
    assert "1 not measured" in workstation.live_nodes_sentence
    run = by_gpu(workstation)[1]
    assert run["idle_gpu_h"] == 0
    assert run["unknown_gpu_h"] > 20_000 / MS_PER_H
    assert [finding["rule"] for finding in run["findings"]] == []


def test_what_was_idle_is_found(workstation: Workstation) -> None:
    users = {(finding["rule"], finding["user"]) for finding in workstation.live_findings}
    runs = by_gpu(workstation)
    assert {rule for rule, _ in users} == {"gpu_never_used", "idle_now"}
    (ended,) = [each for each in workstation.live_findings if each["rule"] == "gpu_never_used"]
    assert ended["job_id"] == runs[2]["job_id"]
    assert ended["gpu_h"] == pytest.approx(runs[2]["idle_gpu_h"], abs=INTERVAL_MS / MS_PER_H)


def test_overview_says_what_the_api_says(workstation: Workstation, sheet: Sheet) -> None:
    said = workstation.json("/api/v1/summary")
    hours = said["hours"]
    figures = sheet.open("/").figures()
    names = ("capacity_gpu_h", "held_gpu_h", "active_gpu_h", "idle_gpu_h", "energy_kwh", "coverage")
    assert figures == {name: hours[name] for name in names} | {"effective_share_pct": said["effective_share_pct"]}
    texts = {name: format_gpu_h(hours[name]) for name in names if name.endswith("gpu_h")} | {
        "energy_kwh": format_energy(hours["energy_kwh"], estimated=hours["energy_estimated"]),
        "coverage": format_ratio(hours["coverage"]),
        "effective_share_pct": format_pct(said["effective_share_pct"]),
    }
    assert shown(sheet) == texts
    assert f"Together {format_gpu_h(hours['idle_gpu_h'])}" in sheet.text("#breakdown")


def test_jobs_says_what_the_api_says(workstation: Workstation, sheet: Sheet) -> None:
    found = workstation.json("/api/v1/jobs")
    total = found["total"]
    sheet.open("/jobs")
    names = {"held_gpu_h": "gpu_h", "active_gpu_h": "active_gpu_h", "low_gpu_h": "low_gpu_h"}
    names |= {"idle_gpu_h": "idle_gpu_h", "unknown_gpu_h": "unknown_gpu_h"}
    assert sheet.figures() == {figure: total[name] for figure, name in names.items()}
    assert shown(sheet) == {figure: format_gpu_h(total[name]) for figure, name in names.items()}
    line = sheet.page.locator("[data-total]")
    assert float(line.get_attribute("data-total")) == total["gpu_h"]
    assert float(line.get_attribute("data-total-idle")) == total["idle_gpu_h"]
    assert grid(sheet, "gpu_h") == [number_gpu_h(item["gpu_h"]) for item in found["items"]]
    assert grid(sheet, "idle_gpu_h") == [number_gpu_h(item["idle_gpu_h"]) for item in found["items"]]
    assert grid(sheet, "idle_gpu_h", ".ag-floating-top") == [number_gpu_h(total["idle_gpu_h"])]
    for name in ("gpu_h", "idle_gpu_h", "unknown_gpu_h"):
        assert sum(item[name] for item in found["items"]) == pytest.approx(total[name], abs=1e-12)


def test_each_session_says_what_the_api_says(workstation: Workstation, sheet: Sheet) -> None:
    for item in workstation.json("/api/v1/jobs")["items"]:
        run = workstation.json(f"/api/v1/jobs/{item['job_id']}")
        names = ("gpu_h", "idle_gpu_h", "util_mean_pct", "mem_max_ratio", "power_mean_ratio", "energy_kwh")
        assert sheet.open(f"/jobs/{run['job_id']}").figures() == {name: run[name] for name in names}
        texts = shown(sheet)
        assert texts["idle_gpu_h"] == format_gpu_h(item["idle_gpu_h"])
        assert texts["util_mean_pct"] == format_pct(item["util_mean_pct"])
        assert (run["gpu_h"], run["unknown_gpu_h"]) == (item["gpu_h"], item["unknown_gpu_h"])


def test_nodes_says_what_the_api_says(workstation: Workstation, sheet: Sheet) -> None:
    hours = workstation.json("/api/v1/summary?range=24h")["hours"]
    figures = sheet.open("/nodes").figures()
    assert figures == {name: hours[name] for name in figures}
    assert {"held_gpu_h", "idle_gpu_h", "unknown_gpu_h", "capacity_gpu_h", "unallocated_gpu_h"} <= figures.keys()
    assert hours["unallocated_gpu_h"] == pytest.approx(hours["capacity_gpu_h"] - hours["held_gpu_h"], abs=1e-12)


def test_the_report_says_what_the_api_says(workstation: Workstation) -> None:
    made = workstation.command("report", "--format", "json")
    report = json.loads(made.stdout)
    assert report["partial"]
    hours = workstation.json(f"/api/v1/summary?range={report['week']}")["hours"]
    figures = report["figures"]["hours"]
    assert {name: figures[name] for name in hours if name != "provenance"} == {
        name: value for name, value in hours.items() if name != "provenance"
    }
    for form in ("html", "text"):
        text = workstation.command("report", "--format", form).stdout
        numbers = [number_gpu_h(hours["held_gpu_h"]), number_gpu_h(hours["idle_gpu_h"])]
        assert total_row(text) == [*numbers, format_pct(report["figures"]["idle_share_pct"]), coverage(hours)]


def test_commands_say_what_the_api_says(workstation: Workstation) -> None:
    for command in ("jobs", "findings", "nodes"):
        told = json.loads(workstation.command(command, "--json").stdout)
        asked = workstation.json(f"/api/v1/{command}?limit=50")
        assert stable(told) == stable(asked)


def test_every_page_is_drawn_in_the_dark_too(workstation: Workstation, chromium: Chromium) -> None:
    sessions = [f"/jobs/{item['job_id']}" for item in workstation.json("/api/v1/jobs")["items"][:1]]
    (node,) = workstation.json("/api/v1/nodes")["items"]
    with chromium.sheet(workstation.hub.address, scheme="dark") as sheet:
        for path in (*PAGES, *sessions, f"/nodes/{node['name']}"):
            sheet.open(path)
            assert sheet.failed_cards() == [], path
            assert sheet.page.evaluate("() => document.documentElement.dataset.mantineColorScheme") == "dark"


def test_sessions_are_what_it_speaks_of(workstation: Workstation, sheet: Sheet) -> None:
    card = sheet.open("/").text("#first-run")
    assert f"This machine: {GPUS} GPUs, recorded since" in card
    assert "No Slurm here, so programs are counted, not jobs." in card
    assert sheet.open("/jobs").text("h1") == "Sessions"
    assert "4 sessions held" in sheet.text("#sentence")


def shown(sheet: Sheet) -> dict[str, str]:
    """Returns the text of each figure's tile, by name."""
    names = sheet.page.eval_on_selector_all(".figure", "all => all.map(one => one.dataset.figure)")
    return dict(zip(names, sheet.texts(".figure .figure-value"), strict=True))


def grid(sheet: Sheet, column: str, part: str = ".ag-center-cols-container") -> list[str]:
    """Returns the texts of a column of the table of runs, in the order of the rows."""
    return sheet.page.eval_on_selector_all(
        f"{part} .ag-row",
        f"""rows => rows.sort((a, b) => Number(a.getAttribute("row-index")) - Number(b.getAttribute("row-index")))
            .map(row => row.querySelector("[col-id='{column}']"))
            .filter(cell => cell)
            .map(cell => cell.innerText.trim())""",
    )


def total_row(report: str) -> list[str]:
    """Returns the numbers in the total row of the report's table of accounts, as HTML or as text."""
    table = re.sub(r"<[^>]*>", "  ", report[report.index("Idle hours by account") :])
    return re.split(r"\s{2,}", table[table.index("Total") :])[1:5]


def coverage(hours: dict[str, Any]) -> str:
    return format_ratio(hours["coverage"])


def stable(answer: Any) -> Any:
    """Returns an answer without what moves with the clock."""
    if isinstance(answer, list):
        return [stable(item) for item in answer]
    if not isinstance(answer, dict):
        return answer
    return {name: stable(value) for name, value in answer.items() if name not in ("age_ms", "silent", "gpu_now")}
