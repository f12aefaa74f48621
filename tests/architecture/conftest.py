"""The wheel, built once, and the environment of a compute node made from it."""

import re
import subprocess
import sys
import venv
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this clone, built without asking a registry."""
    folder = tmp_path_factory.mktemp("dist")
    pip(sys.executable, "wheel", "--no-deps", "--no-build-isolation", "--no-index", "-w", str(folder), str(ROOT))
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="session")
def node_python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a fresh environment that holds the bare wheel and its plain dependencies: a node install.

    The dependencies are copied from this environment, file by file as their installer recorded them, so that the test
    needs no registry; pip then finds nothing missing.
    """
    folder = tmp_path_factory.mktemp("node") / "venv"
    venv.create(folder, symlinks=True)
    python = folder / "bin" / "python"
    libraries = next((folder / "lib").glob("python*")) / "site-packages"
    for dependency in plain_dependencies(wheel):
        copy(dependency, libraries)
    pip(sys.executable, "--python", str(python), "install", "--no-deps", "--no-index", str(wheel))
    pip(sys.executable, "--python", str(python), "check")
    return python


def pip(python: str, *arguments: str) -> None:
    """Run pip; its output is shown where it fails."""
    command = [python, "-m", "pip", "-qq", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def plain_dependencies(wheel: Path) -> Iterator[Distribution]:
    """Yield what the wheel needs without an extra, and what that needs."""
    with ZipFile(wheel) as archive:
        metadata = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        texts = re.findall(r"^Requires-Dist: (.*)$", archive.read(metadata).decode(), re.MULTILINE)
    seen: set[str] = set()
    while texts:
        requirement = Requirement(texts.pop())
        wanted = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if wanted and requirement.name not in seen:
            seen.add(requirement.name)
            found = distribution(requirement.name)
            texts += found.requires or []
            yield found


def copy(installed: Distribution, libraries: Path) -> None:
    """Copy the files of an installed distribution, its commands apart."""
    for file in installed.files or []:
        if ".." not in file.parts and "__pycache__" not in file.parts:
            target = libraries / file
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(Path(str(file.locate())).read_bytes())
