"""Batches into the store: idempotent, all or nothing, and nothing bad stops the good."""

import zlib
from typing import Any

import pytest

from store.database import Database
from store.errors import StoreError
from store.ingest import IngestResult, ingest
from store.quarantine import file_name
from store.segment import Column, Event, NullReason, ProbeRun, Segment, Table, encode
from tests.store.building import HOUR, MINUTE, NOW, T0, gpu, hold, packed, row, segment, steady, store, table, told

ROWS = steady(T0, T0 + MINUTE, 0, 0, util_pct=500, mem_used_mib=100)


def tuples(database: Database, sql: str) -> list[tuple[Any, ...]]:
    with database.cursor() as cursor:
        return cursor.tuples(sql)


def test_rows_keep_every_value_and_every_null(database: Database) -> None:
    rows = [
        row(T0 + 10_000, 0, None, util_pct=999, temp_c=-5, event_reasons=4_294_967_294, energy_j=None),
        row(T0 + 20_000, 1, 0, util_pct=None, temp_c=None, event_reasons=0, energy_j=3_999_999_999),
    ]
    devices = [gpu("GPU-0", baseline_mib=None), gpu("GPU-1", baseline_mib=7)]
    store(database, segment(rows, devices=devices, holdings=[hold(devices=[1])]))
    found = tuples(
        database,
        "SELECT ts_ms, g.uuid, run_key IS NULL, baseline_mib, util_pct, temp_c, event_reasons, energy_j, power_w "
        "FROM hot JOIN gpu g USING (gpu_key) ORDER BY ts_ms",
    )
    assert found == [
        (T0 + 10_000, "GPU-0", True, None, 999, -5, 4_294_967_294, None, None),
        (T0 + 20_000, "GPU-1", False, 7, None, None, 0, 3_999_999_999, None),
    ]


def test_a_segment_is_stored_once(database: Database) -> None:
    one = segment(ROWS, holdings=[hold()], events=[Event(ts_ms=T0, kind="agent_started")])
    batch = packed(one, one, one)
    assert ingest(database, batch, NOW) == IngestResult(rows=6, segments=1, duplicates=2)
    assert ingest(database, batch, NOW) == IngestResult(duplicates=3)
    counts = "SELECT (SELECT count(*) FROM hot), (SELECT count(*) FROM run), (SELECT count(*) FROM event)"
    assert tuples(database, counts) == [(6, 1, 1)]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not a segment"),
        (b"<html>hello</html>", "does not begin with GPUL"),
        (encode(segment(ROWS, holdings=[hold()]))[:-5], "truncated"),
        (encode(segment(ROWS, holdings=[hold()], synthetic=True)), "synthetic data"),
        (encode(segment(ROWS)), "does not list"),
        (encode(segment(ROWS, holdings=[hold(devices=[4])])), "does not list"),
        (encode(segment([row(T0 + 1000, 7)])), "does not list"),
        (encode(segment(samples=Table(1, {"ts_ms": Column("i8", bytes(8))}))), "no complete column span_ms"),
        (encode(segment([row(T0 + 1000) | {"device": None}])), "no complete column device"),
        (encode(segment(first_ms=1000)), "clock of n1 was not set"),
        (encode(segment(first_ms=NOW, last_ms=NOW + 11 * MINUTE)), "clock of n1 is 11 minutes ahead"),
        (encode(segment([row(NOW + HOUR)], first_ms=NOW, last_ms=NOW)), "clock of n1 is 60 minutes ahead"),
    ],
    ids=[
        *("empty", "foreign", "truncated", "synthetic", "holding", "held-device", "device", "no-span", "null-device"),
        *("clock-unset", "clock-ahead", "rows-ahead"),
    ],
)
def test_what_cannot_be_stored_is_kept_aside(database: Database, data: bytes, reason: str) -> None:
    good = packed(segment(ROWS, seq=5, holdings=[hold()]))
    result = ingest(database, [("bad/../one", data), *good], NOW)
    assert (result.segments, result.quarantined) == (1, 1)
    [(name, sentence)] = tuples(database, "SELECT name, reason FROM quarantine")
    assert (name, reason in sentence) == ("bad/../one", True)
    [kept] = (database.directory / "quarantine").iterdir()
    assert (kept.name, kept.read_bytes()) == (file_name("bad/../one"), data)
    # Given again after a failure further on, it is there once.
    ingest(database, [("bad/../one", data)], NOW)
    assert tuples(database, "SELECT count(*) FROM quarantine") == [(1,)]


