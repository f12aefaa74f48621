"""Folders in which a site's own Prolog says which job holds which GPU (store/formats/gpu_files.py)."""

from collections.abc import Callable, Mapping
from pathlib import Path

from collector.claims import Claim, Scene
from store.formats.gpu_files import LARGEST_BYTES, BadGpuFile, GpuFile
from store.segment import Event

Parse = Callable[[str, bytes], GpuFile]


class SiteFiles:
    """One folder, read anew at each question: a handful of small files. One that is not there says nothing."""

    def __init__(self, folder: Path, parse: Parse) -> None:
        self._folder = folder
        self._parse = parse
        self._refused: set[str] = set()
        self._events: list[Event] = []
        self._seen_ns = self._stamp_ns()

    def take_events(self) -> tuple[Event, ...]:
        """Returns which files said nothing that could be understood, each once."""
        events, self._events = tuple(self._events), []
        return events

    def changed(self) -> bool:
        """Returns whether files have come or gone since ``claims`` was asked."""
        return self._stamp_ns() != self._seen_ns

    def claims(self, scene: Scene) -> Mapping[str, Claim]:
        """Returns what the files say (see collector.claims.Witness)."""
        self._seen_ns = self._stamp_ns()
        gpus: dict[str, list[str]] = {}
        uids: dict[str, int | None] = {}
        for file in self._files(scene.now_ms):
            for job_id in file.job_ids:
                gpus.setdefault(job_id, []).append(file.gpu)
                uids[job_id] = file.uid
        found = {job_id: scene.place(sorted(names)) for job_id, names in gpus.items()}
        return {
            job_id: Claim("site", frozenset(held), is_whole=True, uid=uids[job_id])
            for job_id, held in found.items()
            if held is not None
        }

    def _stamp_ns(self) -> int | None:
        try:
            return self._folder.stat().st_mtime_ns
        except OSError:
            return None

    def _files(self, now_ms: int) -> list[GpuFile]:
        try:
            paths = sorted(path for path in self._folder.iterdir() if path.is_file() and path.name[0] != ".")
        except OSError:
            return []
        found = []
        for path in paths:
            try:
                with path.open("rb") as file:
                    found.append(self._parse(path.name, file.read(LARGEST_BYTES + 1)))
            except OSError:
                continue  # it went between the listing and the reading
            except BadGpuFile as error:
                if path.name not in self._refused:
                    self._refused.add(path.name)
                    detail = f"{path} is not read: {error}"
                    self._events.append(Event(ts_ms=now_ms, kind="dropfile_refused", detail=detail))
        return found
