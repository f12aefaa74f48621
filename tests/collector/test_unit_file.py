"""The systemd unit fits the daemon: what systemd itself cannot check."""

from pathlib import Path

from collector import runner

UNIT = Path(__file__).parents[2] / "deploy" / "systemd" / "gpuledger-collect.service"


def settings():
    lines = [line for line in UNIT.read_text(encoding="utf-8").splitlines() if "=" in line and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)


def test_systemd_is_told_when_it_is_ready_and_waits_for_the_flush():
    unit = settings()
    assert unit["Type"] == "notify"
    assert " collect " in unit["ExecStart"]
    assert (
        int(unit["TimeoutStopSec"]) > runner._LAST_TRY_S + 10
    )  # a last reading and a closing that both wait for the driver


def test_nothing_hides_the_gpus_or_the_processes():
    assert (
        not {"PrivateDevices", "DevicePolicy", "DeviceAllow", "ProtectClock", "ProtectProc", "ProcSubset"}
        & settings().keys()
    )
