"""The doctor: each thing that works or does not, with its fix."""

import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.collector.slurmd_program import Slurmd
from tests.e2e.ledger import write_config
from tests.fakenvml import Fake
from tests.gpuledger.said import said


@pytest.fixture
def examined(tmp_path: Path) -> Callable[..., tuple[object, dict[str, list[dict[str, Any]]]]]:
    """Runs the doctor on a healthy node without a hub; returns its code and its lines by name."""

    def run(**collector: object) -> tuple[object, dict[str, list[dict[str, Any]]]]:
        chosen = {"slurm": "no", "spool_dir": str(tmp_path / "spool"), "hub": "http://127.0.0.1:9"} | collector
        config = write_config(tmp_path / "config.toml", collector=chosen, hub={"data": str(tmp_path / "data")})
        found = said("doctor", "--json", "--config", config)
        lines: dict[str, list[dict[str, Any]]] = {}
        for check in json.loads(found.out):
            lines.setdefault(check["name"], []).append(check)
        return found.code, lines

    return run


Examined = Callable[..., tuple[object, dict[str, list[dict[str, Any]]]]]


def test_gpus_and_their_gaps_are_listed(fake_nvml: Fake, examined: Examined) -> None:
    fake_nvml.write("count = 2\ngpu.1.return.nvmlDeviceGetPowerUsage = NOT_SUPPORTED")
    _, lines = examined()
    assert lines["driver"][0]["found"].endswith(", 2 GPUs")
    assert [line["found"].partition(":")[0] for line in lines["device"]] == ["GPU 0", "GPU 1"]
    good, gap = lines["readings"]
    assert (good["state"], gap["state"]) == ("good", "note")
    assert "GPU 1 lacks Power (" in gap["found"]
    found = 'no Slurm here, programs are counted as sessions, not jobs: collector.slurm = "no"'
    assert lines["slurm"][0]["found"] == found


def test_on_a_slurm_node_the_places_in_slurm_s_list_are_shown(
    fake_nvml: Fake, examined: Examined, tmp_path: Path
) -> None:
    slurmd = Slurmd(tmp_path / "slurmd")
    slurmd.says(("/dev/nvidia[73,71]", 2))
    fake_nvml.write("count = 3\ngpu.0.minor = 71\ngpu.1.minor = 72\ngpu.2.minor = 73")
    node = {"slurm": "yes", "slurmd": str(slurmd.program), "slurm_conf": str(slurmd.config)}
    node["dropfile_dir"] = str(tmp_path / "jobs")
    _, lines = examined(**node)
    kind, order, unplaced = lines["slurm"][:3]
    assert (kind["state"], kind["found"]) == ("good", 'a Slurm node: collector.slurm = "yes"')
    assert order["found"] == "places in Slurm's list, by slurmd -G: 0 is GPU 2, 1 is GPU 0"
    assert (unplaced["state"], unplaced["found"]) == (
        "bad",
        "GPU 1 has no known place in Slurm's list: whose it is will be unknown",
    )
    slurmd.program.unlink()
    _, lines = examined(**node)
    assert (lines["slurm"][1]["state"], [line["state"] for line in lines["slurm"][2:5]]) == ("note", ["bad"] * 3)
    fake_nvml.write("count = 2")
    _, lines = examined(**node)
    assert lines["slurm"][2]["found"].endswith("bus agree on: 0 is GPU 0, 1 is GPU 1")


def test_on_a_slurm_node_it_is_said_what_tells_whose_a_gpu_is(
    fake_nvml: Fake, examined: Examined, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_nvml.write("count = 1")
    slurmd = Slurmd(tmp_path / "slurmd")
    slurmd.says(("/dev/nvidia0", 1))
    node = {"slurm": "yes", "slurmd": str(slurmd.program), "slurm_conf": str(slurmd.config)}
    node |= {"dropfile_dir": str(tmp_path / "jobs"), "gpustat_dir": str(tmp_path / "gpustat")}
    with monkeypatch.context() as patched:
        patched.setattr("gpuledger.doctor_slurm._OF_ANOTHER_USER", tmp_path / "unreadable")
        _, lines = examined(**node)
    assert [line["state"] for line in lines["slurm"][1:4]] == ["good", "note", "note"]
    assert "no Prolog of ours has run here" in lines["slurm"][2]["found"]
    (tmp_path / "jobs").mkdir()
    (tmp_path / "gpustat").mkdir()
    _, lines = examined(**node)
    assert [line["found"] for line in lines["slurm"][2:4]] == [
        f"drop-files of Prolog and Epilog in {tmp_path / 'jobs'}",
        f"the site's own files in {tmp_path / 'gpustat'}",
    ]


def test_a_hub_that_does_not_answer_is_bad_and_has_a_fix(fake_nvml: Fake, examined: Examined, tmp_path: Path) -> None:
    for name in ("spool", "data"):
        (tmp_path / name).mkdir()
    code, lines = examined()
    (hub,) = lines["hub"]
    assert (code, hub["state"]) == (1, "bad")
    assert hub["fix"] == "start it with `gpuledger serve`, or set collector.hub"
    assert [line["state"] for line in (*lines["spool"], *lines["data"])] == ["good", "good"]


def test_a_hub_that_is_no_http_server_is_bad(
    fake_nvml: Fake, examined: Examined, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpuledger.doctor_hub.HUB_TIMEOUT_S", 0.2)  # it waits that long for nothing
    with socket.create_server(("127.0.0.1", 0)) as door:
        _, lines = examined(hub=f"http://127.0.0.1:{door.getsockname()[1]}")
    assert lines["hub"][0]["state"] == "bad"


@pytest.mark.parametrize("address", ["hub:8050", "http://", "http://hub:port"])
def test_an_address_that_is_none_is_bad(fake_nvml: Fake, examined: Examined, address: str) -> None:
    code, lines = examined(hub=address)
    assert (code, lines["hub"][0]["state"]) == (1, "bad")


def test_a_spool_that_cannot_be_written_names_the_key(fake_nvml: Fake, examined: Examined, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    code, lines = examined(spool_dir=str(tmp_path / "file" / "spool"))
    (spool,) = lines["spool"]
    assert (code, spool["state"], spool["fix"]) == (1, "bad", "change collector.spool_dir")


def test_without_a_driver_the_fix_is_told(fake_nvml: Fake, examined: Examined) -> None:
    fake_nvml.write("return.nvmlInit = DRIVER_NOT_LOADED")
    code, lines = examined()
    assert (code, lines["driver"][0]["state"]) == (1, "bad")
    assert lines["driver"][0]["fix"]


def test_a_hub_needs_neither_driver_nor_spool(fake_nvml: Fake, examined: Examined, tmp_path: Path) -> None:
    fake_nvml.write("return.nvmlInit = DRIVER_NOT_LOADED")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "gpuledger.duckdb").touch()
    _, lines = examined()
    assert [line["state"] for line in lines["driver"]] == ["note"]
    assert "a hub does not need" in lines["driver"][0]["found"]
    assert "spool" not in lines
    (tmp_path / "spool").mkdir()
    _, lines = examined()
    assert [line["state"] for line in (*lines["driver"], *lines["spool"])] == ["bad", "good"]
