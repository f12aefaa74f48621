"""Segments of the synthetic cluster are what a real agent could have sent."""

import numpy as np
import pytest

from gpuledger.demo.cluster import HOUR_S
from gpuledger.demo.stream import segments
from gpuledger.demo.world import World
from store.catalog import BY_NAME
from store.segment import decode, encode
from tests.gpuledger.demo.small import END_S, SETTINGS, START_S, all_segments, column, valid, world


def test_every_segment_survives_the_wire_and_says_that_it_is_synthetic():
    for segment in all_segments():
        assert decode(encode(segment)) == segment
        assert segment.synthetic


def test_the_same_seed_and_time_give_the_same_bytes_in_any_order():
    again = World(SETTINGS, START_S, START_S + 6 * 86_400)  # a later horizon, and other days first
    wanted = {segment.name: encode(segment) for segment in all_segments()}
    middle = START_S + 20 * HOUR_S
    for start_s, end_s in ((middle, END_S), (START_S, middle)):
        for segment in segments(again, start_s, end_s, 0 if end_s == END_S else None):
            assert encode(segment) == wanted.pop(segment.name)
    assert not wanted


def test_another_seed_gives_another_cluster():
    other = World(type(SETTINGS)(nodes=8, gpus=4, days=3, seed=8), START_S, START_S + 86_400)
    assert [run.start_s for run in other.runs] != [run.start_s for run in world().runs]


@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_every_value_is_within_the_range_of_the_catalogue(name):
    metric = BY_NAME[name]
    for segment in all_segments():
        if name in segment.samples.columns:
            natural = column(segment, name)[valid(segment, name)] / metric.per_unit
            assert segment.samples.columns[name].dtype == metric.dtype
            assert natural.min() >= metric.low
            assert natural.max() <= metric.high


def test_no_two_rows_of_a_gpu_stand_for_the_same_time():
    last: dict[str, int] = {}
    for segment in all_segments():
        ts, span, device = (column(segment, name).astype(np.int64) for name in ("ts_ms", "span_ms", "device"))
        assert span.min() > 0
        for index, gpu in enumerate(segment.devices):
            starts, ends = (ts - span)[device == index], ts[device == index]
            assert (starts[1:] >= ends[:-1]).all()
            assert starts[0] >= max(last.get(gpu.uuid, 0), segment.first_ms)
            last[gpu.uuid] = int(ends[-1])


def test_each_row_lies_within_the_holding_that_it_names():
    for segment in all_segments():
        held, holding, device = valid(segment, "holding"), column(segment, "holding"), column(segment, "device")
        ends, starts = column(segment, "ts_ms"), column(segment, "ts_ms") - column(segment, "span_ms")
        for index, run in enumerate(segment.holdings):
            rows = held & (holding == index)
            assert set(device[rows]) <= set(run.devices)
            assert (starts[rows] >= run.start_ms).all()
            assert (ends[rows] <= (run.end_ms or END_S * 1000)).all()
        for gpu in range(len(segment.devices)):  # and rows that name none touch none
            free = ~held & (device == gpu)
            for run in segment.holdings:
                if gpu in run.devices:
                    end_ms = run.end_ms or END_S * 1000
                    assert not ((ends[free] > run.start_ms) & (starts[free] < end_ms)).any()


def test_a_row_in_two_thousand_is_missed_and_the_next_covers_it():
    short = sum(int((column(segment, "span_ms") > SETTINGS.interval_s * 1000).sum()) for segment in all_segments())
    rows = sum(segment.samples.rows for segment in all_segments())
    assert 0.0003 < short / rows < 0.0008


def test_only_hopper_has_activity_counters():
    for segment in all_segments():
        hopper = segment.node.startswith("h100")
        assert ("sm_active_pct" in segment.samples.columns) == hopper
        assert (
            any(null.metric == "sm_active_pct" and null.reason == "not_supported" for null in segment.nulls) != hopper
        )


def rates(segment, name):
    """MiB a second of each row."""
    return column(segment, name) / (column(segment, "span_ms") / 1000)


def test_links_carry_what_programs_feed_and_tell_each_other():
    busy, empty, told = [], [], []
    for segment in all_segments():
        linked = not segment.node.startswith("l40s")
        assert ("nvlink_rx_mib" in segment.samples.columns) == linked
        answered = valid(segment, "util_pct")
        free = answered & (column(segment, "processes") == 0) & (column(segment, "util_pct") == 0)
        busy.append(rates(segment, "pcie_rx_mib")[answered & (column(segment, "util_pct") > 0)])
        empty.append(rates(segment, "pcie_rx_mib")[free & ~valid(segment, "holding")])
        if linked:
            told.append(rates(segment, "nvlink_tx_mib"))
            assert not told[-1][free].any()
    assert np.concatenate(empty).max() < 1
    assert np.concatenate(busy).mean() > 50
    assert np.concatenate(told).max() > 5000  # a collective of many GPUs
    assert np.mean(np.concatenate(told) == 0) > 0.3  # programs on one GPU have nobody to talk to


