"""Single values as Slurm writes them, sentinels and all."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from store.formats import slurm_values as slurm


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("00:00:26", 26), ("1-16:59:47", 147587), ("00:00.192", 0.192), ("03:22:47", 12167), ("10-00:00:00", 864000),
        ("100:00:00", 360000), ("17:59.250", 1079.25),
        ("", None), ("UNLIMITED", None), ("Partition_Limit", None), ("INVALID", None), ("26", None), ("1:2:3:4", None),
    ],
)  # fmt: skip
def test_durations(value, seconds):
    assert slurm.duration_s(value) == seconds


@pytest.mark.parametrize(
    ("value", "mib"),
    [
        ("512M", 512), ("1.50G", 1536), ("524288K", 512), ("1T", 1 << 20), ("2048", 2048), ("0", 0),
        ("", None), ("16E", None), ("18446744073709551615", None), ("9223372036854775808K", None), ("4Gc", None),
        ("4Gn", None), ("?", None), ("-1M", None),
    ],
)  # fmt: skip
def test_memory(value, mib):
    assert slurm.memory_mib(value, bare_mib=1) == mib


def test_memory_without_a_unit_may_be_bytes():
    assert slurm.memory_mib("3461120", bare_mib=1 / (1 << 20)) == pytest.approx(3.3, abs=0.01)


@pytest.mark.parametrize(("value", "expected"), [("4Gn", (4096, "n")), ("100Mc", (100, "c")), ("0c", (0, "c"))])
def test_memory_per_node_or_cpu(value, expected):
    assert slurm.amount_per(value, bare_mib=1) == expected


@pytest.mark.parametrize(
    "value",
    ["65534", "4294967294", "4294967295", "18446744073709551614", "18446744073709551615", "-2", "-1", "", "x", "1.5"],
)
def test_sentinels_are_no_numbers(value):
    assert slurm.whole(value) is None


@pytest.mark.parametrize(
    ("tres", "expected"),
    [
        ("billing=30,cpu=16,gres/gpu:a100=2,gres/gpu=2,mem=100G,node=1", (2, "a100")),  # F026
        ("cpu=8,gres/gpu:nvidia_geforce_rtx_2080_ti=1,mem=32G", (1, "nvidia_geforce_rtx_2080_ti")),  # F027
        ("gres/gpu:nvidia_h200_nvl_4g.71gb=1,gres/gpu=1", (1, "nvidia_h200_nvl_4g.71gb")),  # F029
        ("gres/gpu:tesla=2,gres/gpu:kepler=2", (4, None)),  # F030
        ("gres/gpu=3,gres/gpu:a100=1", (3, None)),
        ("gres/gpu=2", (2, None)),
        ("gres/gpu=0", (0, None)),  # F121
        ("cpu=4,mem=10G,gres/shard=2", (None, None)),
        ("gres/gpumem=0,gres/gpuutil=0", (None, None)),  # F037
        ("gres/gpu=16E", (None, None)),
        ("", (None, None)),
    ],
)
def test_gpus_are_counted_once(tres, expected):
    assert slurm.gpus(slurm.resources(tres)) == expected


@pytest.mark.parametrize(
    ("value", "word"),
    [
        ("CANCELLED by 1977600432", "CANCELLED"), ("OUT_OF_MEMORY", "OUT_OF_MEMORY"), ("COMPLETED", "COMPLETED"),
        ("CANCELLED+", "CANCELLED"), ("LATER_WORD", "LATER_WORD"), ("", None), ("  ", None),
    ],
)  # fmt: skip
def test_states(value, word):
    assert slurm.state(value) == word


@pytest.mark.parametrize(
    ("value", "nodes"),
    [
        ("gpu[001-003,005],login1", "gpu001 gpu002 gpu003 gpu005 login1"),  # F061
        ("a1,a01,a002", "a1 a01 a002"),  # F063
        ("d09n04s[01-02]", "d09n04s01 d09n04s02"),  # F064
        ("rack[1-2]n[03-04]", "rack1n03 rack1n04 rack2n03 rack2n04"),
        ("gpu[01-02]-ib0", "gpu01-ib0 gpu02-ib0"),
        ("n1", "n1"),
        ("None assigned", ""), ("(null)", ""), ("", ""), ("n[1-", ""), ("@group", ""), ("n[1-3]!n2", ""), ("n*", ""),
        ("55858[-68]", ""), ("n5585[8-5868000]", ""), ("n[1-2-3]", ""), ("n[1,]", ""),
        ("n[1-999999999]", ""), ("n[1-9999]x[1-9999]", ""), ("n[1-99999999999999999999]", ""),
    ],
)  # fmt: skip
def test_node_lists(value, nodes):
    assert slurm.node_names(value) == tuple(nodes.split())


@settings(deadline=None)  # the test has its own, which a busy machine keeps as well
@given(st.text("n0123456789[],-x. ", max_size=40))
def test_no_list_of_nodes_takes_long(value):
    began_s = time.monotonic()
    names = slurm.node_names(value)
    assert len(names) <= 100_000
    assert time.monotonic() - began_s < 5


@given(st.text(max_size=30))
def test_any_text_is_a_value_or_none(value):
    slurm.duration_s(value)
    slurm.amount_per(value, bare_mib=1)
    slurm.gpus(slurm.resources(value))
    slurm.state(value)
    slurm.node_names(value)
    slurm.count(value)
    slurm.text(value)
