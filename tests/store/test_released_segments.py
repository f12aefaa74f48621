"""Segments as released versions wrote them are read by this one and come to the same as if they were written today.

`released/VERSION.b64` holds them, one a line in base64: nodes that were not upgraded go on sending them, and spools and
inboxes keep them for days. GOLDEN=write adds the file of a version that has none, never another.
"""

import base64
import os
import zlib
from pathlib import Path
from typing import Any

import msgspec
import pytest

import gpuledger
from store import segment as format
from store.database import Database
from store.ingest import ingest
from store.rollup import roll_up
from store.segment import (
    Event,
    LiveRun,
    NullReason,
    PendingGpus,
    ProbeRun,
    ProcessSeen,
    QueuePoll,
    Segment,
    decode,
    encode,
    read_head,
)
from tests.store.building import (
    HOUR,
    MINUTE,
    NOW,
    T0,
    empty_store,
    gpu,
    hold,
    host,
    hosts,
    inventory,
    packed,
    segment,
    steady,
    told,
    word,
)

FOLDER = Path(__file__).parent / "released"
RELEASED = sorted(FOLDER.glob("*.b64"))


def said() -> list[Segment]:
    """What the file of every version says: something in each part that a segment has had since 0.1.0."""
    end_ms = T0 + 10 * MINUTE
    readings = {"util_pct": 873, "mem_used_mib": 40_960, "power_w": 4120, "energy_j": 4120, "temp_c": 61}
    rows = [
        *steady(T0, end_ms, 0, 0, **readings),
        *steady(T0, end_ms, 1, util_pct=0, mem_used_mib=3, power_w=None),
    ]
    node = segment(
        rows,
        devices=(gpu("GPU-a", minor=0, driver_version="550.54", power_limit_w=700.0), gpu("GPU-b", index=1)),
        holdings=(hold(end_ms=end_ms, uid=1001, account="physics", partition="gpu", name="train"),),
        events=(Event(ts_ms=T0 + MINUTE, kind="gpu_lost", device=1, detail="fell off the bus"),),
        nulls=(NullReason(device=1, metric="power_w", reason="failed", from_ms=T0, to_ms=end_ms),),
        processes=(ProcessSeen(device=0, pid=71, name="python", uid=1001, from_ms=T0, to_ms=end_ms, holding=0),),
        probes=(ProbeRun(probe="gpu", at_ms=T0, duration_ms=2.5, rows=len(rows)),),
        hosts=hosts(host(T0 + MINUTE, 30_000, span_ms=MINUTE, mem_mib=900)),
    )
    live = LiveRun(cluster="c1", job_id_raw="101", job_id="101", state="RUNNING", start_ms=T0, user="bob", alloc_gpus=1)
    pending = PendingGpus(partition="gpu", jobs=2, gpus=8)
    poll = QueuePoll(at_ms=T0, until_ms=T0 + MINUTE, pending=(pending,), runs=(live,))
    controller = segment(
        node="ctl", devices=(), accounting=(told(end_ms=end_ms, exit_code="0:0"),), queue=(poll,), first_ms=end_ms
    )
    return [node, controller, inventory(word(gpus=2), at_ms=T0, seq=1)]


def state(directory: Path, batch: list[tuple[str, bytes]]) -> dict[str, list[tuple[Any, ...]]]:
    """Returns the content of every table of a store that got these segments."""
    with empty_store(directory) as database:
        found = ingest(database, batch, NOW)
        assert (found.segments, found.quarantined) == (len(batch), 0)
        while roll_up(database):
            pass
        with database.cursor() as cursor:
            tables = cursor.tuples("SELECT table_name FROM duckdb_tables() ORDER BY table_name")
            return {name: cursor.tuples(f'FROM "{name}" ORDER BY ALL') for (name,) in tables}


def read(path: Path) -> list[bytes]:
    return [base64.b64decode(line) for line in path.read_text(encoding="ascii").split()]


@pytest.mark.parametrize("path", RELEASED, ids=lambda path: path.stem)
def test_a_released_version_s_segments_come_to_the_same(path: Path, tmp_path: Path) -> None:
    written = [(read_head(data)[0].name, data) for data in read(path)]
    assert state(tmp_path / "old", written) == state(tmp_path / "new", packed(*said()))


def test_this_version_has_its_file() -> None:
    path = FOLDER / f"{gpuledger.__version__}.b64"
    if os.environ.get("GOLDEN") == "write" and not path.exists():
        path.write_text("".join(f"{base64.b64encode(encode(each)).decode()}\n" for each in said()), encoding="ascii")
    assert [decode(data).name for data in read(path)] == [each.name for each in said()]


def test_what_an_older_agent_does_not_say_is_not_known() -> None:
    """A body with nothing but what there has to be, as the first agent would write it of an idle minute."""
    whole = segment(devices=())
    body = {
        name: getattr(whole, name)
        for name in ("node", "boot_id", "seq", "cluster", "agent", "interval_ms", "first_ms", "last_ms", "written_ms")
    }
    assert decode(_sealed(whole, msgspec.msgpack.encode(body))) == segment(devices=(), slurm=False)


def test_a_later_format_is_put_aside_with_the_next_step(database: Database) -> None:
    """As where a hub is set back to an earlier version while segments wait in its inbox."""
    data = bytearray(encode(segment()))
    data[4] = format.VERSION + 1
    good = segment(steady(T0, T0 + HOUR), seq=1)
    result = ingest(database, [("later", bytes(data)), *packed(good)], NOW)
    assert (result.segments, result.quarantined) == (1, 1)
    with database.cursor() as cursor:
        [(reason,)] = cursor.tuples("SELECT reason FROM quarantine")
    assert reason == "segment format 2 is not known here (this hub reads 1); upgrade the hub"
    assert (database.directory / "quarantine" / "later.seg").read_bytes() == bytes(data)


def test_a_later_agent_s_columns_and_fields_do_no_harm(database: Database) -> None:
    """Columns are counted by name, fields of parts are passed over."""
    whole = segment(steady(T0, T0 + HOUR, util_pct=5))
    content = msgspec.msgpack.decode(msgspec.msgpack.encode(whole)) | {"novelty": [1, 2]}
    content["samples"]["columns"]["fan_rpm"] = {"dtype": "u2", "data": bytes(720), "valid": b""}
    data = _sealed(whole, msgspec.msgpack.encode(content))
    assert ingest(database, [(whole.name, data)], NOW).segments == 1
    with database.cursor() as cursor:
        assert cursor.tuples("FROM unknown_column") == [("fan_rpm",)]
        assert cursor.scalar("SELECT count(*) FROM hot WHERE util_pct = 5") == 360


def _sealed(whole: Segment, content: bytes) -> bytes:
    """Returns a segment with the head of a whole one and another content."""
    head, _ = read_head(encode(whole))
    body = zlib.compress(content, 1)
    fitting = msgspec.structs.replace(head, body_bytes=len(body), body_crc=zlib.crc32(body))
    encoded = msgspec.msgpack.encode(fitting)
    return format._PREFIX.pack(format.MAGIC, format.VERSION, len(encoded)) + encoded + body
