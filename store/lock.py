"""One owner per data directory: a lock file that names the process, and no network file systems."""

import errno
import fcntl
import os
from pathlib import Path
from typing import Final

from store.errors import StoreBusy, StoreError

# DuckDB maps and locks its file; over these the lock is missing, lost on reconnect or kept after a crash, and two
# hubs would corrupt the file (trinodb/trino#25802, DuckDB's documentation on concurrency).
NETWORK_FILE_SYSTEMS: Final = frozenset(
    {"afs", "beegfs", "beegfs_nodev", "ceph", "cifs", "fuse.ceph-fuse", "fuse.glusterfs", "fuse.sshfs", "gpfs"}
    | {"lustre", "ncpfs", "nfs", "nfs4", "panfs", "smb3", "smbfs", "wekafs"}
)
_MOUNTS: Final = Path("/proc/self/mountinfo")


class DirectoryLock:
    """Holds DIR/lock with flock: exclusive for the owner, shared among readers of data at rest.

    The kernel drops it when the process ends, however it ends. Raises StoreBusy where another holds it.
    """

    def __init__(self, directory: Path, *, shared: bool) -> None:
        self._fd = os.open(directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except OSError as error:
            pid = _read_pid(self._fd)
            os.close(self._fd)
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                raise StoreBusy(directory, pid) from error
            raise StoreError(f"{directory / 'lock'} cannot be locked ({error.strerror}); use a local disk.") from error
        if not shared:
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Lets others in; done twice it does nothing more, since the number may be another file's by then."""
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1


def _read_pid(fd: int) -> int | None:
    text = os.pread(fd, 32, 0).strip()
    return int(text) if text.isdigit() else None


def refuse_network_file_system(directory: Path, mounts: Path = _MOUNTS) -> None:
    """Raises StoreError where ``directory`` lies on a network file system, as the mount table has it."""
    found = _file_system(directory.resolve(), mounts)
    if found in NETWORK_FILE_SYSTEMS:
        raise StoreError(
            f"{directory} is on a network file system ({found}), where the database's lock does not hold; "
            "choose a directory on a local disk."
        )


def _file_system(path: Path, mounts: Path) -> str | None:
    """Returns the type of the file system that holds ``path``; a later mount on the same point hides the earlier."""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return None
    best, kind = -1, None
    for line in lines:
        fields, _, rest = line.partition(" - ")
        point = Path(fields.split()[4].replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\"))
        depth = len(point.parts)
        if depth >= best and path.is_relative_to(point):
            best, kind = depth, rest.split()[0]
    return kind
