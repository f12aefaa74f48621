"""What lies in a data directory."""

from pathlib import Path

from analytics.queries.site import data_to
from store.database import Database, database_file
from store.errors import StoreError


def holds_real_data(data: Path) -> bool:
    """Whether anything was recorded in the real store of a directory. Tokens alone, or people's acts, are no record."""
    if not database_file(data).exists():
        return False
    try:
        with Database.open(data, read_only=True) as database, database.cursor() as cursor:
            return data_to(cursor) is not None
    except StoreError:
        return True  # in use, or of another version: whoever opens it in earnest is told which
