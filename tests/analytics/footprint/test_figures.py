"""Means, percentiles, energy and CPU efficiency of a run."""

from typing import Any

import pytest

from tests.factories.ledger import HOUR, MINUTE, T0
from tests.factories.scenes import Phase, Scene, blind, busy, gap, idle


def test_states_add_up_to_held_time(scene: Scene, prints: Any) -> None:
    job = scene.run([busy(30), busy(20, 10), idle(15, held=True), idle(5), blind(10), gap(40)])
    prints.make(scene)
    found = prints.gpu(job)
    minutes = {name: found[f"{name}_ms"] / MINUTE for name in ("active", "low", "idle_held", "idle", "unknown")}
    assert minutes == {"active": 30, "low": 20, "idle_held": 15, "idle": 5, "unknown": 50}
    assert found["held_ms"] == 120 * MINUTE
    assert found["covered_ms"] == 70 * MINUTE
    assert found["longest_gap_ms"] == 50 * MINUTE
    assert prints.run(job)["coverage"] == pytest.approx(70 / 120)


def test_agrees_with_the_hour_rollup_to_the_millisecond(scene: Scene, prints: Any) -> None:
    scene.run([busy(30), idle(95)], [idle(125, held=True)], start_ms=T0 + 17 * MINUTE + 123)
    scene.run([gap(10), busy(30, 3), blind(9), idle(60)], nodes=1, start_ms=T0 + 5_001)
    scene.run([busy(90)], running=True)
    prints.make(scene, rolled_up=True)
    columns = ("held_ms", "covered_ms", "active_ms", "low_ms", "idle_held_ms", "idle_ms", "unknown_ms")
    sums = ", ".join(f"sum({column})::BIGINT" for column in columns)
    with prints.db.cursor() as cur:
        hours = cur.tuples(f"SELECT run_key, {sums} FROM gpu_hour GROUP BY run_key ORDER BY run_key")
        runs = cur.tuples(f"SELECT run_key, {', '.join(columns)} FROM footprint_run ORDER BY run_key")
        gpus = cur.tuples(f"SELECT run_key, {sums} FROM footprint_gpu GROUP BY run_key ORDER BY run_key")
    assert runs == hours == gpus


def test_utilization_mean_and_percentiles(scene: Scene, prints: Any) -> None:
    """The mean weighs by time; percentiles are linear between rows."""
    job = scene.run([busy(50, 80), busy(50, 20)])
    prints.make(scene)
    found = prints.gpu(job)
    assert found["util_mean_pct"] == pytest.approx(50)
    assert found["util_p50_pct"] == pytest.approx(50)  # between the 100th and the 101st of 200 rows
    assert found["util_p95_pct"] == 80
    assert found["util_max_pct"] == 80
    assert prints.run(job)["util_mean_pct"] == pytest.approx(50)


def test_the_encoder_counts_as_utilization(scene: Scene, prints: Any) -> None:
    job = scene.run([Phase(minutes=60, util_pct=0.0, more={"enc_pct": 60})])
    prints.make(scene)
    assert prints.gpu(job)["active_ms"] == HOUR
    assert prints.gpu(job)["util_mean_pct"] == 60
    assert prints.gpu(job)["busy_ms"] == HOUR


def test_a_share_below_one_percent_is_not_busy(scene: Scene, prints: Any) -> None:
    job = scene.run([Phase(minutes=60, util_pct=5.0, below1_ratio=0.75)])
    prints.make(scene)
    assert prints.gpu(job)["busy_ms"] == HOUR // 4
    assert prints.gpu(job)["low_ms"] == HOUR


def test_energy_is_the_counters_and_else_estimated_from_power(scene: Scene, prints: Any) -> None:
    counted = scene.run([busy(60)])
    without = scene.run([busy(60, energy_j=None)])
    neither = scene.run([busy(60, energy_j=None, power_w=None)])
    prints.make(scene)
    assert prints.gpu(counted)["energy_j"] == pytest.approx(520 * 3600)
    assert prints.gpu(counted)["energy_estimated"] is False
    assert prints.gpu(without)["energy_j"] == pytest.approx(520 * 3600)
    assert prints.gpu(without)["energy_estimated"] is True
    assert prints.gpu(neither)["energy_j"] is None
    assert prints.gpu(neither)["energy_estimated"] is None


