"""The generated telemetry: the same for a seed, what a driver could say, and the same readings at either resolution."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from benchmarks.telemetry import CATALOGUE, EXACT, Fleet, Plan, plan, rows
from store.catalog import BY_NAME
from store.columns import ARROW_TYPE

HOUR_MS = 3_600_000
FROM_MS = 1_790_035_200_000
FLEET = Fleet(nodes=18, gpus=4, from_ms=FROM_MS, to_ms=FROM_MS + 12 * HOUR_MS, interval_ms=10_000)


@pytest.fixture(scope="module")
def planned() -> Plan:
    return plan(FLEET)


@pytest.fixture(scope="module")
def node(planned: Plan) -> pa.Table:
    return rows(planned, 1)


def test_the_seed_decides_everything(planned: Plan, node: pa.Table) -> None:
    assert plan(FLEET) == planned
    assert rows(planned, 1) == node
    other = plan(Fleet(nodes=18, gpus=4, from_ms=FROM_MS, to_ms=FLEET.to_ms, seed=8))
    assert rows(other, 1) != node


def test_values_are_integers_that_the_catalogue_allows(node: pa.Table) -> None:
    assert len(CATALOGUE) == len(EXACT) == 14
    assert not any(node[name].null_count for name in node.column_names if name != "run")
    for name in CATALOGUE:
        metric = BY_NAME[name]
        assert node.schema.field(name).type == ARROW_TYPE[metric.dtype]
        least, most = (value / metric.per_unit for value in pc.min_max(node[name]).as_py().values())
        assert metric.low <= least <= most <= metric.high
    assert pc.max(node["util_pct"]).as_py() > 500
    assert 500 < pc.max(node["power_w"]).as_py() <= 7000


def test_rows_are_sorted_and_stand_for_the_time_since_the_row_before(node: pa.Table) -> None:
    expected = FLEET.gpus * FLEET.readings
    assert 0.998 * expected < node.num_rows < expected
    for gpu in range(FLEET.gpus):
        of_gpu = node.filter(pc.equal(node["gpu"], gpu))
        ts_ms, span_ms = of_gpu["ts_ms"].to_numpy(), of_gpu["span_ms"].to_numpy()
        assert np.array_equal(np.diff(ts_ms, prepend=FROM_MS).clip(max=25_000), span_ms)
        assert ts_ms[-1] <= FLEET.to_ms
    assert pc.all(pc.equal(node["node"], 1)).as_py()
    assert node["gpu"].to_pylist() == sorted(node["gpu"].to_pylist())


def test_a_run_has_the_rows_of_the_gpus_it_holds(planned: Plan) -> None:
    sizes = [run.gpus for run in planned.runs]
    assert min(sizes) == 1
    assert max(sizes) >= 32
    assert planned.holds.num_rows == sum(sizes)
    assert any(run.end_ms is None for run in planned.runs)
    assert {run.activity for run in planned.runs} == {"steady", "bursty", "idle", "ramp"}
    found = {(row["run"], row["node"], row["gpu"]) for n in range(FLEET.nodes) for row in _runs_in(rows(planned, n))}
    long = [
        (hold["run"], hold["node"], hold["gpu"])
        for hold in planned.holds.to_pylist()
        if (hold["end_ms"] or FLEET.to_ms) - hold["start_ms"] >= 60_000
    ]
    assert found >= set(long)
    assert {run for run, _, _ in found} <= set(range(len(planned.runs)))


def _runs_in(node: pa.Table) -> list[dict[str, int]]:
    held = node.filter(pc.is_valid(node["run"]))
    grouped: list[dict[str, int]] = held.group_by(["run", "node", "gpu"]).aggregate([("ts_ms", "min")]).to_pylist()
    return grouped


def test_nobody_holds_a_gpu_twice_at_once(planned: Plan) -> None:
    for held in planned.held(3):
        ends = [end_ms for _, _, end_ms in held]
        starts = [start_ms for _, start_ms, _ in held]
        assert all(end <= start for end, start in zip(ends, starts[1:], strict=False))


def test_both_resolutions_are_the_same_readings(planned: Plan, node: pa.Table) -> None:
    exact = rows(planned, 1, EXACT)
    for name in ("ts_ms", "span_ms", "gpu", "run", "util_pct", "mem_used_mib"):
        assert exact[name] == node[name]
    watts, milliwatts = node["power_w"].to_numpy() / 10, exact["power_mw"].to_numpy() / 1000
    assert np.abs(watts - milliwatts).max() <= 0.05 + 1e-9
    # Rounded differences of a counter add up to the counter: nothing drifts.
    of_gpu = exact["gpu"].to_numpy() == 2
    joules = node["energy_j"].to_numpy()[of_gpu].cumsum()
    millijoules = exact["energy_mj"].to_numpy()[of_gpu].cumsum(dtype=np.int64)
    assert np.array_equal(joules, millijoules // 1000)


def test_readings_of_a_node_come_late_together() -> None:
    late = Fleet(nodes=1, gpus=2, from_ms=FROM_MS, to_ms=FROM_MS + HOUR_MS, interval_ms=1000, jitter_ms=3)
    made = rows(plan(late), 0)
    offsets = made["ts_ms"].to_numpy() % 1000
    assert set(offsets) == {0, 1, 2, 3}
    ends = [set(made.filter(pc.equal(made["gpu"], gpu))["ts_ms"].to_pylist()) for gpu in (0, 1)]
    assert len(ends[0] & ends[1]) > 3590
