"""The drop-files of our Prolog and Epilog (deploy/hooks): JOBID.RESTART for a job on this node, then JOBID.RESTART.end.

Lines KEY=value. Times are whole seconds: where Slurm does not tell the hook a job's begin, `date` does. A file is
renamed into place and never written to, so it is read once.
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

END_MARK: Final = ".end"
_LARGEST_BYTES: Final = 64 * 1024
_SETTLED_NS: Final = (
    50_000_000  # a folder's stamp is as coarse as the timer: one this young may be a later change's too
)
_Key = tuple[str, int]
"""A file's name and inode."""


class DropFile(msgspec.Struct, frozen=True, kw_only=True):
    """One file's content. ``name`` is the file's without the end mark; ``end_s`` None while the job lasts."""

    name: str
    job_id: str
    start_s: int
    restart: int = 0
    end_s: int | None = None
    cluster: str = ""
    positions: tuple[str, ...] = ()  # SLURM_JOB_GPUS: places in the node's own list of GPUs
    visible: tuple[str, ...] = ()  # CUDA_VISIBLE_DEVICES as the hook saw it
    uid: int | None = None
    user: str = ""
    account: str = ""
    partition: str = ""
    job_name: str = ""
    shared: bool = False  # shards or MPS
    boot: str = ""


class BadDropFile(ValueError):
    """A file that is no drop-file; the message says why, in a few words."""


def parse(name: str, data: bytes) -> DropFile:
    """Returns the content of a file called ``name``; raises BadDropFile. Unknown keys are passed over."""
    if len(data) > _LARGEST_BYTES:
        raise BadDropFile(f"it has {len(data)} bytes")
    lines = data.decode(errors="replace").split("\n")
    values = dict(line.split("=", 1) for line in lines if "=" in line)
    end_s = _number(values, "END")
    if name.endswith(END_MARK) and end_s is None:
        raise BadDropFile("an end mark without a time")
    start_s = _number(values, "START")
    job_id = values.get("JOB", "")
    if start_s is None or not (job_id.isascii() and job_id.isdigit()):
        raise BadDropFile("it says no job or no begin")
    return DropFile(
        name=name.removesuffix(END_MARK),
        job_id=job_id,
        start_s=start_s,
        restart=_number(values, "RESTART") or 0,
        end_s=None if end_s is None else max(end_s, start_s),
        cluster=values.get("CLUSTER", ""),
        positions=_words(values, "GPUS"),
        visible=_words(values, "VISIBLE"),
        uid=_number(values, "UID"),
        user=values.get("USER", ""),
        account=values.get("ACCOUNT", ""),
        partition=values.get("PARTITION", ""),
        job_name=values.get("NAME", ""),
        shared=bool(values.get("SHARES")),
        boot=values.get("BOOT", ""),
    )


class DropFolder:
    """The folder of drop-files. Looking whether it changed is one stat a second."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen_ns: int | None = None
        self._settled = True  # no change can have come after the reading within the same stamp
        self._listed: set[_Key] = set()
        self._known: dict[_Key, DropFile | BadDropFile] = {}

    @property
    def exists(self) -> bool:
        """Whether the folder is there: the first Prolog makes it."""
        return self._path.is_dir()

    def changed(self) -> bool:
        """Returns whether files have come or gone since ``read``."""
        stamp_ns = self._stamp_ns()
        if self._settled and stamp_ns == self._seen_ns:
            return False
        return {key for key, _ in self._entries()} != self._listed

    def read(self, now_ms: int) -> tuple[list[DropFile], list[tuple[str, BadDropFile]]]:
        """Returns all drop-files and end marks, and the names of files that are none with the reason."""
        self._seen_ns = self._stamp_ns()
        self._settled = self._seen_ns is None or now_ms * 1_000_000 - self._seen_ns > _SETTLED_NS
        entries = self._entries()
        self._listed = {key for key, _ in entries}
        self._known = dict(self._contents(entries))
        good = [file for file in self._known.values() if isinstance(file, DropFile)]
        bad = [(key[0], file) for key, file in self._known.items() if isinstance(file, BadDropFile)]
        return good, bad

    def remove(self, file: DropFile) -> None:
        """Removes a file that is done with. Where the daemon may not, the Epilog removes end marks after an hour."""
        for key, known in self._known.items():
            if known == file:
                with contextlib.suppress(OSError):
                    (self._path / key[0]).unlink(missing_ok=True)
                    self._listed.discard(key)
                    self._settled = False  # the folder's new stamp is of our own making: compare the names

    def _stamp_ns(self) -> int | None:
        try:
            return self._path.stat().st_mtime_ns
        except OSError:
            return None

    def _entries(self) -> list[tuple[_Key, os.DirEntry[str]]]:
        try:
            with os.scandir(self._path) as entries:
                return [((entry.name, entry.inode()), entry) for entry in entries if entry.name[0] != "."]
        except OSError:
            return []

    def _contents(self, entries: list[tuple[_Key, os.DirEntry[str]]]) -> Iterator[tuple[_Key, DropFile | BadDropFile]]:
        for key, entry in entries:
            known = self._known.get(key)
            try:
                yield key, known or _read(Path(entry.path))
            except OSError:
                continue  # it went between the listing and the reading


def _read(path: Path) -> DropFile | BadDropFile:
    # Not through a link, and not waiting for the other end of a pipe: whatever else lies here is refused.
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(handle, "rb") as file:  # noqa: PTH123 - a descriptor, not a path
        data = file.read(_LARGEST_BYTES + 1) or b""
    try:
        return parse(path.name, data)
    except BadDropFile as error:
        return error


def _number(values: dict[str, str], key: str) -> int | None:
    text = values.get(key, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else None


def _words(values: dict[str, str], key: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in values.get(key, "").split(",") if word.strip())
