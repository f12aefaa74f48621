"""Backups and exports beside the work of the hub, for its owner alone: into a directory of the hub's machine."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from flask import Blueprint, Response, request

from analytics.requests import BadRequest
from dashboard.owner import answer, stranger
from dashboard.services import Services
from store.backup import back_up
from store.copies import Manifest
from store.database import Database
from store.errors import StoreError
from store.export import Form, export

T = TypeVar("T", bound=msgspec.Struct)


class _Backup(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    directory: str


class _Export(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    directory: str
    form: Form
    from_ms: int
    to_ms: int


def register(blueprint: Blueprint, services: Services) -> None:
    """Adds POST /api/v1/backup and /api/v1/export, which answer when all is on disk."""

    def worked(kind: type[T], work: Callable[[Database, T], Any]) -> Response:
        try:
            given = msgspec.json.decode(request.get_data(), type=kind)
            with services.cursor() as cursor:
                return answer(200, work(cursor.database, given))
        except (StoreError, msgspec.DecodeError) as error:
            raise BadRequest(str(error)) from error

    @blueprint.post("/api/v1/backup")
    def backup() -> Response:
        def work(database: Database, given: _Backup) -> dict[str, int]:
            return summary(back_up(database, _whole(given.directory), services.now_ms(), services.version))

        return stranger("Backups are made", "gpuledger backup DIR") or worked(_Backup, work)

    @blueprint.post("/api/v1/export")
    def export_() -> Response:
        return stranger("Exports are made", "gpuledger export --format parquet DIR") or worked(
            _Export,
            lambda database, given: export(database, _whole(given.directory), given.form, given.from_ms, given.to_ms),
        )


def _whole(directory: str) -> Path:
    path = Path(directory)
    if not path.is_absolute():
        raise BadRequest("The directory is given by its whole path.")
    return path


def summary(made: Manifest) -> dict[str, int]:
    """Returns the sums of a backup, as the command prints them."""
    rows = sum(made.rows.values()) + made.raw_rows
    return {"files": len(made.files), "bytes": made.bytes, "rows": rows, "data_to_ms": made.data_to_ms}
