"""A backup put into a data directory: checked first, whole or not at all, and nothing that was there is lost."""

import contextlib
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from store import schema
from store.copies import (
    OWN,
    CopiedFile,
    Manifest,
    check_rows,
    checksum,
    copy,
    read_manifest,
    refuse_without_room,
    sync_tree,
)
from store.database import FILE_NAME, RESTORING
from store.errors import SchemaTooNew, StoreError
from store.lock import DirectoryLock, refuse_network_file_system
from store.parquet import sync_folder

Step = Callable[[str], None]
"""Hears what is done next: a test ends the process there."""


def restore(backup: Path, data: Path, now_ms: int, *, replace: bool = False, step: Step = lambda _: None) -> Manifest:
    """Puts a backup into ``data`` and returns what it holds.

    Args:
        backup: a directory that :func:`store.backup.back_up` made.
        data: the data directory; where it holds a store already, that is put aside if ``replace``, else it is refused.
        now_ms: the clock, in the name under which it is put aside.
        replace: whether a store that is there may be put aside.
        step: hears what is done next.

    Raises:
        StoreBusy: a process has the directory.
        StoreError: the backup is not whole or not what it was, there is a store already, or no room. The directory is
            then as it was.
    """
    manifest = read_manifest(backup)
    if manifest.schema_version > len(schema.VERSIONS):
        raise SchemaTooNew(backup / FILE_NAME, manifest.schema_version, len(schema.VERSIONS))
    try:
        _check(backup, manifest)
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
        refuse_network_file_system(data)
        with contextlib.closing(_Locked(data)):
            interrupted = (data / RESTORING).exists()
            if _held(data) and not replace and not interrupted:
                raise StoreError(
                    f"{data} holds a store already; restore into an empty directory, or put it aside with --replace."
                )
            refuse_without_room(data, manifest.bytes)
            _bring(backup, data, manifest, step)
            _put_aside(data, now_ms, step)
            _put_in_place(data, step)
    except OSError as error:
        raise StoreError(
            f"{backup} cannot be restored into {data} ({error.strerror or error}: {error.filename or data}); "
            "mend that and restore again."
        ) from error
    return manifest


class _Locked:
    """The lock of a data directory."""

    def __init__(self, data: Path) -> None:
        self.lock = DirectoryLock(data, shared=False)

    def close(self) -> None:
        self.lock.release()


def _held(data: Path) -> list[Path]:
    """Returns what of a store is in a directory; folders that are empty hold nothing."""
    there = [data / name for name in OWN if (data / name).exists()]
    return [path for path in there if path.is_file() or any(path.iterdir())]


def _check(backup: Path, manifest: Manifest) -> None:
    for file in manifest.files:
        path = backup / file.path
        if not path.resolve().is_relative_to(backup.resolve()):
            raise StoreError(f"{backup} lists {file.path}, which lies elsewhere; name another backup.")
        if not path.is_file() or path.stat().st_size != file.bytes or checksum(path) != file.sha256:
            raise StoreError(f"{path} is not as it was backed up; name another backup, {backup} is damaged.")


def _bring(backup: Path, data: Path, manifest: Manifest, step: Step) -> None:
    """Copies everything beside its place and looks into the database, before anything else is touched."""
    coming = data / f"{RESTORING}.part"
    shutil.rmtree(coming, ignore_errors=True)
    coming.mkdir(mode=0o700)
    try:
        for file in manifest.files:
            step(f"copy {file.path}")
            _expect(file, copy(backup / file.path, coming, file.path))
        check_rows(coming, manifest.rows)
        sync_tree(coming)
        shutil.rmtree(data / RESTORING, ignore_errors=True)  # of a restore that was interrupted
        step("begin")
        # From here on until the end nobody opens the directory: Database.open refuses it.
        coming.rename(data / RESTORING)
        sync_folder(data)
    except BaseException:
        shutil.rmtree(coming, ignore_errors=True)
        raise


def _expect(wanted: CopiedFile, found: CopiedFile) -> None:
    if found != wanted:
        raise StoreError(f"{wanted.path} of the backup changed while it was copied; restore again.")


def _put_aside(data: Path, now_ms: int, step: Step) -> None:
    there = _held(data)
    if not there:
        return
    aside = data / f"before-restore-{datetime.fromtimestamp(now_ms / 1000, UTC):%Y%m%dT%H%M%S}"
    aside.mkdir(mode=0o700, exist_ok=True)
    for path in there:
        step(f"put aside {path.name}")
        path.rename(aside / path.name)
    sync_folder(aside)


def _put_in_place(data: Path, step: Step) -> None:
    coming = data / RESTORING
    for name in reversed(OWN):
        if (coming / name).exists():
            step(f"put in place {name}")
            with contextlib.suppress(OSError):
                (data / name).rmdir()  # an empty folder
            (coming / name).rename(data / name)
    sync_folder(data)
    step("end")
    coming.rmdir()
    sync_folder(data)
