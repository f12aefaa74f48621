"""Installs what tests need beyond Python: a compiler, a browser, stores to measure beside, and a real Slurm.

Run by `make test`. It asks apt only as root on Debian with CI=true or INSTALL=1, and never for Slurm where the
site's own slurm.conf, munge key or MariaDB is. What stays missing is printed with the reason; its tests skip, and with
CI=true a skip is a failure.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

# None of the packages below brings one of these along.
SITE_FILES = (
    "etc/slurm/slurm.conf",
    "etc/slurm-llnl/slurm.conf",
    "usr/local/etc/slurm.conf",
    "etc/init.d/mariadb",
    "etc/init.d/mysql",
    "var/lib/mysql/mysql",
)
# munge's package makes a key: the site's own, unless the marker, written before apt runs, says that we brought it.
MUNGE_KEY = "etc/munge/munge.key"
MARKER = "var/lib/gpuledger-tests/slurm-packages"
# Debian's packages start their services unless this says no; the tests start their own, on ports of their own.
SERVICE_POLICY = Path("/usr/sbin/policy-rc.d")
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True)
class Group:
    """Packages that serve one purpose, and the files or commands by which one sees that they are there."""

    purpose: str
    packages: tuple[str, ...]
    commands: tuple[str, ...]
    files: tuple[str, ...] = ()
    touches_site: bool = False

    def missing(self, root: Path) -> list[str]:
        """Return the commands and file patterns that are not there; empty when the group is complete."""
        path = ":".join(str(root / folder.lstrip("/")) for folder in SYSTEM_PATH.split(":"))
        commands = [command for command in self.commands if shutil.which(command, path=path) is None]
        return commands + [pattern for pattern in self.files if not any(root.glob(pattern))]


SLURM_PACKAGES = (Path(__file__).parent / "slurm" / "packages.txt").read_text().split()
SLURM_COMMANDS = "munged mariadbd mariadb-install-db mariadb slurmdbd slurmctld slurmd sacctmgr sinfo sacct"

GROUPS = (
    Group("compile the stand-in NVML library", ("gcc", "libc6-dev"), ("gcc",), ("usr/include/stdio.h",)),
    Group(
        "drive a real browser",
        ("chromium", "fonts-dejavu-core"),
        ("chromium",),
        ("usr/share/fonts/truetype/dejavu/DejaVuSans.ttf",),
    ),
    Group(
        "run a real Slurm cluster",
        tuple(SLURM_PACKAGES),
        tuple(SLURM_COMMANDS.split()),
        ("usr/lib/*/slurm-wlm/accounting_storage_mysql.so",),
        touches_site=True,
    ),
    # The benchmarks start these as processes of their own; that the packages' services stay off is policy-rc.d's doing.
    Group(
        "measure beside other stores",
        ("prometheus", "victoria-metrics"),
        ("prometheus", "promtool", "victoria-metrics"),
    ),
)


def main() -> None:
    """Install what is missing and may be installed; print what stays missing and why."""
    root = Path("/")
    wanted: list[Group] = []
    for group in GROUPS:
        if not (missing := group.missing(root)):
            continue
        if reason := obstacle(group, root, os.environ, os.geteuid()):
            print(f"Not installed, to {group.purpose}: {' '.join(missing)}. {reason}")
        else:
            wanted.append(group)
    if any(group.touches_site for group in wanted):
        (root / MARKER).parent.mkdir(parents=True, exist_ok=True)
        (root / MARKER).touch()
    if wanted:
        install([package for group in wanted for package in group.packages])


def obstacle(group: Group, root: Path, environ: Mapping[str, str], uid: int) -> str | None:
    """Return why apt must not be asked for the group on this machine, with the next step; None when it may."""
    by_hand = f"Their tests are skipped; by hand: apt-get install {' '.join(group.packages)}"
    if not (root / "etc/debian_version").exists():
        return "This is not Debian: install them with your own package manager, or leave their tests skipped."
    if environ.get("CI") != "true" and environ.get("INSTALL") != "1":
        return f"{by_hand}, or `make test INSTALL=1` as root."
    if uid != 0:
        return f"{by_hand} as root."
    if group.touches_site and (own := site_file(root, environ)):
        return f"This machine has a Slurm, munge or MariaDB of its own ({own}): run these tests on another machine."
    return None


def site_file(root: Path, environ: Mapping[str, str]) -> Path | None:
    """Return a file that shows that the site runs Slurm, munge or MariaDB here; None where what is there is ours."""
    if "SLURM_CONF" in environ:
        return Path(environ["SLURM_CONF"])
    names = SITE_FILES if (root / MARKER).exists() else (*SITE_FILES, MUNGE_KEY)
    return next((root / name for name in names if (root / name).exists()), None)


def install(packages: list[str]) -> None:
    """Ask apt for the packages, keeping their services from starting; three tries, since mirrors fail at times."""
    print(f"Installing {' '.join(packages)} ...", flush=True)
    with services_held_back():
        for attempt in range(1, 4):
            if apt("update") and apt("install", "-y", "--no-install-recommends", *packages):
                return
            print(f"apt failed (try {attempt} of 3).", flush=True)
            time.sleep(3)
    raise SystemExit("The packages could not be installed; apt's reason is above.")


def apt(*arguments: str) -> bool:
    """Return whether apt-get did it; its output is shown only where it did not."""
    options = ["-q", "-o", "Dpkg::Use-Pty=0", "-o", "Dpkg::Options::=--force-confold", "-o", "DPkg::Lock::Timeout=300"]
    done = subprocess.run(
        ["apt-get", *options, *arguments],
        env={**os.environ, "DEBIAN_FRONTEND": "noninteractive", "PATH": SYSTEM_PATH},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        print(done.stdout[-2000:])
    return done.returncode == 0


@contextmanager
def services_held_back() -> Iterator[None]:
    """Keep packages from starting their services, unless the machine has a policy of its own."""
    if SERVICE_POLICY.exists():
        yield
        return
    SERVICE_POLICY.write_text("#!/bin/sh\nexit 101\n")
    SERVICE_POLICY.chmod(0o755)
    try:
        yield
    finally:
        SERVICE_POLICY.unlink()


if __name__ == "__main__":
    main()