def test_an_impossible_energy_is_refused(scene: Scene, prints: Any) -> None:
    """700 W x 1.25 is the most a row may hold; the counter of this one jumped."""
    job = scene.run([busy(60), Phase(minutes=0.5, util_pct=90.0, more={"energy_j": 27_000}), busy(59.5)])
    prints.make(scene)
    assert prints.gpu(job)["energy_j"] == pytest.approx(520 * 7200)


def test_memory_power_and_imbalance(scene: Scene, prints: Any) -> None:
    job = scene.run([busy(60, 90, mem_mib=60_000)], [busy(60, 30, mem_mib=20_000)])
    prints.make(scene)
    found = prints.run(job)
    assert found["mem_max_ratio"] == pytest.approx(0.75)
    assert found["mem_sum_max_mib"] == 80_000
    assert found["power_mean_ratio"] == pytest.approx((520 + 220) / 1400)
    assert found["spatial_imbalance"] == pytest.approx(1 - 60 / 90)
    assert found["temporal_imbalance"] == 0


def test_brakes_are_counted_and_the_power_cap_is_not(scene: Scene, prints: Any) -> None:
    phases = {0x20: 30, 0x4: 20, 0x40 | 0x8: 7, 0x80 | 0x8 | 0x4: 5, 0x8: 3, 0x1 | 0x2 | 0x10 | 0x100: 60, 0: 1}
    hot = scene.run([busy(minutes, event_reasons=bits) for bits, minutes in phases.items()], [busy(60)])
    prints.make(scene)
    names = ("throttled_ms", "heat_ms", "power_brake_ms", "hardware_ms", "power_cap_ms")
    assert [prints.gpu(hot)[name] for name in names] == [45 * MINUTE, 37 * MINUTE, 5 * MINUTE, 3 * MINUTE, 25 * MINUTE]
    assert [prints.gpu(hot, 1)[name] for name in names[1:]] == [None] * 4


@pytest.mark.parametrize(
    ("state", "cpu_s", "efficiency"),
    [
        ("COMPLETED", 4 * 3600.0, 0.5),
        ("COMPLETED", 0.0, None),  # gathering is off
        ("COMPLETED", 18 * 3600.0, None),  # more than two threads a core: bad accounting
        ("TIMEOUT", 4 * 3600.0, None),  # children of signalled steps are omitted
    ],
)
def test_cpu_efficiency_only_from_what_can_be_trusted(
    scene: Scene, prints: Any, state: str, cpu_s: float, efficiency: float | None
) -> None:
    job = scene.run([busy(60)], state=state, cpu_s=cpu_s)
    prints.make(scene)
    found = prints.run(job)
    assert found["cpu_efficiency"] == efficiency
    assert found["cpu_source"] == ("accounting" if efficiency else None)


@pytest.mark.parametrize(
    ("told", "busy_cores", "efficiency", "source"),
    [
        ({"cores": [6.0]}, 6.0, 0.75, "cgroup"),
        ({"cores": [6.0], "state": "TIMEOUT", "cpu_s": 1.0}, 6.0, 0.75, "cgroup"),
        ({"cores": [6.0], "running": True}, 6.0, 0.75, "cgroup"),
        ({"cores": [6.0], "accounting": False}, 6.0, None, None),  # how many were allocated is not known yet
        ({"cores": [6.0], "cores_minutes": 20, "cpu_s": 2 * 3600.0}, None, 0.25, "accounting"),
        ({"cores": [90.0], "cpu_s": 2 * 3600.0}, None, 0.25, "accounting"),  # more than the threads of 8 cores
        ({"cores": [None], "cpu_s": 2 * 3600.0}, None, 0.25, "accounting"),
    ],
)
def test_the_control_group_is_heard_before_accounting(
    scene: Scene, prints: Any, told: dict[str, Any], busy_cores: float, efficiency: float, source: str
) -> None:
    job = scene.run([busy(60)], **told)
    prints.make(scene)
    found = prints.run(job)
    assert [found[name] for name in ("busy_cores", "cpu_efficiency", "cpu_source")] == [busy_cores, efficiency, source]


