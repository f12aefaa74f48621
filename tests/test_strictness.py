"""A skip is a failure with CI=true, and only there; heavy tests share one worker."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SKIPS = """
import pytest
def test_skips(): pytest.skip("no such hardware")
@pytest.mark.xfail(strict=True)
def test_expected_to_fail(): assert False
def test_passes(): pass
"""
SKIPS_WHOLE = 'import pytest\npytest.skip("no such library", allow_module_level=True)\n'


@pytest.mark.parametrize(
    ("source", "ci", "summary", "code"),
    [
        (SKIPS, "true", "1 failed, 1 passed, 1 xfailed", 1),
        (SKIPS, "", "1 passed, 1 skipped, 1 xfailed", 0),
        (SKIPS_WHOLE, "true", "1 error", 2),
    ],
    ids=["in CI", "elsewhere", "a whole module in CI"],
)
def test_skip_under_ci(tmp_path: Path, source: str, ci: str, summary: str, code: int) -> None:
    (tmp_path / "test_sample.py").write_text(source)
    arguments = ["-q", "-p", "tests.strictness", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *arguments, str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "CI": ci, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert summary in done.stdout
    assert done.returncode == code
    if ci:
        assert "with CI=true a skip is a failure" in done.stdout


def test_tests_of_one_cluster_share_a_worker(tmp_path: Path) -> None:
    tests = "".join(f"@pytest.mark.slurm\ndef test_{number}(): pass\n" for number in range(4))
    (tmp_path / "test_sample.py").write_text(f"import pytest\n{tests}")
    arguments = ["-v", "-n", "2", "--dist", "loadgroup", "-p", "tests.strictness", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *arguments, "-c", os.devnull, "--rootdir", str(tmp_path), str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    passed = [line for line in done.stdout.splitlines() if "PASSED" in line]
    assert len(passed) == 4, done.stdout
    assert len({line.split()[0] for line in passed}) == 1, done.stdout
