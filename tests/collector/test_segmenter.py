"""What goes into a segment comes out of its bytes."""

from array import array

import pytest

from collector.columns import ROW_DTYPES, TableWriter
from collector.readings import Reason, Row
from collector.segmenter import Origin, Segmenter
from store.catalog import METRICS, STRUCTURE
from store.segment import Device, Event, Holding, ProbeRun, decode, encode

ORIGIN = Origin(node="n1", boot_id="b", cluster="c", agent="0.1", interval_ms=10_000, slurm=False)
DEVICES = [Device(uuid="GPU-a", index=0), Device(uuid="GPU-b", index=1)]
CODES = {"u1": "B", "u2": "H", "u4": "I", "i2": "h", "i4": "i", "i8": "q"}


def column(table, name):
    """The column's values, None where not valid and in every row where the column is absent."""
    if name not in table.columns:
        return [None] * table.rows
    found = table.columns[name]
    values = array(CODES[found.dtype], found.data).tolist()
    bits = int.from_bytes(found.valid, "little") if found.valid else -1
    return [value if bits >> row & 1 else None for row, value in enumerate(values)]


def hold(job_id, *devices, start_ms=0, end_ms=None, **more):
    return Holding(kind="job", cluster="c", job_id=job_id, start_ms=start_ms, end_ms=end_ms, devices=devices, **more)


def segmenter(*live, baselines=None):
    return Segmenter(ORIGIN, 0, live, baselines or {})


def closed(made, now_ms=60_000, live=()):
    return decode(encode(made.close(now_ms, DEVICES, live, {})))


def test_every_column_of_the_catalogue_can_be_written():
    writer = TableWriter(ROW_DTYPES)
    names = [*STRUCTURE, *(metric.name for metric in METRICS)]
    writer.add(dict.fromkeys(names, 1))
    table = writer.table()
    assert {name: column(table, name) for name in names} == {name: [1] for name in names}


@pytest.mark.parametrize("present", [{0}, {7, 8}, {1, 5, 16}, set(range(17))])
def test_validity_is_a_bitmap_least_significant_bit_first(present):
    writer = TableWriter(ROW_DTYPES)
    for row in range(17):
        writer.add({"ts_ms": row} | ({"power_w": row + 100} if row in present else {}))
    expected = [row + 100 if row in present else None for row in range(17)]
    assert column(writer.table(), "power_w") == expected


def test_rows_carry_values_and_the_reasons_for_missing_ones():
    made = segmenter()
    made.add(Row(0, 10_000, 10_000, {"util_pct": 705, "power_w": Reason.NOT_SUPPORTED}))
    made.add(Row(1, 10_000, 10_000, {"util_pct": Reason.FAILED, "power_w": 4000}))
    made.add(Row(0, 20_000, 10_000, {"util_pct": 0, "power_w": Reason.NOT_SUPPORTED}))
    segment = closed(made)
    assert column(segment.samples, "util_pct") == [705, None, 0]
    assert column(segment.samples, "power_w") == [None, 4000, None]
    assert column(segment.samples, "device") == [0, 1, 0]
    nulls = [(null.device, null.metric, null.reason, null.from_ms, null.to_ms) for null in segment.nulls]
    assert nulls == [(0, "power_w", "not_supported", 0, 20_000), (1, "util_pct", "failed", 0, 10_000)]


def test_a_reason_that_was_interrupted_is_two():
    made = segmenter()
    for ts_ms in (10_000, 30_000):
        made.add(Row(0, ts_ms, 10_000, {"util_pct": Reason.FAILED}))
    assert [(null.from_ms, null.to_ms) for null in closed(made).nulls] == [(0, 10_000), (20_000, 30_000)]


def test_a_row_belongs_to_the_only_hold_of_its_device():
    made = segmenter(hold("7", 0), hold("8", 1), hold("9", 1))
    for device in (0, 1):
        made.add(Row(device, 10_000, 10_000, {"util_pct": 0}))
    segment = closed(made)
    assert column(segment.samples, "holding") == [0, None]
    assert [holding.job_id for holding in segment.holdings] == ["7", "8", "9"]


def test_nothing_held_is_no_column():
    made = segmenter()
    made.add(Row(0, 10_000, 10_000, {"util_pct": 0}))
    assert "holding" not in closed(made).samples.columns


def test_what_begins_or_ends_is_a_difference_and_what_is_newly_known_is_not():
    made = segmenter(hold("7", 0))
    assert not made.differs([hold("7", 0, user="ada")], [])
    assert made.differs([], [])
    assert made.differs([hold("7", 0), hold("8", 1)], [])
    assert made.differs([hold("7", 0)], [hold("6", 1, end_ms=5)])
    assert closed(made).holdings[0].user == "ada"


def test_a_hold_that_ended_is_said_once_with_its_end():
    made = segmenter(hold("7", 0))
    made.note_ended([hold("7", 0, end_ms=9_000), hold("6", 1, start_ms=3_000, end_ms=4_000)])
    first = closed(made, live=())
    assert [(holding.job_id, holding.end_ms) for holding in first.holdings] == [("7", 9_000), ("6", 4_000)]
    assert closed(made, 120_000).holdings == ()


def test_baselines_hold_for_a_whole_segment():
    made = segmenter(baselines={0: 4})
    first = decode(encode(made.close(60_000, DEVICES, (), {0: 9, 1: 2})))
    assert [device.baseline_mib for device in first.devices] == [4, None]
    assert [device.baseline_mib for device in closed(made, 120_000).devices] == [9, 2]


def test_segments_follow_each_other_without_a_gap():
    made = segmenter()
    first, second = closed(made, 60_000), closed(made, 90_000)
    assert (first.seq, first.first_ms, first.last_ms) == (0, 0, 60_000)
    assert (second.seq, second.first_ms, second.last_ms) == (1, 60_000, 90_000)


def test_a_probe_has_one_record_with_its_worst():
    made = segmenter()
    made.note_probe(ProbeRun(probe="gpu", at_ms=1, duration_ms=3, rows=8))
    made.note_probe(ProbeRun(probe="gpu", at_ms=2, duration_ms=90, ok=False, error="hung"))
    made.note_probe(ProbeRun(probe="gpu", at_ms=3, duration_ms=4, rows=8))
    made.note_events([Event(ts_ms=1, kind="agent_started")])
    segment = closed(made)
    assert segment.probes == (ProbeRun(probe="gpu", at_ms=3, duration_ms=90, ok=False, rows=16, runs=3, error="hung"),)
    assert [event.kind for event in segment.events] == ["agent_started"]
