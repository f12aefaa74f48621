"""A node's list of GPUs keeps the order that Slurm counts in, or is not read at all."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.formats.gres_list import BadList, Place, printed_by_slurmd, written_in_gres_conf

RECORD = "slurmd: Gres Name={name} Type={kind} Count={count} Index=0 ID=7696487 File={files} {more}\n"


def printed(*records: str) -> list[str]:
    return [place.file for place in printed_by_slurmd("".join(records).encode()).places]


def record(files: str, count: int, name: str = "gpu", kind: str = "(null)", more: str = "(null)") -> str:
    return RECORD.format(name=name, kind=kind, count=count, files=files, more=more)


def numbers(files: list[str]) -> list[int]:
    return [int(file.removeprefix("/dev/nvidia")) for file in files]


def written(text: str, node: str = "n2") -> list[int]:
    return numbers([place.file for place in written_in_gres_conf(text.encode(), node).places])


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        # What slurmd 22.05.8 printed, and which device each IDX then opened.
        ([record("/dev/nvidia[4-7]", 4, kind="a100")], [4, 5, 6, 7]),
        ([record("/dev/nvidia7", 1), record("/dev/nvidia2", 1), record("/dev/nvidia[5,1]", 2)], [7, 2, 5, 1]),
        ([record("/dev/nvidia[3,1]", 2), record("/dev/nvidia[2,0]", 2)], [3, 1, 2, 0]),
        ([record("/dev/nvidia[2-3]", 2, kind="b"), record("/dev/nvidia4", 1, kind="a")], [2, 3, 4]),
        ([record("/dev/nvidia0", 2, "shard"), record("/dev/nvidia0", 1, more="Cores=0-3 CoreCnt=16 (null)")], [0]),
        ([record("/dev/nvidia1,/dev/nvidia[0,3]", 3, more="Links=-1,0,0 Flags=HAS_FILE,ENV_NVML")], [1, 0, 3]),
        (["slurmd: error: something about MPI\n", record("/dev/nvidia0", 1)], [0]),
        ([record("/dev/infiniband0", 1, "nic")], []),
        ([], []),
    ],
)
def test_what_slurmd_prints(records: list[str], expected: list[int]) -> None:
    assert numbers(printed(*records)) == expected


def test_a_mig_instance_is_known_by_its_uuid() -> None:
    caps = "/dev/nvidia0,/dev/nvidia-caps/nvidia-cap66,/dev/nvidia-caps/nvidia-cap67"
    assert printed_by_slurmd(record(caps, 1, more="UniqueId=MIG-1 Flags=HAS_FILE").encode()).places == (
        Place("/dev/nvidia0", "MIG-1"),
    )


@pytest.mark.parametrize(
    "records",
    [
        [record("(null)", 4)],
        [record("/dev/nvidia[0-3]", 2)],
        [record("/dev/nvidia0,/dev/nvidia-caps/nvidia-cap66", 1)],
        [record("/dev/nvidia0", 1), record("/dev/nvidia0", 1)],
        [record("/dev/nvidia[0-99999]", 100_000)],
        [record("/dev/nvidia[3-x]", 1)],
    ],
)
def test_what_leaves_a_place_open_is_no_list(records: list[str]) -> None:
    with pytest.raises(BadList):
        printed(*records)


@pytest.mark.parametrize("kind", ["shard", "mps"])
def test_whether_shares_are_given_away(kind: str) -> None:
    assert printed_by_slurmd((record("/dev/nvidia0", 2, kind) + record("/dev/nvidia0", 1)).encode()).shares
    assert not printed_by_slurmd(record("/dev/nvidia0", 1).encode()).shares
    text = f"NodeName=n1 Name={kind} Count=8\nName=gpu File=/dev/nvidia0".encode()
    assert [written_in_gres_conf(text, node).shares for node in ("n1", "n2")] == [True, False]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Name=gpu File=/dev/nvidia[4-7]", [4, 5, 6, 7]),
        (
            "AutoDetect=off\nname=gpu type=a100 file=/dev/nvidia[5,1] # two\nName=gpu Type=a100 \\\n File=/dev/nvidia0",
            [5, 1, 0],
        ),
        ("NodeName=n[1-3] Name=gpu File=/dev/nvidia[3,1]\nNodeName=n9 Name=gpu File=/dev/nvidia6", [3, 1]),
        ("NodeName=n9 AutoDetect=nvml\nNodeName=n2 Name=gpu File=/dev/nvidia0", [0]),
        ("NodeName=n2 Name=gpu File=/dev/nvidia0\nNodeName=n2 Name=shard Count=8", [0]),
        ("NodeName=n9 Name=gpu Type=b File=/dev/nvidia0\nName=gpu Type=a File=/dev/nvidia1", [1]),
        ("", []),
    ],
)
def test_both_kinds_of_gres_conf(text: str, expected: list[int]) -> None:
    assert written(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "AutoDetect=nvml\nName=gpu File=/dev/nvidia0",
        "NodeName=n2 AutoDetect=nvml",
        "Include /etc/slurm/gpus.conf",
        "Name=gpu Count=4",
        "Name=gpu MultipleFiles=/dev/nvidia0,/dev/nvidia1",
        "Name=gpu Type=a File=/dev/nvidia0\nName=gpu Type=b File=/dev/nvidia1",
        "Name=gpu File=/dev/nvidia0\nName=gpu File=/dev/nvidia[0-1]",
        "Name=gpu File=/dev/nvidia[a-b]",
    ],
)
def test_what_only_slurmd_knows_is_not_read_from_the_file(text: str) -> None:
    with pytest.raises(BadList):
        written(text)


@given(st.binary(max_size=300))
def test_anything_else_is_a_list_or_is_refused(data: bytes) -> None:
    for read in (printed_by_slurmd, lambda given: written_in_gres_conf(given, "n2")):
        with contextlib.suppress(BadList):
            assert all(place.file for place in read(data).places)
