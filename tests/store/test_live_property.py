"""Polls, hooks, accounting and rows: whatever the order, the same hours, and nobody has more than there is."""

import random
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pytest

from store.database import Database
from store.ingest import ingest
from store.rollup import roll_up
from store.segment import Holding, LiveRun, NodeGpus, QueuePoll, Segment
from tests.store.building import HOUR, MINUTE, NOW, SECOND, T0, empty_store, gpu, hold, hours, named, packed, row, told
from tests.store.building import segment as building_segment

GPUS = 2
DEVICES = [gpu(f"GPU-{at}", index=at, position=at) for at in range(GPUS)]
LENGTH_MIN = 100


class Job(NamedTuple):
    """A job on one GPU: ``hook`` and ``told`` say who tells of it beside the polls; it is suspended for a while."""

    number: int
    gpu: int
    start_ms: int
    end_ms: int
    paused: tuple[int, int] | None
    hook: bool
    told: bool

    def live(self, at_ms: int) -> LiveRun | None:
        if not self.start_ms <= at_ms < self.end_ms:
            return None
        more: dict[str, Any] = {"state": "RUNNING"}
        if self.paused is not None and at_ms >= self.paused[0]:
            over = at_ms >= self.paused[1]
            more = {"state": "RUNNING" if over else "SUSPENDED", "turned_ms": self.paused[1 if over else 0]}
            more["ran_s"] = (self.paused[0] - self.start_ms) // SECOND
        job = str(100 + self.number)
        place = NodeGpus("n1", (self.gpu,))
        fixed = {"cluster": "c1", "job_id_raw": job, "job_id": job, "restart": 0, "alloc_gpus": 1, "user": "ann"}
        return LiveRun(start_ms=self.start_ms, places=(place,), **fixed, **more)


def cluster(chance: random.Random) -> list[Segment]:
    """A node for some time whose jobs are told by some and not by others."""
    jobs: list[Job] = []
    for device in range(GPUS):
        at_ms = T0
        while (start_ms := at_ms + chance.randrange(1, 15) * MINUTE) < T0 + LENGTH_MIN * MINUTE:
            at_ms = end_ms = start_ms + chance.randrange(2, 40) * MINUTE
            pause_ms = start_ms + chance.randrange(1, 30) * MINUTE + chance.randrange(60) * SECOND
            paused = (pause_ms, pause_ms + chance.randrange(1, 20) * MINUTE)
            is_paused = paused[1] < end_ms and chance.random() < 0.6
            flags = chance.random() < 0.4, chance.random() < 0.6
            jobs.append(Job(len(jobs), device, start_ms, end_ms, paused if is_paused else None, *flags))
    return [*_of_node(chance, jobs), *_polls(chance, jobs), _accounting(jobs)]


def _of_node(chance: random.Random, jobs: list[Job]) -> list[Segment]:
    segments = []
    for seq in range(0, LENGTH_MIN, 10):
        from_ms, to_ms = T0 + seq * MINUTE, T0 + (seq + 10) * MINUTE
        held = [job for job in jobs if job.hook and job.start_ms < to_ms and job.end_ms > from_ms]
        holdings: list[Holding] = [
            hold(str(100 + job.number), job.start_ms, job.end_ms if job.end_ms <= to_ms else None, devices=[job.gpu])
            for job in held
        ]
        rows = []
        for device in range(GPUS):
            for ts in range(from_ms + 30 * SECOND, to_ms + 1, 30 * SECOND):
                holder = next((at for at, job in enumerate(held) if job.gpu == device and _has(job, ts)), None)
                if chance.random() > 0.1:
                    rows.append(row(ts, device, holder, 30 * SECOND, util_pct=chance.choice([0, 500])))
        times = {"first_ms": from_ms, "last_ms": to_ms}
        segments.append(building_segment(rows, seq=seq + 1, devices=DEVICES, holdings=holdings, **times))
    return segments


def _has(job: Job, ts: int) -> bool:
    return job.start_ms < ts <= job.end_ms


def _polls(chance: random.Random, jobs: list[Job]) -> list[Segment]:
    segments = []
    for minute in range(0, LENGTH_MIN + 20, 5):
        at_ms = T0 + minute * MINUTE
        runs = tuple(run for job in jobs if (run := job.live(at_ms)))
        whole = minute % 10 == 0
        told_now = runs if whole else tuple(run for run in runs if chance.random() < 0.7)
        poll = QueuePoll(at_ms=at_ms, until_ms=at_ms + MINUTE, runs=told_now, whole=whole)
        times = {"first_ms": at_ms, "last_ms": at_ms}
        segments.append(building_segment(node="ctl", seq=minute, devices=[], queue=[poll], **times))
    return segments


def _accounting(jobs: list[Job]) -> Segment:
    rows = [
        told(
            str(100 + job.number),
            job.start_ms,
            job.end_ms,
            suspended_s=0 if job.paused is None else (job.paused[1] - job.paused[0]) // SECOND,
        )
        for job in jobs
        if job.told
    ]
    at_ms = T0 + 4 * HOUR
    return building_segment(node="acc", devices=[], accounting=rows, first_ms=at_ms, last_ms=at_ms)


def _stored(directory: Path, batches: list[list[Segment]]) -> Database:
    database = empty_store(directory)
    first = building_segment(devices=DEVICES, seq=0, first_ms=T0 - MINUTE, last_ms=T0 - MINUTE)
    for batch in [[first], *batches]:
        ingest(database, packed(*batch), NOW)
        while roll_up(database):
            pass
    return database


@pytest.mark.parametrize("seed", [1, 3, 5, 6, 15, 17])
def test_hours_depend_on_the_data_alone(seed: int) -> None:
    chance = random.Random(seed)
    segments = cluster(chance)
    shuffled = [*segments, *chance.sample(segments, len(segments) // 3)]
    chance.shuffle(shuffled)
    cuts = sorted(chance.sample(range(len(shuffled)), 3))
    pieces = [shuffled[a:b] for a, b in zip([0, *cuts], [*cuts, len(shuffled)], strict=True)]
    with (
        TemporaryDirectory() as folder,
        _stored(Path(folder) / "one", [segments]) as at_once,
        _stored(Path(folder) / "two", pieces) as piecemeal,
    ):
        assert named(at_once, "allocation") == named(piecemeal, "allocation")
        assert _suspensions(at_once) == _suspensions(piecemeal)
        found = hours(at_once)
        assert found == hours(piecemeal)
    for each in found:
        states = sum(each[f"{name}_ms"] for name in ("active", "low", "idle_held", "idle", "unknown"))
        assert each["held_ms"] == states
    used: dict[tuple[int, str], int] = {}
    for each in found:
        if each["gpu"] is not None:
            key = each["hour_ms"], each["gpu"]
            used[key] = used.get(key, 0) + each["held_ms"] + (each["suspended_ms"] or 0) + each["stray_ms"]
    assert all(total <= HOUR for total in used.values())


def _suspensions(database: Database) -> list[tuple[Any, ...]]:
    with database.cursor() as cursor:
        return cursor.tuples(
            "SELECT r.job_id_raw, s.* EXCLUDE (run_key) FROM suspension s JOIN run r USING (run_key) ORDER BY ALL"
        )
