"""What the benchmark of the tiers' sizes prints, and that its sums belong together."""

import json

import pytest

from benchmarks.sizing import KEPT_DAYS, TIERS, main
from store.settings import StoreSettings


def test_it_prints_every_figure(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--json", "--quick", "--nodes", "1"])
    found = json.loads(capsys.readouterr().out)
    assert list(found) == ["name", "machine", "sizes", "figures", "peers"]
    figures = found["figures"]
    assert {*TIERS, "raw_10s", "raw_1s", "minutes"} == KEPT_DAYS.keys()
    for tier, days in KEPT_DAYS.items():
        a_day = figures[f"{tier}_bytes_per_gpu_day"]
        assert a_day > 0
        assert figures[f"{tier}_mib_kept_per_gpu"] == pytest.approx(a_day * days / 2**20, abs=0.01)
    assert figures["raw_1s_bytes_per_gpu_day"] > figures["raw_10s_bytes_per_gpu_day"]


def test_what_is_kept_is_what_the_settings_keep() -> None:
    settings = StoreSettings()
    kept = (KEPT_DAYS["raw_10s"], KEPT_DAYS["minutes"], KEPT_DAYS["hours"])
    assert kept == (settings.raw_days, settings.minute_days, settings.hour_days)