def test_cores_are_busy_as_the_program_of_the_run_keeps_them():
    cpu_s: dict[str, float] = {}
    for segment in all_segments():
        table = segment.hosts.columns
        ts, span, holding, cpu_ms = (
            np.frombuffer(table[name].data, dtype=f"<{table[name].dtype}").astype(np.int64)
            for name in ("ts_ms", "span_ms", "holding", "cpu_ms")
        )
        assert segment.hosts.rows == len(ts)
        for index, run in enumerate(segment.holdings):
            mine = holding == index
            assert (ts[mine] - span[mine] >= max(run.start_ms, segment.first_ms)).all()
            assert (ts[mine] <= (run.end_ms or END_S * 1000)).all()
            cpu_s[run.job_id] = cpu_s.get(run.job_id, 0.0) + cpu_ms[mine].sum() / 1000
    accounted = {row.job_id_raw: row for segment in all_segments() for row in segment.accounting if row.cpu_s}
    silent = {world().cluster.nodes[span.node].name for span in world().incidents.silent}
    whole = [row for row in accounted.values() if row.restart == 0 and not silent & set(row.nodes)]
    whole = [row for row in whole if row.start_ms >= START_S * 1000 and row.elapsed_s > 3600]
    assert len(whole) > 100
    assert all(cpu_s[row.job_id_raw] == pytest.approx(row.cpu_s, rel=0.15) for row in whole if row.cpu_s > 600)


def test_processes_lie_within_their_hold_and_where_the_rows_count_them():
    for segment in all_segments():
        ts, device, counted = (column(segment, name) for name in ("ts_ms", "device", "processes"))
        told = {}
        for seen in segment.processes:
            held = segment.holdings[seen.holding]
            assert seen.device in held.devices
            assert max(held.start_ms, segment.first_ms) <= seen.from_ms < seen.to_ms <= segment.last_ms
            assert (seen.uid, seen.mem_max_mib > 0) == (held.uid, True)
            told.setdefault(seen.device, []).append(seen)
        for gpu in range(len(segment.devices)):
            with_one = ts[(device == gpu) & (counted > 0)]
            listed = [(seen.from_ms, seen.to_ms) for seen in told.get(gpu, ())]
            spans = segment.interval_ms  # what lasts shorter is seen or not
            assert all(any(a <= at <= b + spans for a, b in listed) for at in with_one) or len(with_one) <= 1
    names = {seen.name for segment in all_segments() for seen in segment.processes}
    assert {"python", "gmx_mpi"} <= names


def test_a_gpu_is_lost_and_comes_back():
    (span,) = world().incidents.lost
    name = world().cluster.nodes[span.node].name
    kinds = [event.kind for segment in all_segments() if segment.node == name for event in segment.events]
    assert kinds == ["gpu_lost", "gpu_back"]
    for segment in all_segments():
        silent = ~valid(segment, "util_pct")
        if segment.node != name:
            assert not silent.any()
            continue
        ts = column(segment, "ts_ms")
        inside = (ts > span.start_s * 1000) & (ts <= span.end_s * 1000) & (column(segment, "device") == span.gpu)
        assert (silent == inside).all()


def test_a_node_is_silent_for_an_hour():
    (span,) = world().incidents.silent
    name = world().cluster.nodes[span.node].name
    for segment in all_segments():
        if segment.node == name:
            ts, begun = column(segment, "ts_ms"), column(segment, "ts_ms") - column(segment, "span_ms")
            assert not ((ts > span.start_s * 1000) & (begun < span.end_s * 1000)).any()


def test_accounting_tells_each_ended_run_once_and_the_running_ones_at_the_end():
    told = [row for segment in all_segments() for row in segment.accounting]
    ended = {run.db_index for run in world().runs if run.end_s <= END_S}
    running = {run.db_index for run in world().runs if run.start_s < END_S < run.end_s}
    assert sorted(row.db_index for row in told) == sorted(ended | running)
    assert {row.db_index for row in told if row.state == "RUNNING"} == running
    assert running
    assert {segment.node for segment in all_segments() if segment.accounting} == {"h100-01"}
