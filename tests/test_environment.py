"""deploy/environment.py says in one sentence what it lacks, and leaves an environment that is up to date alone."""

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = """
import runpy, sys
{}
sys.argv = ["deploy/environment.py", "run"]
runpy.run_path("deploy/environment.py", run_name="__main__")
"""
# Stands for pip in an environment of the test's own, so that nothing is fetched.
RECORDING_PIP = "import sys; open('pip-calls', 'a').write(' '.join(sys.argv[1:]) + '\\n')"


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    (tmp_path / "deploy").mkdir()
    for name in ("deploy/environment.py", "pyproject.toml", "requirements.lock"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def run(clone: Path, first: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run the script in a clone after a statement that changes what it finds."""
    return subprocess.run(
        [sys.executable, "-c", SCRIPT.format(first)],
        cwd=clone,
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        check=False,
    )


def test_no_venv_module(clone: Path) -> None:
    # The variable says that apt was tried: the test must not install anything.
    done = run(clone, "sys.modules['ensurepip'] = None", GPULEDGER_VENV_TRIED="1")
    assert done.returncode == 1
    assert done.stderr.startswith("gpuledger: ")
    assert done.stderr.count("\n") == 1
    assert "python3-venv" in done.stderr
    assert not (clone / ".venv").exists()


def test_python_too_old(clone: Path) -> None:
    done = run(clone, "sys.version_info = (3, 9, 2)", PATH=str(clone))
    assert done.returncode == 1
    assert "needs Python 3.11 or newer" in done.stderr
    assert "3.9" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_newer_python_on_the_path_takes_over(clone: Path) -> None:
    newer = clone / "python3.13"
    newer.write_text("#!/bin/sh\necho took over: $@\n")
    newer.chmod(0o755)
    done = run(clone, "sys.version_info = (3, 9, 2)", PATH=f"{clone}:/usr/bin:/bin")
    assert done.stdout == "took over: deploy/environment.py run\n"


def test_packages_out_of_reach(clone: Path) -> None:
    done = run(clone, "pass", PIP_NO_INDEX="1", PIP_FIND_LINKS=str(clone))
    assert done.returncode == 1
    assert "pip could not install" in done.stderr.splitlines()[-1]
    assert not (clone / ".venv" / "made-for-run").exists()


def test_installs_once_and_again_when_the_lock_changes(clone: Path) -> None:
    venv.create(clone / ".venv", symlinks=True)
    package = next((clone / ".venv" / "lib").glob("python*")) / "site-packages" / "pip"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text(RECORDING_PIP)
    calls = clone / "pip-calls"

    assert run(clone, "pass").returncode == 0
    locked, project = calls.read_text().splitlines()
    assert locked.endswith("--require-hashes -r requirements.lock")
    assert project.endswith("--no-deps --no-build-isolation --no-index -e .")
    calls.unlink()
    assert run(clone, "pass").returncode == 0
    assert not calls.exists()
    (clone / "requirements.lock").write_text("# another\n")
    assert run(clone, "pass").returncode == 0
    assert len(calls.read_text().splitlines()) == 2
