"""Whatever the order, however often: the same hours. In every hour the states and the unknown make up the held time."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from store.database import Database
from store.ingest import ingest
from store.merge import merge
from store.rollup import roll_up
from store.seal import seal
from store.segment import AccountingRun, Holding, Segment
from store.settings import StoreSettings
from tests.store.building import (
    HOUR,
    MINUTE,
    NOW,
    SECOND,
    T0,
    empty_store,
    gpu,
    hold,
    hours,
    named,
    packed,
    row,
    segment,
    told,
)
from tests.store.summing import check as check_sums

NODES = 2
GPUS = 2


@st.composite
def clusters(draw: st.DrawFn) -> list[Segment]:
    """Two nodes for some hours: jobs in turn, rows with gaps, repeats and NULLs, accounting for some of it."""
    chance = random.Random(draw(st.integers(0, 2**32)))
    jobs = [_job(chance, number) for number in range(draw(st.integers(0, 5)))]
    segments: list[Segment] = []
    for node in range(NODES):
        for seq in range(draw(st.integers(1, 4))):
            from_ms = T0 + seq * 40 * MINUTE + chance.randrange(-3, 3) * SECOND
            segments.append(_segment(chance, node, seq, from_ms, from_ms + 40 * MINUTE, jobs))
    told_rows = [each for _, each in jobs if each is not None]
    at_ms = T0 + 3 * HOUR
    segments.append(segment(node="ctl", devices=[], accounting=told_rows, first_ms=at_ms, last_ms=at_ms))
    return segments


def _job(chance: random.Random, number: int) -> tuple[tuple[int, int, int], AccountingRun | None]:
    node = chance.randrange(NODES)
    start = T0 + number * 35 * MINUTE + chance.randrange(60_000)
    end = start + chance.randrange(5 * MINUTE, 34 * MINUTE)
    row_ = told(
        str(100 + number),
        start - chance.randrange(3000),
        chance.choice([None, end - chance.randrange(-3000, 3000)]),
        alloc_gpus=chance.choice([1, GPUS, 3]),
    )
    return (node, start, end), chance.choice([row_, row_, None])


def _segment(
    chance: random.Random, node: int, seq: int, from_ms: int, to_ms: int, jobs: list[tuple[tuple[int, int, int], Any]]
) -> Segment:
    holdings: list[Holding] = []
    for number, ((where, start, end), _) in enumerate(jobs):
        if where == node and start < to_ms and end > from_ms:
            known_end = end if end <= to_ms else None
            holdings.append(hold(str(100 + number), start, known_end, devices=range(GPUS)))
    rows = []
    step = chance.choice([20, 61, 150]) * SECOND
    for device in range(GPUS):
        ts = from_ms
        while (ts := ts + step) <= to_ms:
            if chance.random() < 0.15:
                continue  # a missed reading: the next row does not cover it
            holder = next((i for i, h in enumerate(holdings) if h.start_ms < ts <= (h.end_ms or to_ms)), None)
            readings = {
                "util_pct": chance.choice([None, 0, 50, 600]),
                "mem_used_mib": chance.choice([None, 0, 50_000]),
                "energy_j": chance.choice([None, 1, 977]),
            }
            rows.append(row(ts, device, holder, step, **readings))
            if chance.random() < 0.05:
                rows.append(row(ts - 7 * SECOND, device, holder, step, **readings))
    devices = [gpu(f"GPU-{node}-{i}") for i in range(GPUS)]
    return segment(rows, node=f"n{node}", seq=seq, holdings=holdings, devices=devices, first_ms=from_ms, last_ms=to_ms)


AT_ONCE = StoreSettings(seal_after_s=0, merge_after_s=0)


@contextmanager
def stored(batches: list[list[Segment]], *, between: bool) -> Iterator[Database]:
    """``between`` the batches the hours are computed, and rows are sealed and their days merged."""
    with TemporaryDirectory() as directory, empty_store(Path(directory)) as database:
        for number, batch in enumerate(batches):
            ingest(database, packed(*batch), NOW)
            while between and roll_up(database, limit=3, wait_ms=20 * MINUTE * (number % 2)):
                pass
            if between:
                seal(database, AT_ONCE, NOW)
                merge(database, AT_ONCE, NOW)
        while roll_up(database):
            pass
        yield database


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(segments=clusters(), seed=st.integers(0, 2**32))
def test_hours_depend_on_the_data_alone(segments: list[Segment], seed: int) -> None:
    chance = random.Random(seed)
    shuffled = [*segments, *chance.sample(segments, len(segments) // 2)]
    chance.shuffle(shuffled)
    cut = chance.randrange(len(shuffled))
    with (
        stored([segments], between=False) as at_once,
        stored([shuffled[:cut], shuffled[cut:]], between=True) as piecemeal,
    ):
        found = hours(at_once)
        assert found == hours(piecemeal)
        assert named(at_once, "gpu_minute") == named(piecemeal, "gpu_minute")
        check_sums(at_once)
        check_sums(piecemeal)
    for each in found:
        states = sum(each[f"{name}_ms"] for name in ("active", "low", "idle_held", "idle", "unknown"))
        assert each["held_ms"] == states
        assert 0 <= each["unmeasurable_ms"] <= each["unknown_ms"]
        assert each["run"] is None or each["covered_ms"] == states - each["unknown_ms"]
    _no_gpu_hour_is_longer_than_an_hour(found)


def _no_gpu_hour_is_longer_than_an_hour(found: list[dict[str, Any]]) -> None:
    totals: dict[tuple[int, str], int] = {}
    for each in found:
        if each["gpu"] is not None:
            key = each["hour_ms"], each["gpu"]
            totals[key] = totals.get(key, 0) + each["held_ms"] + each["stray_ms"]
    assert all(total <= HOUR for total in totals.values())
