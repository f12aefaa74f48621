"""Whether the energy counter says that a GPU idled while nobody looked."""

from typing import Any

import pytest

from tests.factories.ledger import MINUTE
from tests.factories.scenes import IDLE_W, Scene, blind, busy, gap, idle


@pytest.mark.parametrize(
    ("power_w", "closed"),
    [(IDLE_W, True), (IDLE_W * 1.09, True), (IDLE_W * 1.2, False), (IDLE_W * 0.8, False), (400, False)],
)
def test_the_row_after_a_gap_tells_of_the_gap(scene: Scene, prints: Any, power_w: float, closed: bool) -> None:
    job = scene.run([idle(30), gap(10, power_w), idle(30)])
    prints.make(scene)
    assert prints.gpu(job)["gaps_closed"] is closed
    assert prints.gpu(job)["longest_gap_ms"] == 10 * MINUTE


def test_without_energy_after_the_gap_nothing_is_said(scene: Scene, prints: Any) -> None:
    """An agent that was started anew has no counter to compare with."""
    job = scene.run([idle(30), gap(10), idle(0.5, energy_j=None), idle(30)])
    prints.make(scene)
    assert prints.gpu(job)["gaps_closed"] is None


@pytest.mark.parametrize(("power_w", "closed"), [(IDLE_W, True), (400.0, False)])
def test_rows_without_utilization_still_have_energy(scene: Scene, prints: Any, power_w: float, closed: bool) -> None:
    job = scene.run([idle(30), blind(10, power_w), idle(30)])
    prints.make(scene)
    assert prints.gpu(job)["gaps_closed"] is closed


def test_a_minute_is_no_gap(scene: Scene, prints: Any) -> None:
    job = scene.run([idle(30), gap(1), idle(30)])
    prints.make(scene)
    assert prints.gpu(job)["gaps_closed"] is True


@pytest.mark.parametrize("phases", [[gap(5, IDLE_W), idle(60)], [idle(60), gap(5, IDLE_W)], [gap(60)]])
def test_the_edges_of_a_run_are_gaps_as_well(scene: Scene, prints: Any, phases: list[Any]) -> None:
    job = scene.run(phases, [busy(65)])
    prints.make(scene)
    assert prints.gpu(job)["longest_gap_ms"] >= 5 * MINUTE


def test_after_the_last_row_of_a_finished_run_nothing_can_be_said(scene: Scene, prints: Any) -> None:
    job = scene.run([idle(60), gap(5, IDLE_W)])
    prints.make(scene)
    assert prints.gpu(job)["gaps_closed"] is None


def test_a_run_that_lasts_has_no_last_gap_yet(scene: Scene, prints: Any) -> None:
    """Segments arrive every minute: what is not here yet is not missing."""
    job = scene.run([idle(60), gap(5)], running=True)
    prints.make(scene)
    assert prints.gpu(job)["gaps_closed"] is True
    assert prints.gpu(job)["longest_gap_ms"] == 0
