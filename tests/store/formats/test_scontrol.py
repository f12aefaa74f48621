"""`scontrol -o show`: nodes, partitions and reservations as 22.05 and 24.11 print them, and what is no such thing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.formats.sacctmgr import parse_accounts
from store.formats.scontrol import parse_nodes, parse_partitions, parse_reservations
from store.formats.sreport import parse_usage
from store.segment import GpuGroup, standing

AT_MS = 1_800_000_000_000


def line(name="g01", state="IDLE", gres="gpu:a100:4(S:0-1)", used="gpu:a100:3(IDX:0-1,3)", after=""):
    """A node as 22.05 prints it; 24.11 leaves some keys out and adds others, which nobody reads."""
    return (
        f"NodeName={name} Arch=x86_64 CoresPerSocket=16  CPUAlloc=2 CPUEfctv=30 CPUTot=32 CPULoad=4.35 "
        f"AvailableFeatures=(null) ActiveFeatures=(null) Gres={gres} GresDrain=N/A GresUsed={used} NodeAddr=10.0.0.1 "
        f"NodeHostName={name} Version=22.05.8 OS=Linux 6.1 #1 SMP @0  RealMemory=64000 AllocMem=1536 FreeMem=12930 "
        f"State={state} ThreadsPerCore=1 Owner=N/A Partitions=gpu,debug  BootTime=1799990000 SlurmdStartTime=1 "
        f"CfgTRES=cpu=16,mem=62.50G,billing=54,gres/gpu=4 AllocTRES=cpu=2 {after}\n"
    )


def node(**parts):
    (found,) = parse_nodes(line(**parts).encode(), AT_MS).found
    return found


def test_a_node():
    found = node()
    assert (found.name, found.at_ms, found.state, found.flags) == ("g01", AT_MS, "IDLE", ())
    assert (found.gpus, found.gpus_used) == ((GpuGroup(type="a100", count=4),), 3)
    assert (found.cpus, found.cpus_used, found.mem_mib, found.mem_used_mib) == (30, 2, 64000, 1536)
    assert (found.partitions, found.version, found.boot_ms) == (("gpu", "debug"), "22.05.8", 1_799_990_000_000)
    assert (found.reason, found.reason_ms) == (None, None)


@pytest.mark.parametrize(
    ("gres", "groups"),
    [
        ("(null)", ()),
        ("gpu:4", (GpuGroup(count=4),)),
        ("gpu:3090:4(S:0)", (GpuGroup(type="3090", count=4),)),
        ("shard:a100:16,gpu:a100:2,gpu:v100:1", (GpuGroup(type="a100", count=2), GpuGroup(type="v100", count=1))),
        ("gpu:a100_1g.5gb:7(S:0)", (GpuGroup(type="a100_1g.5gb", count=7),)),
        ("mygpu:4", ()),
    ],
)
def test_generic_resources(gres, groups):
    assert node(gres=gres).gpus == groups


def test_a_reason_may_hold_anything_and_comes_with_its_moment():
    found = node(state="DOWN+DRAIN+NOT_RESPONDING", after="Reason=a=b State=IDLE Gres=gpu:99 [x] [root@1799999000]")
    assert (found.state, found.flags) == ("DOWN", ("DRAIN", "NOT_RESPONDING"))
    assert found.gpus == (GpuGroup(type="a100", count=4),)
    assert (found.reason, found.reason_ms) == ("a=b State=IDLE Gres=gpu:99 [x]", 1_799_999_000_000)


def test_a_reason_of_two_lines_is_one_node():
    text = line(after="Reason=first\nsecond [root@1799999000]") + line("g02")
    assert [found.name for found in parse_nodes(text.encode(), AT_MS).found] == ["g01", "g02"]


@pytest.mark.parametrize(
    ("state", "stands"),
    [
        ("IDLE", "up"),
        ("MIXED+PLANNED", "up"),
        ("IDLE+CLOUD+POWERED_DOWN", "up"),
        ("IDLE~", "up"),
        ("IDLE*", "up"),
        ("DOWN+POWERED_DOWN", "offline"),
        ("DOWN*", "offline"),
        ("MIXED+DRAIN", "offline"),
        ("IDLE+MAINTENANCE+RESERVED", "offline"),
        ("IDLE+RESERVED", "reserved"),
    ],
)
def test_where_a_node_stands(state, stands):
    found = node(state=state)
    assert standing(found.state, found.flags) == stands


def test_nodes_of_the_future_do_not_exist_yet():
    assert parse_nodes(line(state="FUTURE").encode(), AT_MS) == ((), ())


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (line(name="a/../b"), "is no name"),
        (line(state="<b>"), "has no state"),
        (line(gres="gpu:999999"), "more than 1024 GPUs"),
    ],
)
def test_what_cannot_be_is_refused_and_the_next_is_read(text, reason):
    parsed = parse_nodes((text + line("g02")).encode(), AT_MS)
    assert [found.name for found in parsed.found] == ["g02"]
    assert reason in parsed.refusals[0].reason


def test_times_that_are_no_seconds_are_not_known():
    text = line().replace("BootTime=1799990000", "BootTime=2026-11-30T18:21:51")
    assert parse_nodes(text.encode(), AT_MS).found[0].boot_ms is None


def test_partitions():
    text = (
        "PartitionName=gpu AllowGroups=ALL Default=YES MaxTime=2-00:00:00 Nodes=g[01-02],h1 State=UP TotalNodes=3\n"
        "PartitionName=long AllowGroups=ALL Default=NO MaxTime=UNLIMITED Nodes=(null) State=DOWN\n"
    )
    gpu, long = parse_partitions(text.encode()).found
    assert (gpu.name, gpu.nodes, gpu.max_time_s, gpu.is_default) == ("gpu", ("g01", "g02", "h1"), 172800, True)
    assert (long.name, long.nodes, long.max_time_s, long.is_default, long.state) == ("long", (), None, False, "DOWN")


def test_reservations_and_the_sentence_where_there_is_none():
    assert parse_reservations(b"No reservations in the system\n") == ((), ())
    text = (
        "ReservationName=root_1 StartTime=1800000000 EndTime=1800003600 Duration=01:00:00 Nodes=g[01-02] NodeCnt=2 "
        "Flags=MAINT,IGNORE_JOBS,SPEC_NODES Users=root State=ACTIVE\nReservationName=odd StartTime=now EndTime=1\n"
    )
    parsed = parse_reservations(text.encode())
    (found,) = parsed.found
    assert (found.name, found.start_ms, found.end_ms) == ("root_1", 1_800_000_000_000, 1_800_003_600_000)
    assert (found.nodes, found.flags) == (("g01", "g02"), ("IGNORE_JOBS", "MAINT", "SPEC_NODES"))
    assert "no beginning" in parsed.refusals[0].reason


def test_accounts_and_the_ones_above_them():
    text = "alpha|root||\nalpha|root||root\nalpha|physics|root|\nalpha|physics||alice\nalpha|laser|physics|\nx|y\n"
    parsed = parse_accounts(text.encode())
    assert [(found.name, found.parent) for found in parsed.found] == [
        ("root", None), ("physics", "root"), ("laser", "physics"),
    ]  # fmt: skip
    assert len(parsed.refusals) == 1


def test_what_people_of_an_account_used():
    text = (
        "alpha|root||gres/gpu|190\nalpha|bio||gres/gpu|190\nalpha|bio|ann|gres/gpu|90\nalpha|bio|bob|gres/gpu|100\nx\n"
    )
    parsed = parse_usage(text.encode(), AT_MS)
    assert [(one.cluster, one.account, one.gpu_s, one.day_ms) for one in parsed.found] == [("alpha", "bio", 190, AT_MS)]
    assert len(parsed.refusals) == 1


@given(st.binary(max_size=300) | st.text(max_size=300).map(lambda text: (line(after=text) + text).encode()))
def test_any_bytes_give_records_or_refusals(data):
    parse_nodes(data, AT_MS)
    parse_partitions(data)
    parse_reservations(data)
    parse_accounts(data)
    parse_usage(data, AT_MS)
