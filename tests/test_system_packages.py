"""When apt may be asked for the packages of the tests: never on a machine with a Slurm of its own."""

from pathlib import Path

import pytest

from tests.system_packages import GROUPS, MARKER, MUNGE_KEY, SITE_FILES, Group, obstacle

CI = {"CI": "true"}
BROWSER, SLURM = GROUPS[1], GROUPS[2]


@pytest.fixture
def debian(tmp_path: Path) -> Path:
    place(tmp_path, "etc/debian_version")
    return tmp_path


def place(root: Path, name: str, mode: int = 0o644) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).touch(mode)


@pytest.mark.parametrize("environ", [CI, {"INSTALL": "1"}])
@pytest.mark.parametrize("group", GROUPS)
def test_root_on_debian_may_when_asked(debian: Path, group: Group, environ: dict[str, str]) -> None:
    assert obstacle(group, debian, environ, uid=0) is None


def test_nobody_else_may(debian: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    assert "make test INSTALL=1" in (obstacle(BROWSER, debian, {}, uid=0) or "")
    assert "apt-get install chromium" in (obstacle(BROWSER, debian, CI, uid=1000) or "")
    assert "not Debian" in (obstacle(BROWSER, tmp_path_factory.mktemp("other"), CI, uid=0) or "")


@pytest.mark.parametrize("name", [*SITE_FILES, MUNGE_KEY])
def test_never_beside_the_sites_own(debian: Path, name: str) -> None:
    place(debian, name)
    assert name in (obstacle(SLURM, debian, CI, uid=0) or "")
    assert obstacle(BROWSER, debian, CI, uid=0) is None


def test_never_where_a_slurm_is_configured(debian: Path) -> None:
    assert "/shared/slurm.conf" in (obstacle(SLURM, debian, {**CI, "SLURM_CONF": "/shared/slurm.conf"}, uid=0) or "")


def test_a_key_that_an_earlier_run_brought_is_no_obstacle(debian: Path) -> None:
    place(debian, MUNGE_KEY)
    place(debian, MARKER)
    assert obstacle(SLURM, debian, CI, uid=0) is None
    place(debian, SITE_FILES[0])
    assert SITE_FILES[0] in (obstacle(SLURM, debian, CI, uid=0) or "")


def test_missing_names_commands_and_files(tmp_path: Path) -> None:
    group = Group("try", ("some-package",), ("present", "absent"), ("usr/lib/*/plugin.so", "usr/lib/*/other.so"))
    place(tmp_path, "usr/sbin/present", 0o755)
    place(tmp_path, "usr/lib/x86_64/plugin.so")
    assert group.missing(tmp_path) == ["absent", "usr/lib/*/other.so"]
