import pytest

from collector.carryover import Carryover, OpenSession, kernel_boot_id, load, save


def test_it_comes_back_as_it_was(tmp_path):
    kept = Carryover(boot="b1", floors_mib={"GPU-a": 4}, sessions=[OpenSession(1000, "GPU-a", "0", 5, 9, "python")])
    save(tmp_path / "agent.json", kept)
    assert load(tmp_path / "agent.json", "b1") == kept


def test_idle_levels_are_of_one_boot_and_sessions_are_not(tmp_path):
    kept = Carryover(boot="b1", floors_mib={"GPU-a": 4}, sessions=[OpenSession(1000, "GPU-a", "0", 5, 9)])
    save(tmp_path / "agent.json", kept)
    after = load(tmp_path / "agent.json", "b2")
    assert (after.floors_mib, after.sessions) == ({}, kept.sessions)


@pytest.mark.parametrize("content", [b"", b"{", b'{"sessions": [1]}', b"\xff"])
def test_a_damaged_file_is_left_out(tmp_path, content):
    (tmp_path / "agent.json").write_bytes(content)
    assert load(tmp_path / "agent.json", "b") == Carryover(boot="b")


def test_a_place_that_cannot_be_written_is_no_error(tmp_path):
    save(tmp_path / "missing" / "agent.json", Carryover())
    assert load(tmp_path / "missing" / "agent.json", "b") == Carryover(boot="b")


def test_the_kernel_names_its_boot(tmp_path):
    assert len(kernel_boot_id()) == 36
    assert kernel_boot_id(tmp_path / "none") == ""
