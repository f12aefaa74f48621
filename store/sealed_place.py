"""Sealed files in another place than the data directory: DIR/raw is then a symbolic link to it.

They never change and are read by their list, so a network file system does for them. The place is marked as this data
directory's: another's would be swept of what that one does not list, and one that is not mounted would seem empty.
"""

import secrets
from pathlib import Path
from typing import Final

from store.connection import SEALED_FOLDER
from store.errors import StoreError

MARK: Final = "sealed-place"
"""File with the same random text in the data directory and in the place."""


def place_sealed(directory: Path, place: Path) -> None:
    """Makes DIR/raw a link to ``place`` where it is not yet. Call it as the owner of the directory.

    Raises:
        StoreError: sealed files lie elsewhere already, the place is in use, or it is not what it was.
    """
    link = directory / SEALED_FOLDER
    if link.is_symlink() and link.resolve() == place.resolve():
        refuse_foreign(directory)
        return
    if link.is_symlink() or (link.exists() and any(link.iterdir())):
        raise StoreError(
            f"Sealed files lie in {link.resolve()} and store.sealed_dir names {place}; move them there with the file "
            f"{MARK}, make {link} a link to it, and start again."
        )
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        if any(place.iterdir()):
            raise StoreError(f"store.sealed_dir names {place}, which is not empty; name a directory that is.")
        mark = secrets.token_hex(16)
        for folder in (directory, place):
            (folder / MARK).write_text(mark, encoding="utf-8")
        if link.exists():
            link.rmdir()
        link.symlink_to(place.resolve(), target_is_directory=True)
    except OSError as error:
        raise StoreError(
            f"{place} cannot be used for sealed files ({error.strerror}); name another in store.sealed_dir."
        ) from error


def refuse_foreign(directory: Path) -> None:
    """Raises StoreError where DIR/raw leads to a place that is not marked as this data directory's."""
    link = directory / SEALED_FOLDER
    if not link.is_symlink():
        return
    mark = link / MARK
    if not mark.is_file():
        raise StoreError(f"{link.resolve()} does not hold the sealed files of {directory}; is it mounted?")
    if mark.read_text(encoding="utf-8") != _own(directory):
        raise StoreError(f"{link.resolve()} holds the sealed files of another store, not of {directory}; name its own.")


def _own(directory: Path) -> str | None:
    known = directory / MARK
    return known.read_text(encoding="utf-8") if known.is_file() else None
