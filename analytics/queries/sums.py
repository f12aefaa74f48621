"""Sums of GPU time over pieces, in all or by what they share.

SQL sums plain milliseconds per weight and Python weighs the few rows that come back; runs and people are counted in a
statement of their own. In one statement DuckDB took longer for weighing and counting than for all sums together.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from analytics.model import Filter, Viewer, Window
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
    return Key(
        " + ".join(["0", *(f"CAST(piece.at_ms >= ${name} AS INTEGER)" for name in starts)]), ("at_ms",), "", starts
    )


_TIMES: Final = (
    *("held", "active", "low", "idle_held", "idle_empty", "unknown", "unmeasurable", "parked", "util_sum", "util_ms"),
)

# A GPU has one weight, so its parts of the count add up.
_SUMS: Final = f"""
    SELECT {{key}} AS key, weight, CAST(sum(energy) AS HUGEINT), bool_or(energy_estimated),
        count(DISTINCT gpu_key) FILTER (gpu_key <> 0), {", ".join(f"CAST(sum({name}) AS BIGINT)" for name in _TIMES)}
    FROM ({{piece}}) AS piece {{join}} GROUP BY ALL"""  # noqa: S608 - constants of this module

_COUNTS: Final = """
    SELECT key, count(*), count(DISTINCT "user"), CAST(coalesce(sum(f.findings), 0) AS BIGINT)
    FROM (SELECT DISTINCT {key} AS key, piece.run_key, piece."user" FROM ({piece}) AS piece {join}) AS run
        LEFT JOIN (SELECT run_key, count(*) AS findings FROM finding WHERE closed_ms IS NULL GROUP BY run_key) AS f
            ON f.run_key = run.run_key
    GROUP BY key"""


def sums(
    cur: Cursor, viewer: Viewer, window: Window, where: Filter, key: Key = ALL, also: Condition = ALWAYS
) -> dict[Any, Sums]:
    """Returns the sums of each value of ``key`` that a piece has; under ALL of the one value 0.

    A run counts, with its findings, once under each value where it held GPUs.
    """
    columns = (*key.reads, *_TIMES, "weight", "gpu_key", "energy", "energy_estimated")
    piece = pieces(viewer, window, where, columns, cuts=key.cuts, weigh=False, also=also)
    rows = cur.tuples(fill(_SUMS, key=key.sql, piece=piece.sql, join=key.join), piece.params | key.params)
    if not rows:
        return {}
    piece = pieces(viewer, window, where, (*key.reads, "run_key", "user"), cuts=key.cuts, also=also)
    counts = cur.tuples(fill(_COUNTS, key=key.sql, piece=piece.sql, join=key.join), piece.params | key.params)
    by_key: dict[Any, list[list[Any]]] = defaultdict(list)
    for value, *row in rows:
        by_key[value].append(row)
    return {value: _weighed(by_key[value], *count) for value, *count in counts}


def _weighed(rows: list[list[Any]], runs: int, users: int, findings: int) -> Sums:
    """One row a weight, as _SUMS has its columns."""
    weights, energies, estimated, gpus, *times = zip(*rows, strict=True)
    known = [energy for energy in energies if energy is not None]
    return Sums(
        # Utilization that nothing read is NULL; its time is then 0 and so is the sum.
        **{
            name: sum(weight * (value or 0) for weight, value in zip(weights, values, strict=True))
            for name, values in zip(_TIMES, times, strict=True)
        },
        energy=sum(known) if known else None,
        energy_estimated=any(estimated),
        gpus=sum(gpus),
        runs=runs,
        users=users,
        findings=findings,
    )
