"""What a site's own Prolog wrote about a GPU is read, or refused in a few words."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.formats.gpu_files import LARGEST_BYTES, BadGpuFile, GpuFile, dcgm_mapping, jobstats

UUID = "MIG-1b2c3d4e-0000-1111-2222-333344445555"


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("0", b"4711 1001\n", GpuFile("0", ("4711",), 1001)),
        (UUID, b"4711 1001", GpuFile(UUID, ("4711",), 1001)),
        ("1", b"4711", GpuFile("1", ("4711",))),
        ("1", b"\n", GpuFile("1", ())),
    ],
)
def test_a_file_of_jobstats(name: str, data: bytes, expected: GpuFile) -> None:
    assert jobstats(name, data) == expected


@pytest.mark.parametrize(
    ("data", "jobs"), [(b"4711\n", ("4711",)), (b"12\n13\n12\n", ("12", "13")), (b"12 13", ("12", "13")), (b"", ())]
)
def test_a_file_of_dcgm_s_mapping(data: bytes, jobs: tuple[str, ...]) -> None:
    assert dcgm_mapping("3", data) == GpuFile("3", jobs)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("0", b"job 1001"),
        ("0", b"4711 alice"),
        ("0", b"4711 1001 x"),
        ("0", b"0 0"),
        ("1.0", b"4711"),  # an instance, by DCGM's own count
        ("readme", b"4711"),
        ("0", b"1" * (LARGEST_BYTES + 1)),
    ],
)
def test_what_says_nothing_about_a_gpu(name: str, data: bytes) -> None:
    for read in (jobstats, dcgm_mapping):
        if read is dcgm_mapping and b"1001" in data:
            continue
        with pytest.raises(BadGpuFile):
            read(name, data)


@given(st.text(max_size=20), st.binary(max_size=60))
def test_anything_else_is_a_file_or_is_refused(name: str, data: bytes) -> None:
    for read in (jobstats, dcgm_mapping):
        with contextlib.suppress(BadGpuFile):
            assert all(job.isdecimal() for job in read(name, data).job_ids)
