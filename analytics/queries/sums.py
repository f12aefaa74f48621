"""Sums of GPU time over pieces, in all or by what they share.

SQL sums plain milliseconds per weight and Python weighs the few rows that come back; runs and people are counted in a
statement of their own. In one statement DuckDB took longer for weighing and counting than for all sums together.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from analytics.model import Filter, Viewer, Window
from analytics.queries.coarse import coarse
from analytics.queries.days import as_table, days
from analytics.queries.figures import Sums
from analytics.queries.pieces import pieces
from analytics.queries.scope import ALWAYS, Condition, Params, fill
from store.database import Cursor


class Key(msgspec.Struct, frozen=True):
    """What pieces are summed by: an expression over a ``piece``, the columns it reads and what it is joined with.

    ``cuts`` are the moments at which its value changes in the course of time.
    """

    sql: str
    reads: tuple[str, ...] = ()
    join: str = ""
    params: Params = {}
    cuts: tuple[int, ...] = ()


ALL: Final = Key("0")


def by_column(name: str) -> Key:
    """Returns the key of one column of a piece."""
    return Key(f'piece."{name}"', (name,))


def by_day(window: Window) -> Key:
    """Returns the key of the day in the window's zone, by its ISO date."""
    table, cuts = as_table(window), tuple(day.start_ms for day in days(window))
    join = "JOIN ({days}) AS d ON piece.at_ms >= d.start_ms AND piece.at_ms < d.end_ms"
    return Key("d.name", ("at_ms",), fill(join, days=table.sql), table.params, cuts)


def by_number(windows: Sequence[Window]) -> Key:
    """Returns the key of the window that a piece lies in, by its number; they follow each other without a gap."""
    starts: Params = {f"part_{index}": window.start_ms for index, window in enumerate(windows) if index}
    number = " + ".join(["0", *(f"CAST(piece.at_ms >= ${name} AS INTEGER)" for name in starts)])
    return Key(number, ("at_ms",), "", starts, tuple(window.start_ms for window in windows[1:]))


_TIMES: Final = (
    *("held", "active", "low", "idle_held", "idle_empty", "unknown", "unmeasurable", "parked", "util_sum", "util_ms"),
)

_SUMS: Final = f"""
    SELECT {{key}} AS key, weight, CAST(sum(energy) AS HUGEINT), bool_or(energy_estimated),
        {", ".join(f"CAST(sum({name}) AS BIGINT)" for name in _TIMES)}
    FROM ({{piece}}) AS piece {{join}} GROUP BY ALL"""  # noqa: S608 - constants of this module

OF_RUN: Final = frozenset({"cluster", "user", "account", "partition"})
"""Columns of a piece that its run alone tells."""

_RUNS: Final = 'SELECT DISTINCT {key} AS key, piece.run_key, piece."user" FROM ({piece}) AS piece {join}'

_RUNS_OF_KEY: Final = """
    SELECT {key} AS key, piece.run_key, piece."user" FROM (
        SELECT r.run_key, r.cluster, r.user_name AS "user", r.account, r."partition"
        FROM (SELECT DISTINCT run_key FROM ({piece})) AS held JOIN run r ON r.run_key = held.run_key) AS piece {join}"""

_COUNTS: Final = """
    SELECT key, count(*), count(DISTINCT "user"), CAST(coalesce(sum(f.findings), 0) AS BIGINT)
    FROM ({runs}) AS run
        LEFT JOIN (SELECT run_key, count(*) AS findings FROM finding WHERE closed_ms IS NULL GROUP BY run_key) AS f
            ON f.run_key = run.run_key
    GROUP BY key"""

_GPUS: Final = """
    SELECT {key} AS key, count(DISTINCT gpu_key) FROM ({piece}) AS piece {join} WHERE gpu_key <> 0 GROUP BY key"""


def sums(
    cur: Cursor,
    viewer: Viewer,
    window: Window,
    where: Filter,
    key: Key = ALL,
    also: Condition = ALWAYS,
    *,
    count: bool = True,
) -> dict[Any, Sums]:
    """Returns the sums of each value of ``key`` that a piece has; under ALL of the one value 0.

    A run counts, with its findings, once under each value where it held GPUs. Without ``count`` nothing is counted:
    over a long window that takes longer than all sums.
    """
    columns = (*key.reads, *_TIMES, "weight", "energy", "energy_estimated")
    told = coarse(cur, viewer, window, where, columns, cuts=key.cuts) if also is ALWAYS else None
    piece = told or pieces(viewer, window, where, columns, cuts=key.cuts, weigh=False, also=also)
    rows = cur.tuples(fill(_SUMS, key=key.sql, piece=piece.sql, join=key.join), piece.params | key.params)
    if not rows:
        return {}
    by_key: dict[Any, list[list[Any]]] = defaultdict(list)
    for value, *row in rows:
        by_key[value].append(row)
    found = {value: _weighed(of_value) for value, of_value in by_key.items()}
    return _counted(cur, viewer, window, where, key, also, found) if count else found


def counts(
    cur: Cursor, viewer: Viewer, window: Window, where: Filter, key: Key = ALL, also: Condition = ALWAYS
) -> dict[Any, tuple[int, int, int]]:
    """Returns by value of ``key`` the runs that held GPUs, their users, and the open findings of these runs."""
    of_run = set(key.reads) <= OF_RUN
    # What a run is does not change from hour to hour: it is looked up once a run, not for each of its rows.
    columns = ("run_key",) if of_run else (*key.reads, "run_key", "user")
    piece = pieces(viewer, window, where, columns, cuts=key.cuts, also=also)
    runs = fill(_RUNS_OF_KEY if of_run else _RUNS, key=key.sql, piece=piece.sql, join=key.join)
    rows = cur.tuples(fill(_COUNTS, runs=runs), piece.params | key.params)
    return {value: (number, users, findings) for value, number, users, findings in rows}


def _counted(
    cur: Cursor, viewer: Viewer, window: Window, where: Filter, key: Key, also: Condition, found: dict[Any, Sums]
) -> dict[Any, Sums]:
    piece = pieces(viewer, window, where, (*key.reads, "gpu_key"), cuts=key.cuts, also=also)
    statement = fill(_GPUS, key=key.sql, piece=piece.sql, join=key.join)
    gpus = dict(cur.tuples(statement, piece.params | key.params))
    return {
        value: msgspec.structs.replace(found[value], runs=runs, users=users, findings=findings, gpus=gpus.get(value, 0))
        for value, (runs, users, findings) in counts(cur, viewer, window, where, key, also).items()
        if value in found
    }


def _weighed(rows: list[list[Any]]) -> Sums:
    """One row a weight, as _SUMS has its columns."""
    weights, energies, estimated, *times = zip(*rows, strict=True)
    known = [energy for energy in energies if energy is not None]
    return Sums(
        # Utilization that nothing read is NULL; its time is then 0 and so is the sum.
        **{
            name: sum(weight * (value or 0) for weight, value in zip(weights, values, strict=True))
            for name, values in zip(_TIMES, times, strict=True)
        },
        energy=sum(known) if known else None,
        energy_estimated=any(estimated),
    )
