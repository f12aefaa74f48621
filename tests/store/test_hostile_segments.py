"""Segments that a broken or hostile node might send: each is refused by one sentence or taken in harmlessly."""

import math
import struct
import zlib
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from store import segment as segments
from store.database import Database
from store.ingest import ingest
from store.parsed import parse
from store.possible import MAX_LETTERS
from store.segment import (
    Event,
    Holding,
    NullReason,
    ProbeRun,
    ProcessSeen,
    SegmentError,
    decode,
    encode,
    read_head,
)
from tests.store.building import (
    HOUR,
    MINUTE,
    NOW,
    SECOND,
    T0,
    gpu,
    hold,
    packed,
    row,
    segment,
    steady,
    store,
    told,
)

ROWS = steady(T0, T0 + MINUTE, 0, 0, util_pct=500, mem_used_mib=100)
GOOD = segment(ROWS, holdings=[hold()])
DEEP = msgspec.Raw(b"\x91" * 50_000 + b"\x01")
Content = dict[str, Any]


def patched(
    change: Callable[[Content], object] = lambda body: None, of_head: Callable[[Content], object] = lambda head: None
) -> bytes:
    """The bytes of GOOD with its body or head changed, lengths and checksum right."""
    content = msgspec.msgpack.decode(msgspec.msgpack.encode(GOOD))
    change(content)
    body = zlib.compress(msgspec.msgpack.encode(content), 1)
    plain = msgspec.to_builtins(read_head(encode(GOOD))[0])
    head = plain | {"body_bytes": len(body), "body_crc": zlib.crc32(body)}
    of_head(head)
    packed_head = msgspec.msgpack.encode(head)
    return struct.pack("<4sBI", segments.MAGIC, segments.VERSION, len(packed_head)) + packed_head + body


def column(name: str, dtype: str, data: bytes) -> bytes:
    def change(body: Content) -> None:
        body["samples"]["columns"][name] = {"dtype": dtype, "data": data, "valid": b""}

    return patched(change)


