import pytest

from collector.host import has_slurm, node_name, slurm_sign


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


def test_programs_of_slurm_without_a_cluster_are_no_sign(tmp_path):
    """A workstation with the packages: all that runs there would be nobody's."""
    (tmp_path / "usr/sbin").mkdir(parents=True)
    (tmp_path / "usr/sbin/slurmd").touch(mode=0o755)
    assert not has_slurm("auto", {}, tmp_path)


def test_a_running_slurmd_is_a_sign(tmp_path):
    (tmp_path / "proc/77").mkdir(parents=True)
    (tmp_path / "proc/77/comm").write_text("slurmd\n")
    assert slurm_sign({}, tmp_path) == "slurmd runs"
    (tmp_path / "proc/77/comm").write_text("slurmdbd\n")
    assert not has_slurm("auto", {}, tmp_path)


@pytest.mark.parametrize("path", ["etc/default/slurmd", "etc/sysconfig/slurmd"])
def test_a_configless_node_is_one_before_its_slurmd_has_begun(tmp_path, path):
    (tmp_path / path).parent.mkdir(parents=True)
    (tmp_path / path).write_text('SLURMD_OPTIONS="--conf-server ctl:6817"\n')
    assert slurm_sign({}, tmp_path) == f"{tmp_path / path} names a server of configuration"
    (tmp_path / path).write_text("SLURMD_OPTIONS=\n")
    assert not has_slurm("auto", {}, tmp_path)


def test_as_set(tmp_path):
    assert has_slurm("yes", {}, tmp_path)


def test_the_nodes_name():
    assert node_name("gpu01") == "gpu01"
    assert "." not in node_name("")