@pytest.mark.parametrize(("cores", "busy_cores"), [([3.0, 5.0], 8.0), ([3.0, None], None)])
def test_a_node_that_was_not_read_keeps_the_busy_cores_of_all_unknown(
    scene: Scene, prints: Any, cores: list[float | None], busy_cores: float | None
) -> None:
    job = scene.run([busy(60)], [busy(60)], nodes=2, cores=cores, running=True)
    prints.make(scene)
    assert prints.run(job)["busy_cores"] == busy_cores


def test_counters_of_the_hardware_and_what_went_over_the_links(scene: Scene, prints: Any) -> None:
    links = {"pcie_rx_mib": 300, "pcie_tx_mib": 30, "nvlink_rx_mib": None}
    job = scene.run([busy(30, tensor_active_pct=40, dram_active_pct=10, **links), busy(30, tensor_active_pct=20)])
    prints.make(scene)
    found = prints.gpu(job)
    names = ("tensor_mean_pct", "tensor_p95_pct", "dram_mean_pct", "dram_p95_pct")
    assert [found[name] for name in names] == [30.0, 40.0, 10.0, 10.0]
    assert [found[name] for name in ("pcie_rx_mib", "pcie_tx_mib", "nvlink_rx_mib")] == [60 * 300, 60 * 30, None]


def test_cores_of_a_suspended_job_are_those_of_the_time_it_ran(scene: Scene, prints: Any) -> None:
    job = scene.run([busy(60)], cores=[6.0], suspended_s=1800, elapsed_s=1800, running=True)
    scene.play(prints.db)
    with prints.db.cursor() as cur:
        cur.execute("UPDATE host_minute SET cpu_ms = 0 WHERE minute_ms >= $1", [T0 + 30 * MINUTE])
        cur.execute(
            "INSERT INTO suspension (run_key, ran_s, start_ms) SELECT run_key, 1800, $1 FROM run", [T0 + HOUR // 2]
        )
    prints.renew()
    assert prints.run(job)["busy_cores"] == 6.0


def test_a_gpu_that_was_not_seen_is_not_covered(scene: Scene, prints: Any) -> None:
    """Accounting counts four, the node showed one: one of four is no full evidence."""
    job = scene.run([busy(60)], req_gpus=4, alloc_gpus=4)
    prints.make(scene)
    found = prints.run(job)
    assert (found["gpus"], found["gpus_seen"], found["coverage"]) == (4, 1, 0)
    assert found["held_ms"] == 4 * HOUR
    assert found["unknown_ms"] == 3 * HOUR
    assert found["leading_idle_ms"] is None


def test_a_run_without_any_row_has_a_footprint_that_says_so(scene: Scene, prints: Any) -> None:
    scene.run([busy(60)])
    job = scene.run(length_min=60, req_gpus=2, alloc_gpus=2)
    prints.make(scene)
    found = prints.run(job)
    assert (found["gpus"], found["gpus_seen"], found["gpus_active"]) == (2, 0, 0)
    assert found["unknown_ms"] == found["held_ms"] == 2 * HOUR


def test_rows_that_came_twice_count_once(scene: Scene, prints: Any) -> None:
    scene.run([busy(30), idle(30), busy(30, 7)])
    prints.make(scene)
    with prints.db.cursor() as cur:
        runs = cur.arrow("SELECT * EXCLUDE (judged) FROM footprint_run").to_pylist()
        gpus = cur.arrow("SELECT * FROM footprint_gpu").to_pylist()
        cur.execute("INSERT INTO hot BY NAME SELECT * FROM hot ORDER BY ts_ms DESC")
        cur.execute("INSERT INTO dirty_run (run_key, gen) SELECT run_key, 1 FROM run")
    assert prints.renew() == 1
    with prints.db.cursor() as cur:
        assert cur.arrow("SELECT * EXCLUDE (judged) FROM footprint_run").to_pylist() == runs
        assert cur.arrow("SELECT * FROM footprint_gpu").to_pylist() == gpus


def test_a_mig_instances_energy_is_an_estimate(scene: Scene, prints: Any) -> None:
    job = scene.run([busy(60)], device={"slices": 3, "slices_of": 7})
    prints.make(scene)
    assert prints.gpu(job)["energy_estimated"] is True
