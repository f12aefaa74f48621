"""Makes a backup beside the work of the hub, for its owner alone: into a directory of the hub's machine."""

from pathlib import Path

import msgspec
from flask import Blueprint, Response, request

from analytics.requests import BadRequest
from dashboard.owner import answer, stranger
from dashboard.services import Services
from store.backup import back_up
from store.copies import Manifest
from store.errors import StoreError


class _Given(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    directory: str


def register(blueprint: Blueprint, services: Services) -> None:
    """Adds POST /api/v1/backup, which answers when the backup is on disk."""

    @blueprint.post("/api/v1/backup")
    def backup() -> Response:
        if refusal := stranger("Backups are made", "gpuledger backup DIR"):
            return refusal
        try:
            directory = Path(msgspec.json.decode(request.get_data(), type=_Given).directory)
            if not directory.is_absolute():
                raise BadRequest("The directory of a backup is a whole path.")
            with services.cursor() as cursor:
                made = back_up(cursor.database, directory, services.now_ms(), services.version)
        except (StoreError, msgspec.DecodeError) as error:
            raise BadRequest(str(error)) from error
        return answer(200, summary(made))


def summary(made: Manifest) -> dict[str, int]:
    """Returns the sums of a backup, as the command prints them."""
    rows = sum(made.rows.values()) + made.raw_rows
    return {"files": len(made.files), "bytes": made.bytes, "rows": rows, "data_to_ms": made.data_to_ms}
