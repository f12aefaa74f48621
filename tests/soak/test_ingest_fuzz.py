"""A segment that can be read and means nonsense harms no other: each is stored or quarantined, and the rest goes on."""

import zlib
from pathlib import Path

import msgspec
import pytest

from store import segment as segments
from store.database import Database
from store.ingest import ingest
from store.rollup import roll_up
from store.segment import Event, NullReason, ProbeRun, Segment, SegmentError
from tests.soak.plugin import Soak
from tests.soak.test_segment_fuzz import damaged, sealed
from tests.store.building import MINUTE, NOW, T0, gpu, hold, names_of, segment, steady, told

pytestmark = pytest.mark.soak


def full(seq: int) -> Segment:
    """Return a segment of a node with two GPUs, one held by a job, with something in each of its parts."""
    return segment(
        [
            *steady(T0, T0 + MINUTE, 0, 0, util_pct=500, mem_used_mib=2000, power_w=3000),
            *steady(T0, T0 + MINUTE, 1, util_pct=0),
        ],
        seq=seq,
        devices=(gpu(), gpu("GPU-1", index=1)),
        holdings=(hold(devices=(0,)),),
        accounting=(told(end_ms=T0 + MINUTE),),
        events=(Event(ts_ms=T0, kind="gpu_lost", device=0),),
        nulls=(NullReason(device=0, metric="temp_c", reason="failed", from_ms=T0, to_ms=T0 + MINUTE),),
        probes=(ProbeRun(probe="gpu", at_ms=T0, duration_ms=2.5),),
    )


def test_nonsense_is_stored_or_quarantined_alone(soak: Soak, tmp_path: Path) -> None:
    whole = segments.encode(full(0))
    head, offset = segments.read_head(whole)
    content = zlib.decompress(whole[offset:])
    with Database.open(tmp_path / "data") as database:
        for random in soak.rounds():
            odd = []
            while len(odd) < 5:
                try:
                    readable = segments.decode(sealed(head, damaged(random, content)))
                except SegmentError:
                    continue
                # A name of its own, so that it is not passed over as stored already.
                own = msgspec.structs.replace(readable, boot_id=f"odd{len(odd)}", seq=soak.round)
                odd.append((own.name, segments.encode(own)))
            good = full(soak.round)
            result = ingest(database, [*odd, (good.name, segments.encode(good))], NOW)
            assert result.segments + result.quarantined == len(odd) + 1
            with database.cursor() as cursor:
                assert good.name in names_of(cursor)
            while roll_up(database):
                pass
