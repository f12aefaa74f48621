"""Whatever comes twice in one batch counts once: an upsert of rows that meet themselves fails or doubles otherwise."""

from typing import Any

from store.database import Database
from store.segment import NullReason, ProbeRun, ProcessSeen
from tests.store.building import (
    HOUR,
    MINUTE,
    NOW,
    T0,
    hold,
    hours,
    inventory,
    named,
    segment,
    steady,
    store,
    told,
    word,
)

NAMED = ("gpu_hour", "allocation")
PLAIN = ("null_reason", "process", "probe_log", "node_state", "suspension")
END = T0 + HOUR


def parts() -> list[Any]:
    """Segments that tell everything twice: within one, and in the next one again."""
    rows = steady(T0, END, 0, 0, MINUTE, util_pct=500)
    held = hold("100", T0, END)
    done = told("100", T0, END)
    twice: dict[str, Any] = {
        "holdings": [held, held],
        "accounting": [done, done],
        "nulls": [NullReason(device=0, metric="power_w", reason="failed", from_ms=T0, to_ms=END)] * 2,
        "probes": [ProbeRun(probe="gpu", at_ms=T0, duration_ms=1.0, ok=True, rows=1)] * 2,
        "processes": [ProcessSeen(device=0, pid=7, name="python", from_ms=T0, to_ms=END, holding=0)] * 2,
    }
    return [segment(rows, seq=0, **twice), segment([], seq=1, first_ms=T0, last_ms=END, **twice)]


def contents(database: Database) -> dict[str, Any]:
    found: dict[str, Any] = {name: named(database, name) for name in NAMED}
    with database.cursor() as cursor:
        for name in PLAIN:
            found[name] = cursor.arrow(f"SELECT * FROM {name} ORDER BY ALL").to_pylist()
        found["run"] = cursor.tuples("SELECT job_id, state, start_ms, end_ms, alloc_gpus FROM run")
        found["hot"] = cursor.scalar("SELECT count(*) FROM hot")
    return found


def test_what_comes_twice_in_one_batch_is_as_once(database: Database) -> None:
    one, two = parts()
    words = inventory(word("n1"), word("n1"), at_ms=T0)
    result = store(database, one, one, two, two, words, words)
    assert (result.segments, result.duplicates, result.quarantined) == (3, 3, 0)
    found = contents(database)
    assert found["hot"] == 60
    assert found["run"] == [("100", "COMPLETED", T0, END, 1)]
    assert [(row["held_ms"], row["low_ms"] + row["active_ms"]) for row in hours(database)] == [(HOUR, HOUR)]
    assert all(len(found[name]) == 1 for name in ("allocation", "null_reason", "process", "probe_log", "node_state")), (
        found
    )
    # And again, in batches of one, in the other order.
    for each in (words, two, one):
        assert store(database, each, now_ms=NOW).duplicates == 1
    assert contents(database) == found
