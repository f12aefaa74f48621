"""Every family through every kind of recommendation, and the table written anew."""

from typing import Any, Final

import msgspec
import pyarrow as pa

from analytics.rightsizing.cores import more_cores
from analytics.rightsizing.gpus import fewer_gpus
from analytics.rightsizing.history import histories
from analytics.rightsizing.proposal import Proposal, proposal
from analytics.rightsizing.smaller_gpu import smaller_gpu
from analytics.rightsizing.time_limit import shorter_time
from analytics.rightsizing.waits import Waits
from analytics.settings import RightsizingSettings
from store.database import Cursor, Database

_TYPES: Final[dict[Any, pa.DataType]] = {
    int: pa.int64(),
    float: pa.float64(),
    str: pa.string(),
    bool: pa.bool_(),
    str | None: pa.string(),
    float | None: pa.float64(),
}


def rightsize(db: Database, now_ms: int, settings: RightsizingSettings) -> int:
    """Makes the recommendations anew from the runs of the last ``history_days``; returns how many rest on enough runs.

    A recommendation that would have failed a run of the history is not made. Families that lack runs are kept with
    what is missing.
    """
    with db.cursor() as cur:
        waits = Waits(cur, now_ms, settings)
        made: list[Proposal] = []
        for history in histories(cur, now_ms, settings):
            changes = (
                fewer_gpus(history, waits, settings, now_ms),
                smaller_gpu(history, waits),
                more_cores(history),
                shorter_time(history, waits, settings),
            )
            made += [
                proposal(history, change, settings, now_ms)
                for change in changes
                if change is not None and change.would_have_failed == 0
            ]
        _keep(cur, made)
    return sum(each.missing is None for each in made)


def _keep(cur: Cursor, made: list[Proposal]) -> None:
    fields = msgspec.structs.fields(Proposal)
    schema = pa.schema([(field.name, _TYPES[field.type]) for field in fields])
    rows = pa.table({field.name: [getattr(each, field.name) for each in made] for field in fields}, schema=schema)
    with cur.table("made", rows), cur.transaction():
        # A proposal that says the same again keeps the day on which it was first made.
        cur.execute(
            "CREATE OR REPLACE TEMP TABLE kept AS "
            "SELECT made.* REPLACE (coalesce(old.made_ms, made.made_ms) AS made_ms) FROM made "
            "LEFT JOIN recommendation AS old ON old.recommendation_id = made.recommendation_id "
            "AND old.proposed = made.proposed AND (old.missing IS NULL) = (made.missing IS NULL)"
        )
        cur.execute("DELETE FROM recommendation")
        cur.execute("INSERT INTO recommendation BY NAME SELECT * FROM kept ORDER BY recommendation_id")
