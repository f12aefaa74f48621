"""The wheel ships exactly the five packages, and its plain dependencies are all that a compute node needs."""

import json
import os
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.fakenvml import child_env, write_scenario

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {"collector", "store", "analytics", "dashboard", "gpuledger"}
HUB_LIBRARIES = {"duckdb", "pyarrow", "numpy", "dash", "plotly", "apscheduler", "uvicorn", "jinja2"}
COLLECT_ONCE = """
import json, sys
from gpuledger.cli import main
try:
    main(["collect", "--once"])
finally:
    sys.stdout.flush()
    print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})), file=sys.stderr)
"""


def test_ships_exactly_the_five_packages_with_their_files(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        shipped = {name for name in archive.namelist() if ".dist-info/" not in name}
    listed = subprocess.run(["git", "ls-files", "-z", *PACKAGES], cwd=ROOT, capture_output=True, text=True, check=True)
    assert {name.partition("/")[0] for name in shipped} == PACKAGES
    assert set(listed.stdout.split("\0")) - {""} <= shipped


def test_has_one_console_script_and_the_licence(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        names = {name.partition(".dist-info/")[2]: name for name in archive.namelist() if ".dist-info/" in name}
        scripts = archive.read(names["entry_points.txt"]).decode().split("\n")
    assert [line for line in scripts if line] == ["[console_scripts]", "gpuledger = gpuledger.cli:main"]
    assert "licenses/LICENSE" in names


@pytest.mark.parametrize("where", ["node install", "hub install"])
def test_collect_once_reads_without_the_hubs_libraries(
    where: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """On a node they are not installed; on a hub they are, and are still not loaded."""
    python = request.getfixturevalue("node_python") if where == "node install" else sys.executable
    scenario = tmp_path / "scenario"
    write_scenario(scenario, "count=2\ngpu.*.model=h100\n")
    environ = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], **child_env(scenario)}
    cwd = tmp_path if where == "node install" else ROOT
    done = subprocess.run(
        [str(python), "-c", COLLECT_ONCE], cwd=cwd, env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "GPU-" in done.stdout
    assert not HUB_LIBRARIES & set(json.loads(done.stderr.splitlines()[-1]))
