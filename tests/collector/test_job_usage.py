import shutil

import pytest

from collector.job_usage import JobUsage, Usage
from tests.collector.job_groups import write_v1, write_v2


@pytest.mark.parametrize("name", ["slurm", "slurm_n1"])
def test_version_1(tmp_path, name):
    usage = JobUsage(tmp_path, "n1")
    assert usage.of("12") is None
    write_v1(tmp_path, "12", 3_000_000_000, 640, name)
    assert usage.of("12") == Usage(3_000_000_000, 640)
    write_v1(tmp_path, "12", 4_500_000_000, 700, name)
    assert usage.of("12") == Usage(4_500_000_000, 700)
    assert usage.of("1") is None


@pytest.mark.parametrize("scope", ["slurmstepd.scope", "n1_slurmstepd.scope", "unified"])
def test_version_2(tmp_path, scope):
    root = tmp_path / "unified" if scope == "unified" else tmp_path
    write_v2(root, "12", 3_000_000, 640, "slurmstepd.scope" if scope == "unified" else scope)
    assert JobUsage(tmp_path, "n1").of("12") == Usage(3_000_000_000, 640)


def test_memory_that_is_not_counted_is_not_zero(tmp_path):
    write_v1(tmp_path, "12", 7)
    assert JobUsage(tmp_path, "n1").of("12") == Usage(7, None)


def test_another_node_s_job_is_not_this_one_s(tmp_path):
    write_v1(tmp_path, "12", 7, name="slurm_n2")
    assert JobUsage(tmp_path, "n1").of("12") is None


def test_a_job_that_has_ended(tmp_path):
    usage = JobUsage(tmp_path, "n1")
    folder = write_v1(tmp_path, "12", 7)
    assert usage.of("12") is not None
    shutil.rmtree(folder)
    assert usage.of("12") is None


def test_a_file_that_holds_no_number(tmp_path):
    (write_v1(tmp_path, "12", 7) / "cpuacct.usage").write_text("")
    (write_v2(tmp_path, "13", 7, 1) / "cpu.stat").write_text("usage_usec\n")
    assert JobUsage(tmp_path, "n1").of("12") is None
    assert JobUsage(tmp_path, "n1").of("13") is None
