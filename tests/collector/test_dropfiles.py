"""Drop-files: what is read, what is refused, and when a change is noticed."""

import os
import time

import pytest

from collector.dropfiles import BadDropFile, DropFile, DropFolder, parse

WHOLE = b"""JOB=12
RESTART=2
START=1700000000
CLUSTER=alpha
GPUS=0,3
VISIBLE=GPU-aa,GPU-bb
UID=4000000000
USER=alice
ACCOUNT=a=b
PARTITION=gpu
NAME=train
SHARES=50
BOOT=52e6552c
NEW=of a later version
"""


def test_every_key():
    assert parse("12.2", WHOLE) == DropFile(
        name="12.2", job_id="12", restart=2, start_s=1_700_000_000, cluster="alpha", positions=("0", "3"),
        visible=("GPU-aa", "GPU-bb"), uid=4_000_000_000, user="alice", account="a=b", partition="gpu", job_name="train",
        shared=True, boot="52e6552c",
    )  # fmt: skip


def test_an_end_mark_is_of_the_same_name_and_never_ends_before_it_began():
    mark = parse("12.2.end", WHOLE + b"END=1699999999\n")
    assert (mark.name, mark.end_s) == ("12.2", 1_700_000_000)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("12.0", b""),
        ("12.0", b"JOB=12\n"),
        ("12.0", b"START=5\n"),
        ("12.0", b"JOB=12a\nSTART=5\n"),
        ("12.0", "JOB=\u0661\nSTART=5\n".encode()),
        ("12.0", b"JOB=12\nSTART=soon\n"),
        ("12.0", b"JOB=12\nSTART=" + b"9" * 30),
        ("12.0.end", b"JOB=12\nSTART=5\n"),
        ("12.0", b"JOB=12\nSTART=5\nNAME=" + b"x" * 70_000),
        ("12.0", b"\xff\xfe\x00"),
    ],
)
def test_what_is_no_drop_file_is_refused(name, data):
    with pytest.raises(BadDropFile):
        parse(name, data)


def put(folder, name, text="JOB=12\nSTART=5\nGPUS=0\n"):
    fresh = folder / f".{name}.1"
    fresh.write_text(text)
    fresh.rename(folder / name)


@pytest.fixture
def folder(tmp_path):
    return DropFolder(tmp_path)


def now_ms():
    return time.time_ns() // 1_000_000


def test_coming_and_going_is_noticed(folder, tmp_path):
    assert folder.read(now_ms()) == ([], [])
    assert not folder.changed()
    put(tmp_path, "12.0")
    assert folder.changed()
    assert [file.job_id for file in folder.read(now_ms())[0]] == ["12"]
    assert not folder.changed()
    (tmp_path / "12.0").unlink()
    assert folder.changed()
    assert folder.read(now_ms()) == ([], [])


def test_a_change_within_the_same_tick_of_the_clock_is_noticed(folder, tmp_path):
    put(tmp_path, "12.0")
    stamp_ns = tmp_path.stat().st_mtime_ns
    folder.read(now_ms())
    put(tmp_path, "13.0")
    os.utime(tmp_path, ns=(stamp_ns, stamp_ns))
    assert folder.changed()


def test_a_file_that_takes_the_place_of_another_is_read(folder, tmp_path):
    put(tmp_path, "12.0")
    folder.read(now_ms())
    put(tmp_path, "12.0", "JOB=12\nSTART=77\n")
    assert folder.changed()
    assert [file.start_s for file in folder.read(now_ms())[0]] == [77]


def test_other_things_in_the_folder_do_no_harm(folder, tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "gone").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "pipe")
    put(tmp_path, "12.0", "nonsense")
    put(tmp_path, "13.0")
    (tmp_path / ".14.0.77").write_text("JOB=14\nSTART=5\n")
    good, bad = folder.read(now_ms())
    assert [file.name for file in good] == ["13.0"]
    assert {name for name, _ in bad} == {"12.0", "pipe"}
    assert not folder.changed()


def test_a_folder_that_is_not_there_holds_nothing(tmp_path):
    folder = DropFolder(tmp_path / "none")
    assert folder.read(now_ms()) == ([], [])
    assert not folder.changed()
    (tmp_path / "none").mkdir()
    put(tmp_path / "none", "12.0")
    assert folder.changed()


def test_its_own_removing_is_no_change(folder, tmp_path):
    put(tmp_path, "12.0.end", "JOB=12\nSTART=5\nEND=6\n")
    (mark,), _ = folder.read(now_ms())
    folder.remove(mark)
    assert list(tmp_path.iterdir()) == []
    assert not folder.changed()
    put(tmp_path, "13.0")
    assert folder.changed()
