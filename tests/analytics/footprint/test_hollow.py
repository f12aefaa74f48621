"""Time in which a GPU reads as busy and does next to nothing."""

from typing import Any

import pytest

from tests.factories.ledger import MINUTE
from tests.factories.scenes import Phase, Scene, busy, idle


def counted(minutes: float, sm: float, dram: float, pct: float = 100.0) -> Phase:
    return busy(minutes, pct, sm_active_pct=sm, dram_active_pct=dram)


def plain(minutes: float, power_w: float, mem_util: float = 0.0) -> Phase:
    return busy(minutes, 100.0, power_w=power_w, mem_util_pct=mem_util, processes=1)


REST = idle(5, held=True, power_w=110.0, processes=1)


@pytest.mark.parametrize(
    ("phase", "minutes"),
    [
        (counted(20, sm=2, dram=0.1), 20),
        (counted(20, sm=10, dram=0.1), 0),
        (counted(20, sm=8, dram=40), 0),  # bound by memory
        (counted(20, sm=2, dram=0.1, pct=89), 0),  # does not look busy
    ],
)
def test_by_counters(scene: Scene, prints: Any, phase: Phase, minutes: float) -> None:
    job = scene.run([counted(30, sm=60, dram=30), phase])
    prints.make(scene)
    assert prints.gpu(job)["hollow_ms"] == prints.gpu(job)["hollow_longest_ms"] == minutes * MINUTE
    assert prints.gpu(job)["hollow_unsaid_ms"] is None


@pytest.mark.parametrize(
    ("phase", "minutes"),
    [
        (plain(20, 150), 20),  # a tenth of the way from 110 W to 700 W is 169 W
        (plain(20, 400), 0),  # computes out of registers: no memory traffic, but power
        (plain(20, 150, mem_util=5), 0),
    ],
)
def test_without_counters_by_power(scene: Scene, prints: Any, phase: Phase, minutes: float) -> None:
    job = scene.run([REST, plain(30, 500, mem_util=30), phase])
    prints.make(scene)
    row = prints.gpu(job)
    assert row["hollow_ms"] == minutes * MINUTE
    assert row["hollow_sm_pct"] is None
    assert row["rest_power_w"] == pytest.approx(110)


def test_without_counters_or_power_at_rest_nothing_is_said(scene: Scene, prints: Any) -> None:
    job = scene.run([plain(20, 150), plain(20, 500, mem_util=30)])
    prints.make(scene)
    assert prints.gpu(job)["hollow_ms"] == 0
    assert prints.gpu(job)["hollow_unsaid_ms"] == 20 * MINUTE


def test_the_row_in_which_a_context_came_says_nothing_about_rest(scene: Scene, prints: Any) -> None:
    """Most of it was without one: a GPU at 150 W would look like a busy one beside that."""
    job = scene.run([idle(0.5, held=True, power_w=60.0, processes=1), plain(30, 500, mem_util=30), plain(20, 150)])
    prints.make(scene)
    assert prints.gpu(job)["rest_power_w"] is None
    assert prints.gpu(job)["hollow_unsaid_ms"] == 20 * MINUTE


def test_video_engines_at_work_are_no_appearance(scene: Scene, prints: Any) -> None:
    """Decoding keeps few processors busy, whether a kernel runs beside it or not."""
    beside = busy(20, 100.0, sm_active_pct=2, dram_active_pct=1, dec_pct=60)
    alone = busy(20, 4.0, sm_active_pct=2, dram_active_pct=1, dec_pct=97)
    job = scene.run([beside, alone])
    prints.make(scene)
    assert prints.gpu(job)["hollow_ms"] == 0
    assert prints.gpu(job)["engine_p95_pct"] == 97


def test_work_in_between_ends_a_stretch_and_a_row_does_not(scene: Scene, prints: Any) -> None:
    spin, work = counted(10, sm=2, dram=0), counted(5, sm=60, dram=20)
    blink = counted(0.5, sm=60, dram=20)
    job = scene.run([spin, work, spin, blink, spin])
    prints.make(scene)
    assert prints.gpu(job)["hollow_longest_ms"] == 20 * MINUTE
    assert prints.gpu(job)["hollow_ms"] == 30 * MINUTE


LINKED: dict[str, Any] = {"pcie_mib_s": 60_000, "nvlink_mib_s": 400_000}


def waiting(minutes: float = 20, sm: float = 20, tensor: float = 0.2, link_mib: float | None = 1.0) -> Phase:
    """A collective that spins: kernels run on a fifth of the processors, and nothing is computed or moved."""
    links = dict.fromkeys(("pcie_rx_mib", "pcie_tx_mib", "nvlink_rx_mib", "nvlink_tx_mib"), link_mib)
    return busy(minutes, 100.0, sm_active_pct=sm, tensor_active_pct=tensor, dram_active_pct=1, **links)


@pytest.mark.parametrize(
    ("phase", "minutes"),
    [
        (waiting(), 20),
        (waiting(sm=25), 0),
        (waiting(tensor=1), 0),
        (waiting(link_mib=80_000), 0),  # of 27.6 million MiB that the links carry in a row: over 1 %
        (waiting(link_mib=None), 0),  # not known: nobody is called hollow for it
    ],
)
def test_several_gpus_that_wait_for_each_other(scene: Scene, prints: Any, phase: Phase, minutes: float) -> None:
    work = counted(30, sm=60, dram=30)
    job = scene.run([work, phase], [work, phase], device=LINKED)
    prints.make(scene)
    assert [prints.gpu(job, index)["hollow_ms"] for index in (0, 1)] == [minutes * MINUTE] * 2


def test_one_gpu_waits_for_no_other(scene: Scene, prints: Any) -> None:
    job = scene.run([counted(30, sm=60, dram=30), waiting()], device=LINKED)
    prints.make(scene)
    assert prints.gpu(job)["hollow_ms"] == 0


def test_links_of_which_nothing_is_known_tell_nothing(scene: Scene, prints: Any) -> None:
    job = scene.run([waiting()], [waiting()])
    prints.make(scene)
    assert [prints.gpu(job, index)["hollow_ms"] for index in (0, 1)] == [0, 0]
