"""Which hours and runs no longer agree with the raw rows and allocations.

Each mark carries a generation. Whoever recomputes removes only the marks whose generation is the one it began with, so
data that comes in meanwhile stays marked.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import pyarrow as pa

from store.changes import Change
from store.columns import HOUR_MS, MAX_SPAN_MS, from_tuples
from store.database import Cursor
from store.manifest import DAY_MS
from store.runbook import Entry
from store.schema import NODE_WORD_MS, RELEASING_MS, UNPLACED

_STRETCHES: Final = pa.schema({"node_key": pa.int32(), "start_ms": pa.int64(), "end_ms": pa.int64()})
_CHANGES: Final = pa.schema(
    {
        "node_key": pa.int32(), "gpu_key": pa.int32(), "start_ms": pa.int64(), "end_ms": pa.int64(),
        "since_ms": pa.int64(),
    }
)  # fmt: skip

# Cuts the rows of "stretch" at full hours and widens the marks by them.
_MARK: Final = f"""
    INSERT INTO dirty_hour
    SELECT hour * {HOUR_MS}, node_key, currval('generations'), min(greatest(start_ms, hour * {HOUR_MS})),
        max(least(end_ms, (hour + 1) * {HOUR_MS}))
    FROM (
        SELECT *, unnest(range(start_ms // {HOUR_MS}, (end_ms - 1) // {HOUR_MS} + 1)) AS hour
        FROM stretch WHERE end_ms > start_ms)
    GROUP BY hour, node_key
    ON CONFLICT DO UPDATE SET gen = excluded.gen, from_ms = least(from_ms, excluded.from_ms),
        to_ms = greatest(to_ms, excluded.to_ms)"""  # noqa: S608 - constants


# Words about nodes (store/inventory.py) reach on with the data.
_WORD: Final = f"""
    word AS (
        SELECT n.node_key, s.at_ms,
            s.standing <> 'up' OR s.gpus_used > 0 OR s.cpus_used > 0 OR s.flags <> '' AS matters, least(
            lead(s.at_ms) OVER (PARTITION BY s.cluster, s.name ORDER BY s.at_ms), s.at_ms + {NODE_WORD_MS}, $as_of)
            AS to_ms
        FROM node_state s JOIN node n ON n.name = s.name AND n.cluster = s.cluster
        WHERE s.at_ms < $as_of AND s.at_ms >= {{since}} - {NODE_WORD_MS})"""  # noqa: S608 - constants

# What Slurm says is in use is compared with what was held at that moment (store/spare.py).
_SPARE: Final = f"""{_WORD.format(since="(SELECT min(start_ms) FROM changed)")},
    spare AS (
        SELECT node_key, at_ms, to_ms FROM word w SEMI JOIN changed c ON c.node_key = w.node_key
            AND w.at_ms >= c.start_ms AND w.at_ms <= c.end_ms + {RELEASING_MS}
        WHERE matters
        UNION ALL
        SELECT c.node_key, c.end_ms, least(c.end_ms + {RELEASING_MS}, $as_of) FROM changed c SEMI JOIN word w
            ON w.node_key = c.node_key AND w.at_ms < c.end_ms + {RELEASING_MS} AND w.to_ms > c.end_ms AND matters)"""  # noqa: S608 - constants

# What lasts on the nodes of the table ``due``, from where it was computed or marked before.
_OPEN: Final = f"""
    WITH {_WORD.format(since="(SELECT min(from_ms) FROM due)")},
    stretch(node_key, start_ms, end_ms) AS (
        SELECT DISTINCT a.node_key, greatest(a.start_ms, d.from_ms), $as_of
        FROM allocation a JOIN due d USING (node_key) WHERE a.end_ms IS NULL
        UNION ALL
        SELECT {UNPLACED}, greatest(r.start_ms, d.from_ms), $as_of FROM run r JOIN due d ON d.node_key = {UNPLACED}
        WHERE r.end_ms IS NULL AND r.alloc_gpus > 0
        UNION ALL
        SELECT node_key, greatest(w.at_ms, d.from_ms), w.to_ms FROM word w JOIN due d USING (node_key)
        WHERE w.to_ms > d.from_ms AND w.matters)
    {_MARK}"""  # noqa: S608 - constants

# A node at whose front something is to be computed anyway is carried on with it.
_DUE: Final = f"""
    SELECT n.node_key, coalesce(o.to_ms, 0) AS from_ms
    FROM (SELECT node_key FROM node UNION ALL SELECT {UNPLACED}) n LEFT JOIN opened o USING (node_key)
    WHERE coalesce(o.to_ms, 0) < $as_of AND (coalesce(o.to_ms, 0) + $wait <= $as_of
        OR n.node_key IN (SELECT d.node_key FROM dirty_hour d WHERE d.to_ms > o.to_ms))"""  # noqa: S608 - constants


def as_of_ms(cursor: Cursor) -> int:
    """Returns the moment up to which open allocations count as held: the newest data of any node. 0: no data."""
    return int(cursor.scalar("SELECT coalesce(max(last_ms), 0) FROM node"))


# Rows of these holds may lie in files, with another run or none: store/repair.py looks at their days.
_MARK_DAYS: Final = f"""
    INSERT INTO repair_day
    SELECT day, currval('generations') FROM (
        SELECT DISTINCT unnest(range(start_ms // {DAY_MS}, (end_ms + {MAX_SPAN_MS}) // {DAY_MS} + 1)) AS day FROM (
            SELECT coalesce(start_ms, least($before, end_ms)) AS start_ms,
                CASE WHEN start_ms IS NULL THEN greatest($before, end_ms) ELSE coalesce(end_ms, $after) END AS end_ms
            FROM batch_change WHERE gpu_key <> {UNPLACED})
        WHERE start_ms < (SELECT max(to_ms) FROM sealed))
    WHERE day IN (SELECT day FROM sealed)
    ON CONFLICT DO UPDATE SET gen = excluded.gen"""  # noqa: S608 - constants


def mark_rows(cursor: Cursor, stretches: Sequence[tuple[int, int, int]]) -> None:
    """Marks (node_key, start_ms, end_ms) in which rows came in."""
    with cursor.table("stretch", from_tuples(stretches, _STRETCHES)):
        cursor.execute(_MARK)


_MARK_RUNS: Final = """
    INSERT INTO dirty_run
    SELECT run_key, currval('generations'), min(from_ms) FROM ({}) GROUP BY run_key
    ON CONFLICT DO UPDATE SET gen = excluded.gen, from_ms = least(from_ms, excluded.from_ms)"""


# Whose hold is cut short or freed by another run's on the same GPU, which need not be in the batch itself.
_CUT_RUNS: Final = """
    SELECT a.run_key, c.start_ms AS from_ms FROM allocation a JOIN batch_change c USING (gpu_key)
    WHERE gpu_key <> 0 AND a.start_ms < coalesce(c.end_ms, $as_of)
        AND coalesce(a.end_ms, $as_of) > coalesce(c.start_ms, c.end_ms)"""


def mark_runs(cursor: Cursor, from_ms: Mapping[int, int]) -> None:
    """Marks runs with new rows and runs whose description or allocations changed, and from when on."""
    cursor.execute(
        _MARK_RUNS.format("SELECT unnest($1::INTEGER[]) AS run_key, unnest($2::BIGINT[]) AS from_ms"),
        [list(from_ms), list(from_ms.values())],
    )


def mark_all(cursor: Cursor) -> None:
    """Marks everything that was ever computed: its definition changed."""
    cursor.execute("SELECT nextval('generations')")
    cursor.execute(f"""
        INSERT INTO dirty_hour
        SELECT DISTINCT hour_ms, node_key, currval('generations'), hour_ms, hour_ms + {HOUR_MS} FROM gpu_hour
        ON CONFLICT DO UPDATE SET gen = excluded.gen, from_ms = excluded.from_ms, to_ms = excluded.to_ms
        """)  # noqa: S608 - a constant
    cursor.execute("""
        INSERT INTO dirty_run SELECT run_key, currval('generations'), start_ms FROM run
        ON CONFLICT DO UPDATE SET gen = excluded.gen, from_ms = excluded.from_ms""")


_MARK_SUMS: Final = f"""
    INSERT INTO dirty_sum
    SELECT DISTINCT unnest(range(start_ms // {HOUR_MS}, (end_ms - 1) // {HOUR_MS} + 1)) * {HOUR_MS}, {UNPLACED},
        currval('generations')
    FROM (
        SELECT unnest($starts::BIGINT[]) AS start_ms, least(unnest($ends::BIGINT[]), $as_of + {HOUR_MS}) AS end_ms)
    WHERE end_ms > start_ms
    ON CONFLICT DO UPDATE SET gen = excluded.gen"""  # noqa: S608 - constants


def mark_described(cursor: Cursor, entries: Iterable[Entry], as_of_ms: int) -> None:
    """Marks the sums of runs whose user, account or partition is another than it was: their hours stay as they are."""
    spans: list[tuple[int, int]] = []
    for entry in entries:
        if entry.is_described_anew:
            holds = [(held.start_ms, held.end_ms) for held in entry.allocations.values()]
            times = [*holds, (entry.run.start_ms, entry.run.end_ms)]
            ends = [as_of_ms if end_ms is None else end_ms for _, end_ms in times]
            spans.append((min(start_ms for start_ms, _ in times), max(ends)))
    if spans:
        starts, ends_ms = zip(*spans, strict=True)
        cursor.execute(_MARK_SUMS, {"starts": list(starts), "ends": list(ends_ms), "as_of": as_of_ms})


def mark_open(cursor: Cursor, wait_ms: int) -> None:
    """Marks the time by which data now reaches further, of what lasts: open allocations and words about nodes.

    A node waits for it until something else at its front is to be computed, or for ``wait_ms`` of data: nearly always
    its own rows come before that, and each node is computed once for them and not with every batch of the others.
    """
    as_of = as_of_ms(cursor)
    due = cursor.arrow(_DUE, {"as_of": as_of, "wait": wait_ms})
    if not due.num_rows:
        return
    cursor.execute("SELECT nextval('generations')")
    with cursor.table("due", due):
        cursor.execute(_OPEN, {"as_of": as_of})
        cursor.execute("INSERT OR REPLACE INTO opened SELECT node_key, $1 FROM due", [as_of])


def mark_changes(cursor: Cursor, changes: Iterable[Change], before_ms: int, after_ms: int) -> None:
    """Marks held time that is not what it was; the data reached to ``before_ms`` and reaches to ``after_ms`` now.

    That is changed time itself, and other runs' time on the same GPUs that a change cuts short or frees, and those
    runs.
    """
    rows = [(each.node_key, each.gpu_key, each.start_ms, each.end_ms, each.since_ms) for each in changes]
    if not rows:
        return
    with cursor.table("batch_change", from_tuples(rows, _CHANGES)):
        cursor.execute(
            f"""
            WITH changed AS (
                -- An open hold counted up to where the data reached when its node was computed last.
                SELECT node_key, gpu_key,
                    coalesce(b.start_ms, greatest(b.since_ms, least(coalesce(o.to_ms, 0), b.end_ms))) AS start_ms,
                    CASE WHEN b.start_ms IS NULL THEN greatest($before, b.end_ms)
                        ELSE coalesce(b.end_ms, $as_of) END AS end_ms
                FROM batch_change b LEFT JOIN opened o USING (node_key)),
            cut AS (
                SELECT a.node_key, greatest(a.start_ms, c.start_ms), coalesce(a.end_ms, $as_of)
                FROM allocation a JOIN changed c USING (gpu_key)
                WHERE a.start_ms < c.end_ms AND coalesce(a.end_ms, $as_of) > c.start_ms),
            {_SPARE},
            stretch(node_key, start_ms, end_ms) AS (
                SELECT node_key, start_ms, end_ms FROM changed UNION ALL FROM cut UNION ALL FROM spare)
            {_MARK}""",  # noqa: S608 - constants
            {"before": before_ms, "as_of": after_ms},
        )
        cursor.execute(_MARK_RUNS.format(_CUT_RUNS), {"as_of": after_ms})
        cursor.execute(_MARK_DAYS, {"before": before_ms, "after": after_ms})
