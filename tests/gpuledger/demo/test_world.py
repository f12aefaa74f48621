"""What happens on the synthetic cluster is possible, and mixed as on a real one."""

import itertools
from collections import Counter, defaultdict

import pytest

from gpuledger.demo.cluster import DAY_S, HOUR_S
from gpuledger.demo.labels import Label
from gpuledger.demo.settings import DemoSettings
from gpuledger.demo.truth import truths
from gpuledger.demo.world import World
from tests.gpuledger.demo.small import END_S, START_S, world


@pytest.fixture(scope="module")
def full():
    return World(DemoSettings(), START_S, START_S + 15 * DAY_S)


@pytest.fixture(scope="module")
def truth(full):
    return truths(full, START_S + 14 * DAY_S)


def test_no_two_runs_share_a_gpu(full):
    by_gpu = defaultdict(list)
    for run in full.runs:
        assert run.start_s < run.end_s
        for place in run.places:
            by_gpu[place].append((run.start_s, run.end_s))
    for spans in by_gpu.values():
        spans.sort()
        assert all(before[1] < after[0] for before, after in itertools.pairwise(spans))


def test_runs_are_placed_as_they_asked_and_after_they_asked(full):
    for run in full.runs:
        request = run.request
        per_node = Counter(node for node, _ in run.places)
        assert set(per_node.values()) == {request.gpus_per_node}
        assert len(per_node) == request.family.nodes
        assert set(per_node) <= set(full.cluster.partitions[request.family.partition].nodes)
        assert run.start_s > run.submit_s >= request.submit_s
        assert run.end_s <= run.start_s + request.limit_s + 60


def test_nothing_runs_on_a_dead_node_or_begins_on_a_lost_gpu(full):
    for span in full.incidents.down:
        assert not [r for r in full.by_node[span.node] if r.start_s < span.end_s and r.end_s > span.start_s]
    for span in full.incidents.lost:
        for run in full.by_node[span.node]:
            if (span.node, span.gpu) in run.places:
                assert not span.start_s <= run.start_s < span.end_s


def test_truth_holds_what_the_allocation_holds():
    for run, line in zip(world().runs, truths(world(), END_S), strict=False):
        assert line.db_index == run.db_index
        assert line.held_gpu_s == (min(run.end_s, END_S) - run.start_s) * len(run.places)
        assert 0 <= line.idle_gpu_s <= line.held_gpu_s


def test_a_third_and_more_of_the_held_hours_are_idle_and_most_runs_are_sound(truth):
    held, idle = sum(line.held_gpu_s for line in truth), sum(line.idle_gpu_s for line in truth)
    assert 0.60 < held / HOUR_S / (128 * 24 * 14) < 0.9
    assert 0.33 < idle / held < 0.42
    assert sum(line.rule is None for line in truth) > 0.7 * len(truth)


def test_every_kind_of_run_occurs(truth):
    found = Counter(line.label for line in truth)
    assert set(found) == set(Label)
    for label in (Label.SOME_UNUSED, Label.SESSION_OPEN, Label.CPU_CODE, Label.UNTOUCHED):
        assert found[label] >= 40


def test_a_family_asks_for_four_gpus_and_uses_one(truth):
    runs = [line for line in truth if line.name.startswith("gnn-traffic") and line.state == "COMPLETED"]
    assert len(runs) >= 25
    assert {(line.gpus, line.gpus_used) for line in runs} == {(4, 1)}


def test_arrays_and_requeued_runs_are_there(full):
    ids = {run.request.job_id for run in full.runs if "_" in run.request.job_id}
    assert len(ids) >= 24
    again = [run for run in full.runs if run.restart]
    firsts = {(run.request.job_id_raw, run.restart): run for run in full.runs}
    assert len(again) >= 5
    for run in again:
        before = firsts[run.request.job_id_raw, run.restart - 1]
        assert before.end_s < run.start_s
        assert before.state in ("REQUEUED", "NODE_FAIL")


@pytest.mark.parametrize(("nodes", "gpus"), [(1, 1), (2, 8), (3, 4), (40, 8)])
def test_any_size_of_cluster_has_work(nodes, gpus):
    sized = World(DemoSettings(nodes=nodes, gpus=gpus, days=7), START_S, START_S + 7 * DAY_S)
    held_s = sum((run.end_s - run.start_s) * len(run.places) for run in sized.runs)
    assert held_s > 0.2 * nodes * gpus * 7 * DAY_S


@pytest.mark.parametrize("wrong", [{"nodes": 0}, {"gpus": 17}, {"days": 0}, {"interval_s": 7}, {"interval_s": 120}])
def test_what_cannot_be_is_refused_with_a_sentence(wrong):
    with pytest.raises(ValueError, match="demo: "):
        DemoSettings(**wrong)
