"""A skip is a failure with CI=true, and only there."""

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
)
def test_skip_under_ci(tmp_path: Path, source: str, ci: str, summary: str, code: int) -> None:
    (tmp_path / "test_sample.py").write_text(source)
    arguments = ["-q", "-p", "tests.strictness", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *arguments, str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "CI": ci},
        capture_output=True,
        text=True,
        check=False,
    )
    assert summary in done.stdout
    assert done.returncode == code
    if ci:
        assert "with CI=true a skip is a failure" in done.stdout
