"""Time in which all GPUs of a run are idle at once."""

from typing import Any

from tests.factories.ledger import MINUTE
from tests.factories.scenes import Phase, Scene, busy, idle


def test_gpus_that_take_turns_are_never_idle_together(scene: Scene, prints: Any) -> None:
    job = scene.run([busy(30), idle(60)], [idle(30), busy(30), idle(30)], [idle(60), busy(30)])
    prints.make(scene)
    assert prints.run(job)["idle_together_ms"] == 0
    assert all(prints.gpu(job, index)["idle_ms"] == 60 * MINUTE for index in range(3))


def test_what_they_share_counts_wherever_it_lies(scene: Scene, prints: Any) -> None:
    job = scene.run([idle(20), busy(40), idle(20), busy(20)], [idle(10), busy(50), idle(40)])
    prints.make(scene)
    assert prints.run(job)["idle_together_ms"] == (10 + 20) * MINUTE


def test_a_blip_does_not_count_as_use(scene: Scene, prints: Any) -> None:
    touch = Phase(minutes=0.5, util_pct=5.0, below1_ratio=0.5)
    job = scene.run([idle(40), touch, idle(50)])
    prints.make(scene)
    assert prints.run(job)["idle_together_ms"] == 90.5 * MINUTE


def test_a_run_that_always_worked_was_never_idle(scene: Scene, prints: Any) -> None:
    job = scene.run([busy(60)])
    prints.make(scene)
    assert prints.run(job)["idle_together_ms"] == 0
