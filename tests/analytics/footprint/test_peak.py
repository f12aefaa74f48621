"""The most GPUs in use at once, within any five minutes."""

from typing import Any

import pytest

from tests.factories.scenes import Phase, Scene, busy, idle


def test_gpus_that_work_in_turn_are_in_use_one_at_a_time(scene: Scene, prints: Any) -> None:
    job = scene.run([busy(30), idle(90)], [idle(60), busy(30), idle(30)])
    prints.make(scene)
    assert prints.run(job)["gpus_peak"] == 1
    assert prints.run(job)["gpus_active"] == 2


def test_gpus_that_take_turns_within_minutes_are_both_needed(scene: Scene, prints: Any) -> None:
    turns = [phase for _ in range(15) for phase in (busy(2), idle(2))]
    job = scene.run(turns, [idle(2), *turns[:-1]])
    prints.make(scene)
    assert prints.run(job)["gpus_peak"] == 2


@pytest.mark.parametrize(("seconds", "peak"), [(9.9, 1), (10.1, 2)])
def test_ten_seconds_are_use(scene: Scene, prints: Any, seconds: float, peak: int) -> None:
    """Twice within half an hour, so that it is no blip."""
    short = Phase(minutes=0.5, util_pct=50.0, below1_ratio=1 - seconds / 30)
    job = scene.run([busy(60)], [idle(20), short, idle(10), short, idle(29)])
    prints.make(scene)
    assert prints.run(job)["gpus_peak"] == peak


def test_a_blip_on_every_gpu_is_no_use(scene: Scene, prints: Any) -> None:
    """nvidia-smi at the start touches all of them."""
    touch = Phase(minutes=0.5, util_pct=5.0, below1_ratio=0.5)
    job = scene.run([touch, idle(40), busy(60)], [touch, idle(100)])
    prints.make(scene)
    assert prints.run(job)["gpus_peak"] == 1
