"""Sealed files may lie in another place, such as a network file system; the database never does."""

from pathlib import Path

import pytest

from store import manifest
from store.backup import back_up
from store.database import Database
from store.errors import StoreError
from store.lock import refuse_network_file_system
from store.seal import seal
from store.sealed_place import MARK
from store.settings import StoreSettings
from tests.store.building import NOW
from tests.store.test_lock import MOUNTS
from tests.store.test_seal import AT_ONCE, everything, fill


def at(place: Path) -> StoreSettings:
    return StoreSettings(sealed_dir=str(place))


def test_rows_are_sealed_there_and_read_from_there(tmp_path: Path) -> None:
    data, place = tmp_path / "data", tmp_path / "far" / "sealed"
    with Database.open(data, settings=at(place)) as database:
        fill(database)
        before = everything(database)
        seal(database, AT_ONCE, NOW)
        assert everything(database) == before
        [file] = place.glob("day=*/*.parquet")
        back_up(database, tmp_path / "backup", NOW, "0")
        assert (tmp_path / "backup" / "raw" / file.relative_to(place)).stat().st_size == file.stat().st_size
    (place / "day=2026-11-23" / "left.parquet.part").touch()
    for settings in (at(place), StoreSettings()):
        with Database.open(data, settings=settings) as database, database.cursor() as cursor:
            manifest.remove_unlisted(cursor)
            assert everything(database) == before
    assert list(place.glob("day=*/*")) == [file]
    with Database.open(data, read_only=True) as database:
        assert everything(database) == before


def test_the_data_directory_on_a_network_is_refused_and_the_place_is_not_looked_at(tmp_path: Path) -> None:
    (tmp_path / "mountinfo").write_text(MOUNTS)
    with pytest.raises(StoreError, match="network file system"):
        refuse_network_file_system(Path("/home/ann/data"), tmp_path / "mountinfo")
    # DIR/raw may lead to /home (nfs4): what is asked is where DIR itself lies.
    (tmp_path / "raw").symlink_to("/home/ann/sealed")
    (tmp_path / "mountinfo").write_text(MOUNTS + f"50 22 8:9 / {tmp_path} rw - ext4 /dev/sdc1 rw\n")
    refuse_network_file_system(tmp_path, tmp_path / "mountinfo")


def test_a_place_of_another_store_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "sealed"
    Database.open(tmp_path / "one", settings=at(place)).close()
    with pytest.raises(StoreError, match="is not empty"):
        Database.open(tmp_path / "two", settings=at(place))
    (tmp_path / "two" / "raw").symlink_to(place)
    for settings in (at(place), StoreSettings()):
        with pytest.raises(StoreError, match=r"of another store, not of .*two"):
            Database.open(tmp_path / "two", settings=settings)
    Database.open(tmp_path / "one", settings=at(place)).close()


def test_a_place_that_is_not_mounted_is_said(tmp_path: Path) -> None:
    place = tmp_path / "sealed"
    Database.open(tmp_path / "data", settings=at(place)).close()
    (place / MARK).unlink()
    with pytest.raises(StoreError, match="is it mounted"):
        Database.open(tmp_path / "data", settings=at(place))


def test_files_that_lie_elsewhere_are_to_be_moved_first(tmp_path: Path) -> None:
    with Database.open(tmp_path / "data") as database:
        fill(database)
        seal(database, AT_ONCE, NOW)
    with pytest.raises(StoreError, match="move them there"):
        Database.open(tmp_path / "data", settings=at(tmp_path / "sealed"))
    Database.open(tmp_path / "data").close()


def test_a_place_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot be used for sealed files"):
        Database.open(tmp_path / "data", settings=at(tmp_path / "file" / "sealed"))
    Database.open(tmp_path / "data").close()