@pytest.mark.parametrize(
    "odd",
    [
        segment(devices=[gpu("GPU-9", index=2**40)], last_ms=T0 + MINUTE),
        segment(interval_ms=2**33, last_ms=T0 + MINUTE),
        segment(holdings=[hold(restart=2**31)], last_ms=T0 + MINUTE),
        segment(probes=[ProbeRun(probe="gpu", at_ms=T0, duration_ms=1, rows=2**31)], last_ms=T0 + MINUTE),
        segment(devices=[gpu(slices=0)], last_ms=T0 + MINUTE),
        segment(devices=[gpu(slices=8, slices_of=7)], last_ms=T0 + MINUTE),
    ],
    ids=lambda odd: None,
)
def test_one_odd_segment_does_not_hold_up_the_others(database: Database, odd: Segment) -> None:
    others = [segment(ROWS, node=f"n{number}", holdings=[hold()]) for number in range(2, 7)]
    result = store(database, *others[:3], odd, *others[3:])
    assert (result.segments, result.quarantined) == (5, 1)
    assert tuples(database, "SELECT name, reason LIKE 'segment refused: %' FROM quarantine") == [(odd.name, True)]


def test_a_row_of_accounting_that_cannot_be_is_passed_over_and_told(database: Database) -> None:
    rows = [
        told("1", end_ms=T0 + HOUR),
        told("2", start_ms=0, end_ms=T0),
        told("3", end_ms=2**60),
        told("4", end_ms=T0 - 1),
    ]
    assert store(database, segment(accounting=rows)).quarantined == 0
    assert tuples(database, "SELECT job_id FROM run") == [("1",)]
    reasons = [reason for (reason,) in tuples(database, "SELECT reason FROM quarantine ORDER BY reason")]
    assert [reason.partition(" is said")[0] for reason in reasons] == [
        f"accounting row passed over: job {number}" for number in (2, 3, 4)
    ]


def test_unknown_columns_are_set_aside_and_counted(database: Database) -> None:
    known = table([row(T0 + 10_000, util_pct=5)])
    newer = Table(1, {**known.columns, "fan_rpm": Column("u2", b"\1\0"), "jpeg_pct": Column("u1", b"\1")})
    store(database, segment(samples=newer, last_ms=T0 + 10_000))
    assert tuples(database, "SELECT name FROM unknown_column ORDER BY name") == [("fan_rpm",), ("jpeg_pct",)]
    assert tuples(database, "SELECT segments, rows, late FROM arrival") == [(1, 1, 1)]
    assert tuples(database, "SELECT util_pct FROM hot") == [(5,)]


def test_another_width_of_a_column_is_taken_where_it_fits(database: Database) -> None:
    known = table([row(T0 + 10_000)])
    wider = Table(1, {**known.columns, "enc_pct": Column("u4", b"\x63\0\0\0")})
    store(database, segment(samples=wider, last_ms=T0 + 10_000))
    assert tuples(database, "SELECT enc_pct FROM hot") == [(99,)]
    too_wide = Table(1, {**known.columns, "enc_pct": Column("u4", b"\x63\1\0\0")})
    assert store(database, segment(samples=too_wide, seq=1, last_ms=T0 + 10_000)).quarantined == 1


def test_values_that_cannot_be_are_null(database: Database) -> None:
    """Drivers print 4294967295 or 808334905 % now and then."""
    rows = [
        row(T0 + 10_000, util_pct=1001, power_w=65_001, temp_c=151),
        row(T0 + 20_000, util_pct=1000, power_w=65_000, temp_c=-40),
    ]
    store(database, segment(rows))
    found = tuples(database, "SELECT util_pct, power_w, temp_c FROM hot ORDER BY ts_ms")
    assert found == [(None, None, None), (1000, 65_000, -40)]


def test_a_row_stands_for_a_quarter_of_an_hour_at_most(database: Database) -> None:
    store(database, segment([row(T0 + HOUR, span_ms=HOUR)]))
    assert tuples(database, "SELECT span_ms FROM hot") == [(900_000,)]


def test_all_or_nothing(database: Database) -> None:
    """A batch that fails leaves nothing behind and can be given again."""
    with database.cursor() as cursor:
        cursor.execute("ALTER TABLE probe_log RENAME TO probe_log_away")
    batch = packed(segment(ROWS, holdings=[hold()], probes=[ProbeRun(probe="gpu", at_ms=T0, duration_ms=1.5)]))
    with pytest.raises(StoreError, match="probe_log"):
        ingest(database, batch, NOW)
    assert tuples(database, "SELECT (SELECT count(*) FROM hot), (SELECT count(*) FROM node)") == [(0, 0)]
    with database.cursor() as cursor:
        cursor.execute("ALTER TABLE probe_log_away RENAME TO probe_log")
    assert ingest(database, batch, NOW).rows == 6


@pytest.mark.parametrize("hub_ms", [T0 - HOUR, 0])
def test_a_hub_whose_clock_is_not_set_waits_and_puts_nothing_aside(database: Database, hub_ms: int) -> None:
    store(database, segment(ROWS, holdings=[hold()]), now_ms=T0 + MINUTE)
    later = packed(segment(steady(T0 + MINUTE, T0 + 2 * MINUTE), seq=1))
    with pytest.raises(StoreError, match=r"The clock of this machine is \d+ minutes behind"):
        ingest(database, later, hub_ms)
    assert tuples(database, "SELECT count(*) FROM quarantine") == [(0,)]
    # A few minutes are the nodes' own inaccuracy.
    assert ingest(database, later, T0 - 8 * MINUTE).segments == 1


