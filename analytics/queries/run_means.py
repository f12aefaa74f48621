"""Means of every run straight from its raw rows: where a question begins that no rollup foresaw."""

from typing import Final

import pyarrow as pa

from analytics.model import Filter, Viewer, Window
from analytics.queries.scope import fill, of_runs_on_places, visible
from store.catalog import BY_NAME
from store.database import Cursor
from store.samples import samples

_MEANS: Final = {"util_mean_pct": "util_pct", "mem_mean_mib": "mem_used_mib", "power_mean_w": "power_w"}


def _mean(name: str) -> str:
    time = f"CAST(sum(span_ms) FILTER ({name} IS NOT NULL) AS BIGINT)"
    return f"CAST(sum(CAST({name} AS BIGINT) * span_ms) AS BIGINT) / {BY_NAME[name].per_unit:d}.0 / {time}"


_RUN_MEANS: Final = f"""
    SELECT run_key, count(*) AS rows, CAST(sum(span_ms) AS BIGINT) AS covered_ms,
        {", ".join(f"{_mean(column)} AS {name}" for name, column in _MEANS.items())}
    FROM samples SEMI JOIN (SELECT run_key FROM run r WHERE {{scope}}) USING (run_key)
    WHERE ts_ms > $start_ms AND ts_ms <= $end_ms
    GROUP BY run_key ORDER BY run_key"""  # noqa: S608 - names of the catalogue


def run_means(cur: Cursor, viewer: Viewer, window: Window, where: Filter) -> pa.Table:
    """Returns one row a run with raw rows that end in the window.

    run_key, rows, covered_ms and, weighted by the time that each row stands for, util_mean_pct (0-100), mem_mean_mib
    and power_mean_w; a mean is NULL where nothing was read. Rows count whole; a footprint also cuts them to what the
    run held. 45 ns of CPU a row.
    """
    scope = visible(viewer) & of_runs_on_places(where)
    with samples(cur, window.start_ms, window.end_ms):
        return cur.arrow(
            fill(_RUN_MEANS, scope=scope.sql),
            scope.params | {"start_ms": window.start_ms, "end_ms": window.end_ms},
        )
