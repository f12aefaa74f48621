"""Makes .venv of this clone from a lock file and installs the project into it. Run by `make setup`, `run` and `test`.

Usage: python environment.py run|dev

Needs the standard library only, and a syntax that an old Python still reads, so that it can say what is missing.
A second call with the same Python, lock file and pyproject.toml does nothing.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
LOCKS = {"run": "requirements.lock", "dev": "requirements-dev.lock"}
OLDEST = (3, 11)
NEWER_NAMES = ("python3.14", "python3.13", "python3.12", "python3.11")


class Unable(Exception):
    """What cannot be done here: one sentence with the next step."""


def main(kind: str) -> None:
    """Bring .venv up to date for `kind`, which is "run" or "dev" (what tests need, too)."""
    use_new_enough_python()
    stamp, wanted = VENV / f"made-for-{kind}", fingerprint(kind)
    if stamp.is_file() and stamp.read_text() == wanted and venv_version() == sys.version_info[:2]:
        return
    if venv_version() != sys.version_info[:2]:
        make_venv()
    stamp.unlink(missing_ok=True)
    print(f"Installing {LOCKS[kind]} into .venv ...", flush=True)
    pip("--require-hashes", "-r", LOCKS[kind])
    pip("--no-deps", "--no-build-isolation", "--no-index", "-e", ".")
    stamp.write_text(wanted)


def use_new_enough_python() -> None:
    """Go on under the newest Python on PATH where the one that runs this is too old."""
    if sys.version_info >= OLDEST:
        return
    for name in NEWER_NAMES:
        if shutil.which(name):
            os.execvp(name, [name, *sys.argv])
    raise Unable(
        "GPU Ledger needs Python 3.11 or newer and `{}` is {}.{}: install one, or name it with `make {} "
        "PYTHON=/path/to/python3`.".format(sys.executable, *sys.version_info[:2], "setup")
    )


def fingerprint(kind: str) -> str:
    """Return a digest of all that decides what is in .venv."""
    digest = hashlib.sha256(sys.version.encode())
    for name in (LOCKS[kind], "pyproject.toml"):
        digest.update((ROOT / name).read_bytes())
    return digest.hexdigest()


def venv_version() -> "tuple[int, int] | None":
    """Return the Python version that .venv runs; None where there is none or it does not start (a moved Python)."""
    question = "import sys, pip; print(*sys.version_info[:2])"
    try:
        answer = subprocess.run([str(VENV / "bin" / "python"), "-c", question], stdout=subprocess.PIPE, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    major, minor = answer.stdout.split()
    return int(major), int(minor)


def make_venv() -> None:
    """Make .venv anew. Debian and Ubuntu split ensurepip, which venv needs, off into a package of its own."""
    try:
        import ensurepip  # noqa: F401
        import venv
    except ImportError:
        install_debian_venv()
        os.execv(sys.executable, [sys.executable, *sys.argv])
    venv.create(VENV, clear=True, with_pip=True, symlinks=True)


def install_debian_venv() -> None:
    """Install the missing package as root on Debian; raise Unable anywhere else."""
    package = "python{}.{}-venv".format(*sys.version_info[:2])
    if os.environ.get("GPULEDGER_VENV_TRIED") or os.geteuid() != 0 or not Path("/etc/debian_version").exists():
        raise Unable(
            "Python's venv module is incomplete here: install it (`apt-get install python3-venv` as root on Debian and "
            "Ubuntu), then run the same command again."
        )
    print(f"Installing {package} ...", flush=True)
    os.environ["GPULEDGER_VENV_TRIED"] = "1"
    quiet = {"stdout": subprocess.DEVNULL, "env": dict(os.environ, DEBIAN_FRONTEND="noninteractive")}
    subprocess.run(["apt-get", "-qq", "update"], check=False, **quiet)
    subprocess.run(["apt-get", "-qq", "install", "-y", "--no-install-recommends", package], check=False, **quiet)


def pip(*arguments: str) -> None:
    """Run pip's install inside .venv."""
    command = [str(VENV / "bin" / "python"), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    if subprocess.run([*command, "--no-input", *arguments], cwd=str(ROOT), check=False).returncode:
        raise Unable(
            "pip could not install `{}` (its reason is above): where this machine reaches packages through a proxy or "
            "a mirror, set it with `pip config set`, then run the same command again.".format(" ".join(arguments))
        )


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    except Unable as reason:
        sys.exit(f"gpuledger: {reason}")
