"""Writes requirements.lock and requirements-dev.lock: exact versions and hashes, for CPython 3.11 to 3.14 on Linux.

Run by `make lock`. uv resolves for every Python at once (it writes environment markers where they differ) from an
environment of its own; pip then checks that each combination has a wheel, so that nobody needs a compiler.
Neither file names where packages come from: that is the installing machine's own configuration.
"""

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RUNTIME, DEVELOPMENT = "requirements.lock", "requirements-dev.lock"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
ARCHITECTURES = ("x86_64", "aarch64")
# The tags that a glibc of 2.28 (RHEL 8, Debian 10) accepts, newest first.
PLATFORMS = ("manylinux_2_28", "manylinux_2_24", "manylinux_2_17", "manylinux_2_12", "manylinux_2_5", "manylinux1")

COMPILE = f"""
    pip compile --quiet --upgrade --universal --python-version {PYTHONS[0]} --fork-strategy fewest --generate-hashes
    --no-header --no-emit-index-url --no-emit-find-links --group build
"""


def main() -> None:
    """Resolve both files, then check them."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        run([f"{folder}/bin/python", "-m", "pip", "install", "-qq", "uv"])
        uv = [f"{folder}/bin/uv", *COMPILE.split()]
        run([*uv, "--extra", "hub", "pyproject.toml", "-o", RUNTIME])
        # The same version of everything that both hold: `make run` and `make test` share .venv.
        run([*uv, "--extra", "hub", "--extra", "test", "-c", RUNTIME, "pyproject.toml", "-o", DEVELOPMENT])
    for lock in (RUNTIME, DEVELOPMENT):
        for python in PYTHONS:
            for architecture in ARCHITECTURES:
                check(lock, python, architecture)


def check(lock: str, python: str, architecture: str) -> None:
    """Let pip resolve the file, unpacking nothing, for a machine of that kind."""
    tags = [part for platform in PLATFORMS for part in ("--platform", f"{platform}_{architecture}")]
    with tempfile.TemporaryDirectory() as target:
        where = ["--dry-run", "--ignore-installed", "--only-binary", ":all:", "--target", target]
        command = [sys.executable, "-m", "pip", "install", "-qq", "--require-hashes", "-r", lock]
        run([*command, *where, "--python-version", python, *tags])
    print(f"{lock}: CPython {python} on {architecture}: a wheel for each package")


def run(command: list[str]) -> None:
    """Run a command in the clone; its failure ends this one."""
    subprocess.run(command, cwd=ROOT, check=True)


if __name__ == "__main__":
    main()