def test_nodes_and_gpus_keep_first_last_and_newest(database: Database) -> None:
    newest = segment(
        node="n1",
        seq=9,
        devices=[gpu(model="H100", driver_version="570.1")],
        first_ms=T0 + HOUR,
        last_ms=T0 + 2 * HOUR,
        agent="0.2.0",
    )
    oldest = segment(
        node="n1", seq=1, devices=[gpu(model="old", driver_version="535.9")], first_ms=T0, last_ms=T0 + MINUTE
    )
    silent = segment(
        node="n1", seq=10, devices=[gpu(model=None)], first_ms=T0 + 2 * HOUR, last_ms=T0 + 3 * HOUR, agent="0.2.1"
    )
    for each in (newest, oldest, silent):
        store(database, each, now_ms=T0 + 3 * HOUR)
    nodes = tuples(database, "SELECT agent_version, driver_version, first_ms, last_ms, skew_ms FROM node")
    assert nodes == [("0.2.1", "570.1", T0, T0 + 3 * HOUR, 0)]
    assert tuples(database, "SELECT model, first_ms, last_ms FROM gpu") == [("H100", T0, T0 + 3 * HOUR)]


def test_a_place_in_slurm_s_list_that_cannot_be_told_any_more_is_unknown(database: Database) -> None:
    for hour, position in ((0, 2), (1, None)):
        store(database, segment(devices=[gpu(position=position)], seq=hour, last_ms=T0 + HOUR * (hour + 1)))
        assert tuples(database, "SELECT position FROM gpu") == [(position,)]


def test_what_the_links_of_a_gpu_carry_stays_known_and_nonsense_does_not_count(database: Database) -> None:
    for hour, told_mib_s in enumerate((60_000, None, 1 << 62, -1)):
        device = gpu(pcie_mib_s=told_mib_s, nvlink_mib_s=told_mib_s and 400_000)
        store(database, segment(devices=[device], seq=hour, last_ms=T0 + HOUR * (hour + 1)))
        assert tuples(database, "SELECT pcie_mib_s, nvlink_mib_s FROM gpu") == [(60_000, 400_000)]


def test_a_gpu_may_move_to_another_node(database: Database) -> None:
    store(database, segment(node="n1", last_ms=T0 + MINUTE))
    store(database, segment(node="n2", first_ms=T0 + HOUR, last_ms=T0 + HOUR + MINUTE))
    assert tuples(database, "SELECT n.name FROM gpu JOIN node n USING (node_key)") == [("n2",)]


def test_what_travels_beside_the_rows(database: Database) -> None:
    null = NullReason(device=0, metric="util_pct", reason="not_supported", from_ms=T0, to_ms=T0 + MINUTE)
    later = NullReason(device=0, metric="util_pct", reason="not_supported", from_ms=T0 + MINUTE, to_ms=T0 + 2 * MINUTE)
    lost = Event(ts_ms=T0 + 5, kind="gpu_lost", device=0, detail="Xid 79")
    old, new = (ProbeRun(probe="gpu", at_ms=T0 + i, duration_ms=i, ok=not i, error="x" * i) for i in (0, 1))
    store(database, segment(seq=1, nulls=[later], events=[lost], probes=[new]))
    store(database, segment(seq=0, nulls=[null], probes=[old]))
    assert tuples(database, "SELECT metric, reason, from_ms, to_ms FROM null_reason") == [
        ("util_pct", "not_supported", T0, T0 + 2 * MINUTE)
    ]
    assert tuples(database, "SELECT gpu_key IS NOT NULL, ts_ms, kind, detail FROM event") == [
        (True, T0 + 5, "gpu_lost", "Xid 79")
    ]
    assert tuples(database, "SELECT at_ms, ok, error FROM probe_log") == [(T0 + 1, False, "x")]


def test_only_touched_minutes_and_runs_are_marked(database: Database) -> None:
    store(database, segment(ROWS, holdings=[hold(end_ms=T0 + MINUTE)]))
    with database.cursor() as cursor:
        cursor.execute("DELETE FROM dirty_run")
    ingest(database, packed(segment(steady(T0 + 5 * HOUR, T0 + 5 * HOUR + MINUTE, util_pct=0), seq=1)), NOW)
    late = T0 + 5 * HOUR
    assert tuples(database, "SELECT hour_ms, from_ms, to_ms FROM dirty_hour") == [(late, late, late + MINUTE)]
    assert tuples(database, "SELECT count(*) FROM dirty_run") == [(0,)]
    # The same hold listed again changes nothing; its new rows do.
    ingest(database, packed(segment(seq=2, holdings=[hold(end_ms=T0 + MINUTE)], last_ms=T0 + MINUTE)), NOW)
    assert tuples(database, "SELECT count(*) FROM dirty_run") == [(0,)]


def test_a_bomb_is_refused(database: Database) -> None:
    good = encode(segment(ROWS, holdings=[hold()]))
    body = zlib.compress(bytes(300 << 20), 9)
    head_end = good.index(zlib.compress(b"", 1)[:2], 20)
    assert ingest(database, [("bomb", good[:head_end] + body)], NOW).quarantined == 1
