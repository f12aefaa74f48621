"""The feed: newest day first, then the rest, then minute by minute; and on after a restart."""

import itertools
from threading import Event

import pytest

from gpuledger.demo.feed import OtherCluster, feed
from gpuledger.demo.settings import DemoSettings
from store.segment import decode, read_head
from tests.gpuledger.demo.small import START_S

SETTINGS = DemoSettings(nodes=2, gpus=2, days=3)
NOW_S = START_S + 3 * 86_400 + 35 * 60 + 30


class _Hub:
    """Takes batches as a hub does; its clock moves only when told."""

    def __init__(self, now_s=NOW_S):
        self.now_s = now_s
        self.batches = []
        self.stop = Event()

    def clock(self):
        return self.now_s * 1000

    def push(self, batch):
        self.batches.append([decode(data) for _, data in batch])

    def fed(self, directory, **how):
        feed(self.push, SETTINGS, directory, self.clock, self.stop, **how)
        return self


def _held_back(batches):
    spans = sorted((s.node, s.first_ms, s.last_ms) for batch in batches for s in batch)
    for before, after in itertools.pairwise(spans):
        if before[0] == after[0]:
            assert before[2] == after[1]
    return spans


def test_the_newest_day_comes_first_and_all_days_come(tmp_path):
    batches = _Hub().fed(tmp_path, live=False).batches
    ends = [max(segment.last_ms for segment in batch) for batch in batches]
    assert ends == sorted(ends, reverse=True)
    assert ends[0] == NOW_S * 1000
    spans = _held_back(batches)
    assert spans[0][1] == START_S * 1000
    assert (tmp_path / "truth.jsonl").read_bytes().count(b"\n") > 20


def test_live_minutes_follow_and_no_name_is_used_twice(tmp_path):
    hub = _Hub()

    def push(batch):
        hub.push(batch)
        hub.now_s += 100
        if len(hub.batches) == 9:
            hub.stop.set()

    feed(push, SETTINGS, tmp_path, hub.clock, hub.stop)
    names = [segment.name for batch in hub.batches for segment in batch]
    assert len(set(names)) == len(names)
    assert max(segment.last_ms for segment in hub.batches[-1]) > NOW_S * 1000
    _held_back(hub.batches)


def test_a_restart_goes_on_where_it_stopped(tmp_path):
    first = _Hub()

    def push(batch):
        first.push(batch)
        first.stop.set()

    feed(push, SETTINGS, tmp_path, first.clock, first.stop)
    later = _Hub(NOW_S + 7200).fed(tmp_path, live=False)
    names = [segment.name for batch in (*first.batches, *later.batches) for segment in batch]
    assert len(set(names)) == len(names)
    spans = _held_back([*first.batches, *later.batches])
    assert spans[0][1] == START_S * 1000
    assert spans[-1][2] // 60_000 == (NOW_S + 7200) // 60


def test_other_settings_in_the_same_directory_are_refused(tmp_path):
    _Hub().fed(tmp_path, live=False)
    with pytest.raises(OtherCluster, match="other settings"):
        feed(lambda batch: None, DemoSettings(nodes=3), tmp_path, lambda: NOW_S * 1000, Event())


def test_a_minute_that_begins_before_the_first_batch_does_not_hide_who_is_running(tmp_path):
    times = iter([NOW_S, *[NOW_S + 40] * 99])
    told = []
    feed(told.extend, SETTINGS, tmp_path, lambda: next(times) * 1000, Event(), live=False)
    rows = [row for _, data in told for row in decode(data).accounting]
    held = {h.job_id for _, data in told for h in decode(data).holdings if h.end_ms is None}
    ended = {row.job_id_raw for row in rows if row.end_ms}
    assert held - ended <= {row.job_id_raw for row in rows if row.state == "RUNNING"}


def test_the_running_are_told_once(tmp_path):
    batches = _Hub().fed(tmp_path, live=False).batches
    running = [row.db_index for batch in batches for s in batch for row in s.accounting if row.state == "RUNNING"]
    assert running
    assert len(set(running)) == len(running)
    newest = {row.db_index for s in batches[0] for row in s.accounting if row.state == "RUNNING"}
    assert newest == set(running)


def test_heads_name_the_boot_of_the_seed(tmp_path):
    seen = []
    feed(seen.extend, SETTINGS, tmp_path, lambda: NOW_S * 1000, Event(), live=False)
    assert {read_head(data)[0].boot_id for _, data in seen} == {"demo1"}
    assert all(read_head(data)[0].name == name for name, data in seen)
