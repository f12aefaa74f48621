import pytest

from collector.host import has_slurm, node_name


def test_a_host_without_slurm(tmp_path):
    assert not has_slurm("auto", {}, tmp_path)


@pytest.mark.parametrize("path", ["etc/slurm/slurm.conf", "run/slurm/conf/slurm.conf"])
def test_a_configuration_is_found(tmp_path, path):
    (tmp_path / path).parent.mkdir(parents=True)
    (tmp_path / path).touch()
    assert has_slurm("auto", {}, tmp_path)
    assert not has_slurm("no", {}, tmp_path)


def test_the_environment_names_the_configuration(tmp_path):
    assert not has_slurm("auto", {"SLURM_CONF": str(tmp_path / "x.conf")}, tmp_path)
    (tmp_path / "x.conf").touch()
    assert has_slurm("auto", {"SLURM_CONF": str(tmp_path / "x.conf")}, tmp_path)


def test_a_slurmd_is_found(tmp_path):
    (tmp_path / "usr/sbin").mkdir(parents=True)
    daemon = tmp_path / "usr/sbin/slurmd"
    daemon.touch(mode=0o755)
    assert has_slurm("auto", {}, tmp_path)


def test_as_set(tmp_path):
    assert has_slurm("yes", {}, tmp_path)


def test_the_nodes_name():
    assert node_name("gpu01") == "gpu01"
    assert "." not in node_name("")
