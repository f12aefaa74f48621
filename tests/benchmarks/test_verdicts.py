"""What the benchmark of the verdicts prints, and that it counts as it says."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.verdicts.__main__ import main

FIGURES = {
    *("precision_min", "recall_min", "per_rule", "false_accusations", "healthy_runs", "causes_right"),
    *("causes_undecided", "backtest_fit", "baselines"),
}
BASELINES = {"zero-mean", "sliding-zero", "low-mean", "user-low", "too-powerful", "flat-20", "any-sample"}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    with pytest.MonkeyPatch.context() as patch:
        printed: list[str] = []
        patch.setattr("builtins.print", printed.append)
        main(["--json", "--quick", "--seed", "2"])
    result: dict[str, Any] = json.loads(printed[0])
    return result


def test_it_prints_every_figure(found: dict[str, Any]) -> None:
    assert list(found) == ["name", "machine", "sizes", "figures", "peers"]
    assert found["sizes"]["seed"] == 2
    assert found["figures"].keys() >= FIGURES
    assert found["figures"]["baselines"].keys() == BASELINES


def test_its_figures_belong_together(found: dict[str, Any]) -> None:
    figures = found["figures"]
    scores = figures["per_rule"].values()
    assert figures["precision_min"] == min(each["precision"] for each in scores if each["precision"] is not None)
    assert figures["recall_min"] == min(each["recall"] for each in scores if each["recall"] is not None)
    assert 0 < figures["healthy_runs"] <= found["sizes"]["runs"]
    shares = [*figures["baselines"].values(), figures["all_rules"]]
    assert all(0 <= share <= 1 for each in shares for share in each.values() if share is not None)


def test_nobody_is_accused_wrongly(found: dict[str, Any]) -> None:
    assert found["figures"]["false_accusations_of"] == []


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[families.no-such]\nwork_s = 1", "no family is called no-such"),
        ("[analytics.rules.idle_tail]\nidle = 1", "unknown field"),
    ],
)
def test_parameters_that_cannot_be_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, sentence: str
) -> None:
    path = tmp_path / "params.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SystemExit, match="2"):
        main(["--params", str(path)])
    assert sentence in capsys.readouterr().err
