"""What the pages tell to install is what `make dist` builds: no public index has it."""

import re
from pathlib import Path

import gpuledger

ROOT = Path(__file__).resolve().parents[2]
INSTALLED = re.compile(r"pip install '?(?:\./)?(gpuledger[^\s'`]*)")


def test_the_built_file_is_installed() -> None:
    wheel = f"gpuledger-{gpuledger.__version__}-py3-none-any.whl"
    told = {
        name: INSTALLED.findall((ROOT / name).read_text(encoding="utf-8")) for name in ("README.md", "docs/install.md")
    }
    assert {name: set(packages) for name, packages in told.items()} == {name: {wheel, f"{wheel}[hub]"} for name in told}
