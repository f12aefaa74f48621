"""Leading, trailing and longest idle stretches; blips; gaps."""

from typing import Any

import pytest

from tests.factories.ledger import MINUTE
from tests.factories.scenes import Phase, Scene, blind, busy, gap, idle


def blip(seconds: float) -> Phase:
    """One row of 30 s in which the GPU worked for less."""
    return Phase(minutes=0.5, util_pct=40.0, below1_ratio=1 - seconds / 30)


def minutes(row: dict[str, Any], *names: str) -> list[float | None]:
    return [None if row[f"{name}_ms"] is None else row[f"{name}_ms"] / MINUTE for name in names]


def test_leading_middle_and_trailing(scene: Scene, prints: Any) -> None:
    job = scene.run([idle(10), busy(30), idle(25, held=True), busy(5), idle(20)])
    prints.make(scene)
    assert minutes(prints.gpu(job), "leading_idle", "longest_idle", "trailing_idle") == [10, 25, 20]
    assert prints.gpu(job)["idle_stretches"] == 3
    assert minutes(prints.run(job), "leading_idle", "trailing_idle") == [10, 20]
    first, last = prints.gpu(job)["first_active_ms"], prints.gpu(job)["last_active_ms"]
    assert (last - first) / MINUTE == 60


def test_the_run_is_idle_only_while_all_of_its_gpus_are(scene: Scene, prints: Any) -> None:
    job = scene.run([idle(10), busy(50)], [idle(30), busy(10), idle(20)], [idle(60)])
    prints.make(scene)
    assert minutes(prints.run(job), "leading_idle", "trailing_idle") == [10, 0]


def test_gpus_of_several_nodes_end_together(scene: Scene, prints: Any) -> None:
    job = scene.run([busy(40), idle(20)], [busy(45), idle(15)], nodes=2)
    prints.make(scene)
    assert minutes(prints.run(job), "trailing_idle") == [15]


@pytest.mark.parametrize(("seconds", "trailing"), [(29, 70.5), (30, 0)])
def test_a_lone_blip_neither_ends_a_stretch_nor_counts_as_use(
    scene: Scene, prints: Any, seconds: float, trailing: float
) -> None:
    """Context tear-down at the very end, 35 minutes after everything else."""
    job = scene.run([busy(20), idle(70), blip(seconds)])
    prints.make(scene)
    assert minutes(prints.run(job), "trailing_idle") == [trailing]


@pytest.mark.parametrize(("apart", "trailing"), [(30, 30), (31, 62.5)])
def test_a_blip_is_alone_where_all_else_is_half_an_hour_away(
    scene: Scene, prints: Any, apart: float, trailing: float
) -> None:
    job = scene.run([busy(20), idle(apart), blip(5), idle(apart)])
    prints.make(scene)
    assert minutes(prints.run(job), "trailing_idle") == [trailing]


def test_two_blips_near_each_other_are_work(scene: Scene, prints: Any) -> None:
    job = scene.run([idle(60), blip(5), idle(10), blip(5), idle(60)])
    prints.make(scene)
    assert minutes(prints.run(job), "leading_idle", "trailing_idle") == [60, 60]
    assert prints.run(job)["gpus_active"] == 1


def test_only_a_blip_is_a_gpu_never_active(scene: Scene, prints: Any) -> None:
    job = scene.run([idle(60), blip(5), idle(60)])
    prints.make(scene)
    assert prints.run(job)["gpus_active"] == 0
    assert minutes(prints.gpu(job), "longest_idle") == [120.5]


@pytest.mark.parametrize(("hole", "trailing"), [(1.0, 31.0), (1.5, 20.0)])
def test_a_gap_ends_a_stretch(scene: Scene, prints: Any, hole: float, trailing: float) -> None:
    """A minute is no gap; more is, and nobody is called idle over it."""
    job = scene.run([busy(30), idle(10), gap(hole), idle(20)])
    prints.make(scene)
    assert minutes(prints.run(job), "trailing_idle") == [trailing]


def test_unknown_readings_end_a_stretch_too(scene: Scene, prints: Any) -> None:
    job = scene.run([busy(30), idle(10), blind(5), idle(20)])
    prints.make(scene)
    assert minutes(prints.run(job), "trailing_idle") == [20]


def test_recent_idle_while_it_runs(scene: Scene, prints: Any) -> None:
    job = scene.run([busy(30), idle(90)], [busy(10), idle(110)], running=True)
    prints.make(scene)
    assert minutes(prints.run(job), "recent_idle", "trailing_idle") == [90, None]
    assert not prints.run(job)["finished"]


def test_a_gpu_gone_blind_makes_recent_idle_unknown(scene: Scene, prints: Any) -> None:
    job = scene.run([idle(120)], [idle(100), blind(20)], running=True)
    prints.make(scene)
    assert minutes(prints.run(job), "recent_idle") == [None]
