"""Each command on a small synthetic cluster at rest: text for people, JSON and CSV for programs, the same numbers."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from analytics.evidence_names import WIDTH
from analytics.evidence_words import numbers_said, thresholds_said
from analytics.wording import number_gpu_h
from gpuledger import listing
from store.database import Database
from store.inbox import Inbox
from tests.gpuledger.said import refused, said

LISTS = ("jobs", "findings", "recommend", "nodes")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("commands")
    assert said("demo", "--nodes", 2, "--gpus", 2, "--days", 2, "--data", folder, "--no-serve").code == 0
    return folder


def told(data: Path, *arguments: object) -> Any:
    found = said(*arguments, "--json", "--data", data)
    assert found.code == 0
    return json.loads(found.out)


@pytest.mark.parametrize("command", LISTS)
def test_a_list_is_text_json_and_csv(data: Path, command: str) -> None:
    items = told(data, command)["items"]
    table = said(command, "--csv", "--data", data)
    assert (table.code, table.err) == (0, "")
    rows = list(csv.DictReader(io.StringIO(table.out)))
    if command != "recommend":  # 5 finished runs of a family need more than two days of two nodes
        assert items
    assert len(rows) >= len(items)  # a file holds all of them, a list its first page
    text = said(command, "--data", data)
    assert text.code == 0
    for item in items[:5]:
        assert str(item.get("job_id") or item.get("name")) in text.out


def test_a_file_has_every_row_and_what_is_left_out_is_said(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "LISTED", 3)
    monkeypatch.setattr(listing, "MAX_LIMIT", 2)  # so that the list is asked for in several pages
    every = told(data, "jobs", "--limit", 5000)["items"]
    assert len({row["run_key"] for row in every}) == len(every) > 4
    whole = said("jobs", "--csv", "--data", data)
    assert (len(list(csv.DictReader(io.StringIO(whole.out)))), whole.err) == (len(every), "")
    more = "More rows follow; --limit prints more of them.\n"
    for form in ((), ("--json",), ("--csv",)):
        part = said("jobs", "--limit", 2, *form, "--data", data)
        assert part.err == more
        assert every[0]["job_id"] in part.out
        assert every[2]["job_id"] not in part.out
    assert said("jobs", "--data", data).err == more


def test_unrounded_values_are_in_json_and_csv_alike(data: Path) -> None:
    items = {item["job_id"]: item for item in told(data, "jobs", "--limit", 1000)["items"]}
    rows = csv.DictReader(io.StringIO(said("jobs", "--limit", 1000, "--csv", "--data", data).out))
    compared = 0
    for row in rows:
        for name in ("gpu_h", "idle_gpu_h", "unknown_gpu_h"):
            assert float(row[name]) == items[row["job_id"]][name]
            compared += 1
    assert compared == 3 * len(items)


def test_a_job_is_shown_like_seff(data: Path) -> None:
    first = told(data, "jobs", "--limit", 1)["items"][0]
    text = said("job", first["job_id"], "--data", data).out
    facts = dict(line.split(":", 1) for line in text.partition("\n\n")[0].splitlines())
    assert facts["Job"].split()[0] == first["job_id"]
    assert facts["GPU-hours"].split() == [
        *(number_gpu_h(first["gpu_h"]), "held,", number_gpu_h(first["idle_gpu_h"]), "idle"),
    ]
    one = told(data, "job", first["job_id"])
    assert (one["gpu_h"], one["idle_gpu_h"]) == (first["gpu_h"], first["idle_gpu_h"])
    every = told(data, "job", first["job_id"], "--all")
    assert [run["run_key"] for run in every] == one["runs"]


def test_without_an_id_the_jobs_environment_says_which(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = told(data, "jobs", "--limit", 1)["items"][0]
    monkeypatch.setenv("SLURM_JOB_ID", first["job_id_raw"])
    assert told(data, "job")["job_id"] == first["job_id"]
    monkeypatch.delenv("SLURM_JOB_ID")
    assert refused("job", "--data", data).endswith(f"name one: `gpuledger job JOBID --data {data}`.")


def test_a_finding_is_explained_with_what_it_rests_on(data: Path) -> None:
    finding = told(data, "findings", "--limit", 1)["items"][0]
    text = said("explain", finding["id"], "--data", data).out
    assert text.startswith(finding["title"])
    pairs = [*numbers_said(finding["numbers"], "UTC"), *thresholds_said(finding["thresholds"])]
    for name, value in pairs:
        assert f"  {name:<{WIDTH}}  {value}\n" in text
    assert finding["fix"] in text
    assert told(data, "explain", finding["id"])["numbers"] == finding["numbers"]


def test_filters_narrow_what_a_command_says(data: Path) -> None:
    everybody = told(data, "jobs")
    user = everybody["items"][0]["user"]
    mine = told(data, "jobs", "--user", user)
    assert {item["user"] for item in mine["items"]} == {user}
    assert mine["total"]["gpu_h"] < everybody["total"]["gpu_h"]
    assert refused("jobs", "--user", "nobody-x", "--data", data).startswith("No user nobody-x is known here; known are")


def test_the_report_of_a_scope_is_written_where_it_is_asked_for(data: Path, tmp_path: Path) -> None:
    user = told(data, "jobs", "--limit", 1)["items"][0]["user"]
    page = tmp_path / "report.html"
    assert said("report", "--scope", f"user:{user}", "-o", page, "--data", data).out == f"{page} written.\n"
    html = page.read_text()
    assert html.lower().startswith("<!doctype html>")
    assert "http://" not in html.replace("http://127.0.0.1", "").replace("http://www.w3.org", "")
    text = said("report", "--scope", f"user:{user}", "--data", data).out
    assert f"GPUs of {user}" in text
    assert "Synthetic cluster: none of this happened." in text
    assert max(len(line) for line in text.splitlines() if not line.startswith(" ")) <= 160
    missing = tmp_path / "none" / "report.html"
    assert refused("report", "-o", missing, "--data", data) == (
        f"{missing} cannot be written (No such file or directory); name another file."
    )


@pytest.mark.parametrize("command", ["report", "jobs", "findings", "recommend", "job 1", "explain 1"])
def test_a_store_that_is_being_filled_is_said_beside_its_answers(tmp_path: Path, command: str) -> None:
    (tmp_path / "demo").mkdir()
    with Database.open(tmp_path / "demo", synthetic=True):
        pass
    Inbox(tmp_path / "demo" / "inbox").close()
    (tmp_path / "demo" / "inbox" / "waits").write_bytes(bytes(9 << 20))
    found = said(*command.split(), "--data", tmp_path)
    assert found.err.startswith("Still loading: 9.0 MiB to be read. Figures change until then.\n")


def test_json_says_that_figures_change_yet(data: Path) -> None:
    assert told(data, "jobs")["loading"] is None