@pytest.mark.parametrize(
    "data",
    [
        column("fan", "u²", b"\1"),
        column("fan", "u" + "9" * 5000, b"\1"),
        column("fan", "", b"\1"),
        column("holding", "i8", struct.pack("<6q", *[-5] * 6)),
        column("ts_ms", "u8", struct.pack("<6Q", *[2**64 - 1] * 6)),
        patched(lambda body: body.update(zzz=DEEP)),
        patched(of_head=lambda head: head.update(zzz=DEEP)),
        patched(lambda body: body["samples"].update(rows=-1), lambda head: head.update(rows=-1)),
        patched(lambda body: body["samples"].update(rows=2**40), lambda head: head.update(rows=2**40)),
        patched(lambda body: body.update(cluster=msgspec.Raw(b"\xa4\xff\xfe\xfd\xfc"))),
        encode(segment(ROWS, holdings=[hold()], interval_ms=0)),
        encode(segment(ROWS, holdings=[hold()], interval_ms=2**31 - 1)),
        encode(segment(ROWS, holdings=[hold()], first_ms=T0 + HOUR, last_ms=T0)),
        encode(segment(ROWS, holdings=[hold()], written_ms=2**62)),
        encode(segment(ROWS, holdings=[hold()], devices=[gpu("")])),
        encode(segment(ROWS, holdings=[hold()], devices=[gpu("G" * 10_000)])),
        encode(segment(ROWS, holdings=[hold()], cluster="c" * 10_000)),
    ],
    ids=[
        *("dtype-letters", "dtype-digits", "dtype-empty", "holding-negative", "ts-huge", "deep-body", "deep-head"),
        *("rows-negative", "rows-huge", "utf-8", "interval-0", "interval-huge", "backwards", "written-huge"),
        *("uuid-empty", "uuid-long", "cluster-long"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(database: Database, data: bytes) -> None:
    result = ingest(database, [("odd", data), *packed(segment(ROWS, seq=5, holdings=[hold()]))], NOW)
    assert (result.segments, result.quarantined) == (1, 1)
    with database.cursor() as cursor:
        [(reason,)] = cursor.tuples("SELECT reason FROM quarantine")
    assert reason.startswith("segment "), reason


def test_a_head_that_is_nested_without_end_is_no_segment() -> None:
    with pytest.raises(SegmentError, match="head unreadable"):
        read_head(patched(of_head=lambda head: head.update(zzz=DEEP)))
    with pytest.raises(SegmentError, match="body unreadable"):
        decode(patched(lambda body: body.update(zzz=DEEP)))


@pytest.mark.parametrize(
    "odd",
    [
        {"cpu_s": math.nan},
        {"cpu_s": math.inf},
        {"cpu_s": -5.0},
        {"elapsed_s": 2**62},
        {"elapsed_s": -1},
        {"suspended_s": 2**62},
        {"timelimit_s": 2**62},
        {"submit_ms": 2**62},
        {"alloc_gpus": 2**31 - 1},
        {"alloc_gpus": -1},
        {"req_gpus": 2**40},
        {"alloc_cpus": -1},
        {"req_mem_mib": -(2**62)},
        {"restart": 2**40},
        {"job_id": "2 $(reboot)"},
        {"nodes": ("n1", "n[1-99999999]")},
        {"nodes": ("@all",)},
        {"nodes": ("n[",)},
        {"start_ms": T0 - 20 * 365 * 24 * HOUR},
    ],
    ids=str,
)
def test_a_figure_of_accounting_that_cannot_be_costs_that_row_alone(database: Database, odd: Content) -> None:
    rows = [told("1", end_ms=T0 + HOUR), told("2", **({"end_ms": T0 + HOUR} | odd)), told("3", end_ms=T0 + HOUR)]
    assert store(database, segment(accounting=rows)).quarantined == 0
    with database.cursor() as cursor:
        assert cursor.tuples("SELECT job_id FROM run ORDER BY job_id") == [("1",), ("3",)]
        [(reason,)] = cursor.tuples("SELECT reason FROM quarantine")
    assert reason.startswith("accounting row passed over: job 2 "), reason


@pytest.mark.parametrize(
    "odd",
    [
        hold("2", start_ms=0),
        hold("2", start_ms=T0, end_ms=T0 - 1),
        hold("2", end_ms=2**62),
        hold("2", start_ms=2**60),
        hold("2", start_ms=1_000_000_000_000),
        hold("2; rm -rf ~"),
        hold(""),
    ],
    ids=["unset", "backwards", "endless", "future", "decades", "command", "empty"],
)
def test_a_hold_that_cannot_be_costs_itself_alone(database: Database, odd: Holding) -> None:
    """A drop-file with a wrong time lies there for days: the node's other jobs and its rows are good all the same."""
    rows = [row(T0 + (at + 1) * 10_000, 0, at % 4 - 1 if at % 4 else None, util_pct=at) for at in range(8)]
    seen = [
        ProcessSeen(device=0, pid=at, from_ms=T0, to_ms=T0 + MINUTE, holding=None if at == 3 else at) for at in range(4)
    ]
    holds = [hold("1"), odd, hold("3")]
    assert store(database, segment(rows, holdings=holds, processes=tuple(seen))).rows == 8
    with database.cursor() as cursor:
        told = cursor.tuples("SELECT job_id_raw, util_pct FROM hot LEFT JOIN run USING (run_key) ORDER BY ts_ms")
        assert told == list(zip([None, "1", None, "3"] * 2, range(8), strict=True))
        [(reason,)] = cursor.tuples("SELECT reason FROM quarantine")
    assert reason.startswith("hold passed over: job ")


@pytest.mark.parametrize("value", [0, -5, math.nan, math.inf])
def test_a_size_of_a_gpu_that_cannot_be_is_not_known(database: Database, value: float) -> None:
    limit = {"power_limit_w": float(value)}
    total = {"mem_total_mib": int(value)} if math.isfinite(value) else {}
    store(database, segment(ROWS, devices=[gpu(**limit | total)], holdings=[hold()]))
    with database.cursor() as cursor:
        [(known_limit, known_total)] = cursor.tuples("SELECT power_limit_w, mem_total_mib FROM gpu")
    assert (known_limit, known_total) == (None, None if total else 81_559)


@pytest.mark.parametrize("moment", [0, 2**62, -(2**62)])
def test_what_is_told_of_no_possible_moment_is_left_out(database: Database, moment: int) -> None:
    odd = segment(
        ROWS,
        holdings=[hold()],
        events=[Event(ts_ms=moment, kind="gpu_lost"), Event(ts_ms=T0, kind="gpu_back")],
        nulls=[NullReason(device=0, metric="util_pct", reason="not_supported", from_ms=T0, to_ms=moment)],
        probes=[
            ProbeRun(probe="gpu", at_ms=moment, duration_ms=1),
            ProbeRun(probe="x", at_ms=T0, duration_ms=math.nan),
        ],
    )
    assert store(database, odd).rows == len(ROWS)
    with database.cursor() as cursor:
        assert cursor.tuples("SELECT kind FROM event") == [("gpu_back",)]
        assert cursor.tuples("SELECT * FROM null_reason") == []
        assert cursor.tuples("SELECT * FROM probe_log") == []


def test_texts_are_cut_to_what_anybody_reads(database: Database) -> None:
    long = "x" * 1_000_000
    store(
        database,
        segment(
            ROWS,
            devices=[gpu(model=long)],
            holdings=[hold(user=long, name=long)],
            events=[Event(ts_ms=T0, kind="gpu_lost", detail=long)],
            probes=[ProbeRun(probe="gpu", at_ms=T0, duration_ms=1, error=long)],
            agent=long,
        ),
    )
    with database.cursor() as cursor:
        [lengths] = cursor.tuples(
            "SELECT len(model), len(user_name), len(run.name), len(detail), len(error), len(agent_version) "
            "FROM gpu, run, event, probe_log, node"
        )
    assert set(lengths) == {MAX_LETTERS}


def test_a_span_below_nothing_stands_for_nothing(database: Database) -> None:
    data = column("span_ms", "i8", struct.pack("<6q", *[-(2**63)] * 6))
    assert ingest(database, [("odd", data)], NOW).segments == 1
    with database.cursor() as cursor:
        assert cursor.tuples("SELECT DISTINCT span_ms FROM hot") == [(0,)]


def test_rows_years_apart_mark_only_the_hours_they_lie_in(database: Database) -> None:
    """The clock of a node is set by NTP minutes after its start: from its firmware's year to now, in one segment."""
    odd = segment([row(T0 - 7 * 365 * 24 * HOUR), row(T0 + 10 * SECOND)])
    ingest(database, packed(odd), NOW)
    with database.cursor() as cursor:
        assert cursor.scalar("SELECT count(*) FROM dirty_hour") <= 3


def test_what_nobody_thought_of_costs_one_segment(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault of ours on one segment's content must not hold up every other node for good."""
    real = parse

    def faulty(batch: Any, received_ms: int, *, synthetic: bool) -> Any:
        if any(name.startswith("n3~") for name, _ in batch):
            raise KeyError("a fault")
        return real(batch, received_ms, synthetic=synthetic)

    monkeypatch.setattr("store.ingest.parse", faulty)
    result = ingest(database, packed(*(segment(ROWS, node=f"n{at}", holdings=[hold()]) for at in range(6))), NOW)
    assert (result.segments, result.quarantined) == (5, 1)
    assert len(list((database.directory / "quarantine").iterdir())) == 1
