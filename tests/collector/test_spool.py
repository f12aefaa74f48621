import os
import shutil
import subprocess
import sys
import time

import pytest

from collector.spool import Spool, SpoolBusy, SpoolUnusable
from store.segment import Segment, Table, encode

NOW_S = 1_800_000_000


def segment(seq, rows=0):
    made = Segment(
        node="n1", boot_id="b", seq=seq, cluster="c", agent="0", interval_ms=10_000,
        first_ms=0, last_ms=0, written_ms=0, samples=Table(rows, {}),
    )  # fmt: skip
    return made.name, encode(made)


@pytest.fixture
def open_spool(tmp_path):
    opened = []

    def make(max_bytes=1 << 20, max_age_s=1e9):
        opened.append(Spool(tmp_path / "spool", max_bytes, max_age_s))
        return opened[-1]

    make.directory = tmp_path / "spool"
    yield make
    for spool in opened:
        spool.close()


def names(spool):
    found = []
    while (name := spool.oldest()) is not None:
        found.append(name)
        spool.acknowledge(name)
    return found


def test_segments_come_out_oldest_first_and_go_when_acknowledged(open_spool):
    spool = open_spool()
    for seq in range(3):
        assert spool.put(*segment(seq)) == ""
    assert spool.read(spool.oldest()) == segment(0)[1]
    assert names(spool) == [segment(seq)[0] for seq in range(3)]
    assert list(open_spool.directory.glob("*.segment")) == []


def test_they_outlive_the_agent_in_order_and_half_written_ones_do_not(open_spool):
    first = open_spool()
    for seq in (2, 0, 1):
        first.put(*segment(seq))
    first.close()
    (open_spool.directory / "n1~b~0000000009.tmp").write_bytes(b"GPUL half")
    again = Spool(open_spool.directory, 1 << 20, 1e9)
    assert names(again) == [segment(seq)[0] for seq in (2, 0, 1)]
    assert list(open_spool.directory.glob("*.tmp")) == []
    again.close()


def test_a_second_agent_is_told_who_was_first(open_spool):
    open_spool()
    with pytest.raises(SpoolBusy, match=f"PID {os.getpid()}"):
        open_spool()


def test_the_lock_of_an_agent_that_was_killed_is_free(open_spool):
    code = (
        "import os, pathlib, sys; from collector.spool import Spool;"
        "Spool(pathlib.Path(sys.argv[1]), 1, 1); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", code, str(open_spool.directory)], check=False)
    open_spool()


def test_a_place_that_cannot_be_a_directory_is_one_sentence(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(SpoolUnusable, match=r"set collector\.spool_dir"):
        Spool(tmp_path / "file" / "spool", 1, 1)


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-3], lambda data: data[:-1] + b"x", lambda data: b"", lambda data: b"abc" * 9]
)
def test_damaged_segments_are_moved_aside_with_the_reason(open_spool, damage):
    spool = open_spool()
    name, data = segment(0)
    spool.put(name, data)
    (open_spool.directory / f"{name}.segment").write_bytes(damage(data))
    assert spool.read(name) is None
    assert spool.oldest() is None
    assert (open_spool.directory / "refused" / f"{name}.segment").exists()
    assert "segment" in (open_spool.directory / "refused" / f"{name}.txt").read_text()


def test_a_segment_that_somebody_deleted_is_passed_over(open_spool):
    spool = open_spool()
    spool.put(*segment(0))
    spool.put(*segment(1))
    (open_spool.directory / f"{segment(0)[0]}.segment").unlink()
    assert spool.read(segment(0)[0]) is None
    assert spool.oldest() == segment(1)[0]


def test_the_oldest_go_first_when_it_is_full_and_their_rows_are_counted(open_spool):
    size = len(segment(0, rows=8)[1])
    spool = open_spool(max_bytes=3 * size)
    for seq in range(5):
        spool.put(*segment(seq, rows=8))
    dropped = spool.trim(time.time())
    assert (dropped.segments, dropped.rows) == (2, 16)
    assert names(spool) == [segment(seq)[0] for seq in (2, 3, 4)]


def test_refused_ones_make_room_before_any_that_may_still_be_delivered(open_spool):
    size = len(segment(0)[1])
    spool = open_spool(max_bytes=2 * size)
    for seq in range(3):
        spool.put(*segment(seq))
    spool.refuse(segment(2)[0], "foreign")
    assert spool.trim(time.time()).segments == 0
    assert list((open_spool.directory / "refused").iterdir()) == []
    assert len(spool) == 2


def test_what_is_too_old_goes(open_spool):
    spool = open_spool(max_age_s=3600)
    spool.put(*segment(0, rows=3))
    spool.put(*segment(1))
    os.utime(open_spool.directory / f"{segment(0)[0]}.segment", (NOW_S, NOW_S))
    os.utime(open_spool.directory / f"{segment(1)[0]}.segment", (NOW_S + 3000, NOW_S + 3000))
    assert spool.trim(NOW_S + 3700).rows == 3
    assert spool.oldest() == segment(1)[0]


def test_what_the_disk_does_not_take_waits_in_memory_and_is_delivered_from_there(open_spool):
    spool = open_spool()
    spool.put(*segment(0))
    shutil.rmtree(open_spool.directory)
    assert "takes no segment" in spool.put(*segment(1))
    assert spool.read(segment(1)[0]) == segment(1)[1]
    open_spool.directory.mkdir()
    assert spool.put(*segment(2)) == ""
    assert sorted(path.stem for path in open_spool.directory.glob("*.segment")) == [segment(1)[0], segment(2)[0]]


FULL_DISK = """
import pathlib, resource, sys
from collector.spool import Spool
from tests.collector.test_spool import segment
spool = Spool(pathlib.Path(sys.argv[1]), 1 << 20, 1e9)
spool.put(*segment(0))
resource.setrlimit(resource.RLIMIT_FSIZE, (10, resource.RLIM_INFINITY))
problem = spool.put(*segment(1))
assert "takes no segment" in problem, problem
assert len(spool) == 2
assert not list(pathlib.Path(sys.argv[1]).glob("*.tmp"))
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
assert spool.put(*segment(2)) == ""
"""


def test_a_disk_that_is_full_loses_nothing(open_spool):
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(open_spool.directory)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert len(list(open_spool.directory.glob("*.segment"))) == 3


def test_memory_is_bounded_too(open_spool):
    spool = open_spool()
    shutil.rmtree(open_spool.directory)
    problems = [spool.put(*segment(seq)) for seq in range(245)]
    assert "had to be dropped" in problems[-1]
    assert len(spool) == 240
