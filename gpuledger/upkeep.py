"""The jobs that keep the store small and quick to open: sealing, merging, retention, checkpoints."""

from typing import Final

from analytics.schedule import Job
from store.aside import remove_working
from store.checkpoint import fold
from store.database import Database
from store.manifest import remove_unlisted
from store.merge import merge
from store.retention import retain
from store.seal import seal
from store.seal_minutes import seal_minutes
from store.settings import StoreSettings

SEAL_S: Final = 300.0
MERGE_S: Final = 900.0
RETAIN_S: Final = 3600.0
FOLD_S: Final = 60.0


def upkeep_jobs(settings: StoreSettings) -> tuple[Job, ...]:
    """Returns the jobs of the store, as Schedule takes them."""
    return (
        Job(name="seal", every_s=SEAL_S, work=lambda db, now_ms: seal(db, settings, now_ms)),
        Job(name="merge days", every_s=MERGE_S, work=lambda db, now_ms: merge(db, settings, now_ms)),
        Job(name="seal minutes", every_s=RETAIN_S, work=lambda db, now_ms: seal_minutes(db, settings, now_ms)),
        Job(name="retention", every_s=RETAIN_S, work=lambda db, now_ms: retain(db, settings, now_ms)),
        Job(name="checkpoint", every_s=FOLD_S, work=lambda db, _now_ms: fold(db, settings)),
    )


def tidy(database: Database) -> None:
    """Removes what a crash left of files being sealed, or of a backup; before anybody reads."""
    remove_working(database.directory)
    with database.cursor() as cursor:
        remove_unlisted(cursor)
