"""What the benchmark of restarts prints, not how fast they were."""

import json

import pytest

from benchmarks.restart.__main__ import QUICK, main


def test_it_prints_every_figure(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--json", "--quick"])
    found = json.loads(capsys.readouterr().out)
    assert list(found) == ["name", "machine", "sizes", "figures", "peers"]
    figures = found["figures"]
    assert figures["kills"] == QUICK.kills
    assert QUICK.log_mib <= figures["log_mib"] < 2 * QUICK.log_mib
    assert QUICK.inbox_mib <= figures["inbox_mib"] < 2 * QUICK.inbox_mib
    assert figures["sealed_files"] == QUICK.days - 1  # the newest hour stays hot
    assert 0 < figures["reopen_ms"] <= figures["reopen_max_ms"]
    assert 0 < figures["healthz_ms"] <= figures["healthz_max_ms"]
    assert figures["empty_healthz_cpu_ms"] > 0
