"""Whatever bytes arrive, decoding a segment gives a segment or one sentence, never another exception."""

import zlib
from random import Random

import msgspec
import pytest

from store import segment as segments
from store.segment import (
    AccountingRun,
    Column,
    Device,
    Event,
    Holding,
    NullReason,
    ProbeRun,
    ProcessSeen,
    Segment,
    Table,
)
from tests.soak.plugin import Soak

pytestmark = pytest.mark.soak


def sample() -> Segment:
    """Return a segment with something in each of its parts."""
    return Segment(
        node="node1",
        boot_id="boot",
        seq=7,
        cluster="alpha",
        agent="0.1.0",
        interval_ms=10_000,
        first_ms=1_000,
        last_ms=31_000,
        written_ms=32_000,
        slurm=True,
        devices=(Device(uuid="GPU-1", index=0, model="NVIDIA H100", mem_total_mib=81_559),),
        holdings=(Holding(kind="job", cluster="alpha", job_id="12", start_ms=500, user="ada", devices=(0,)),),
        samples=Table(
            rows=3,
            columns={
                "ts_ms": Column("i8", b"".join(ms.to_bytes(8, "little") for ms in (11_000, 21_000, 31_000))),
                "util_pct": Column("u2", b"\x00\x00\x10\x00\x20\x00", b"\x05"),
            },
        ),
        accounting=(AccountingRun(cluster="alpha", db_index=3, job_id_raw="12", job_id="12", state="COMPLETED"),),
        events=(Event(ts_ms=11_000, kind="gpu_lost", device=0),),
        nulls=(NullReason(device=0, metric="power_w", reason="failed", from_ms=0, to_ms=9),),
        processes=(ProcessSeen(device=0, pid=71, name="python", uid=1001, from_ms=11_000, to_ms=31_000, holding=0),),
        probes=(ProbeRun(probe="gpu", at_ms=11_000, duration_ms=2.5),),
    )


def damaged(random: Random, data: bytes) -> bytes:
    """Return the bytes after one to four accidents: a flipped byte, a cut, a repeated or a foreign stretch."""
    result = bytearray(data)
    for _ in range(random.randint(1, 4)):
        start = random.randrange(len(result) + 1)
        end = min(len(result), start + random.randint(0, 16))
        accident = random.randrange(4)
        if accident == 0 and start < len(result):
            result[start] = random.randrange(256)
        elif accident == 1:
            del result[start:end]
        elif accident == 2:
            result[start:start] = result[start:end]
        else:
            result[start:end] = random.randbytes(end - start)
    return bytes(result)


def sealed(head: segments.Head, content: bytes) -> bytes:
    """Return a segment whose checksum is right and whose content is not: what a faulty writer would send."""
    body = zlib.compress(content, 1)
    fitting = msgspec.structs.replace(head, body_bytes=len(body), body_crc=zlib.crc32(body))
    encoded = msgspec.msgpack.encode(fitting)
    return segments._PREFIX.pack(segments.MAGIC, segments.VERSION, len(encoded)) + encoded + body


def test_damaged_bytes_are_refused_in_a_sentence(soak: Soak) -> None:
    whole = segments.encode(sample())
    head, offset = segments.read_head(whole)
    content = zlib.decompress(whole[offset:])
    for random in soak.rounds():
        for _ in range(200):
            data = damaged(random, whole) if random.random() < 0.5 else sealed(head, damaged(random, content))
            try:
                segments.decode(data)
            except segments.SegmentError as error:
                assert str(error).isprintable()  # noqa: PT017 - either outcome is right, another exception is not
