"""The lock files pin all that pyproject.toml asks for, with hashes, and leave the source to the installing machine."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS = PROJECT["project"]["optional-dependencies"]
RUN = [*PROJECT["project"]["dependencies"], *EXTRAS["hub"], *PROJECT["dependency-groups"]["build"]]
WANTED = {"requirements.lock": RUN, "requirements-dev.lock": [*RUN, *EXTRAS["test"]]}


def pins(lock: str) -> dict[str, str]:
    """Return the version of each package of a lock file."""
    found = re.findall(r"^([a-z0-9-]+)==([^ ;]+)", (ROOT / lock).read_text(), re.MULTILINE)
    return dict(found)


@pytest.mark.parametrize("lock", WANTED)
def test_every_requirement_is_pinned_to_a_version_it_allows(lock: str) -> None:
    pinned = pins(lock)
    for text in WANTED[lock]:
        requirement = Requirement(text)
        assert pinned.get(canonicalize_name(requirement.name), "nothing") in requirement.specifier, text


@pytest.mark.parametrize("lock", WANTED)
def test_every_pin_has_hashes_and_no_line_names_a_source(lock: str) -> None:
    text = (ROOT / lock).read_text()
    assert "://" not in text
    assert not re.search(r"^\s*-(?!-hash=|c\b)", text.replace("# ", ""), re.MULTILINE)
    for entry in re.split(r"^(?=[a-z0-9-]+==)", text, flags=re.MULTILINE)[1:]:
        assert "--hash=sha256:" in entry, entry


def test_both_hold_the_same_versions() -> None:
    """`make run` and `make test` share one environment."""
    assert pins("requirements.lock").items() <= pins("requirements-dev.lock").items()


def test_a_node_gets_no_more_than_the_plain_dependencies() -> None:
    names = {Requirement(text).name for text in PROJECT["project"]["dependencies"]}
    assert names == {"nvidia-ml-py", "msgspec", "click", "ClusterShell"}
