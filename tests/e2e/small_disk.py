"""A small disk of its own for one process: a tmpfs in a private mount namespace, so that it can really be full."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.e2e.ledger import COMMAND, ROOT, Running

MOUNT = 'mount -t tmpfs -o size="$1",mode=700 tmpfs "$2" && shift 2 && exec "$@"'


class SmallDisk:
    """A directory that is a disk of some MiB for the process that was started on it, and an empty one for all others.

    The namespace, and what lies on the disk, lasts as long as a process in it: here one that only waits.
    """

    def __init__(self, path: Path, size_mib: int) -> None:
        path.mkdir()
        self.path = path
        self._keeper = subprocess.Popen(
            [
                *("unshare", "--mount", "--propagation", "private", "sh", "-c", MOUNT, "sh"),
                *(f"{size_mib}m", str(path), sys.executable, "-c", "import sys; print(flush=True); sys.stdin.read()"),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._keeper.stdout is not None
        assert self._keeper.stdout.readline() == b"\n", "the small disk could not be mounted"

    @property
    def root(self) -> Path:
        """The disk as every process may look at it."""
        return Path(f"/proc/{self._keeper.pid}/root") / self.path.relative_to("/")

    @property
    def inside(self) -> tuple[str, ...]:
        """What to put before a command so that it runs where the disk is."""
        return ("nsenter", f"--mount=/proc/{self._keeper.pid}/ns/mnt", f"--wdns={ROOT}")

    def running(self, log: Path, *arguments: object, **how: object) -> Running:
        return Running(log, *arguments, command=(*self.inside, *COMMAND), **how)  # type: ignore[arg-type]

    def resize(self, size_mib: int) -> None:
        self._do("mount", "-o", f"remount,size={size_mib}m", str(self.path))

    def fill(self, leave_kib: int) -> None:
        """Fills the disk up to the given rest."""
        disk = os.statvfs(self.root)
        rest = disk.f_bavail * disk.f_frsize - (leave_kib << 10)
        with (self.root / "filler").open("ab") as filler:
            filler.write(b"\0" * max(0, rest))

    def clear(self) -> None:
        (self.root / "filler").unlink()

    def run(self, *arguments: object) -> str:
        """Runs a command of the project on the disk to its end; returns what it printed."""
        return self._do(*COMMAND, *map(str, arguments))

    def copied_to(self, folder: Path) -> Path:
        """Copies what lies on the disk; DuckDB would follow ``root`` to the directory of the same name outside."""
        shutil.copytree(self.root, folder, ignore=shutil.ignore_patterns("filler", "*.sock"))
        return folder

    def _do(self, *command: str) -> str:
        done = subprocess.run([*self.inside, *command], cwd=ROOT, check=True, capture_output=True, text=True)
        return done.stdout

    def close(self) -> None:
        self._keeper.communicate()
