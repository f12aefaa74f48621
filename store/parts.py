"""Rows cut at minutes and at their allocations, in order of (GPU, minute, run), without moving their readings.

DuckDB takes 2 us a row for a window over GPUs and two joins, since it carries every reading along. Here positions of
rows are put in order and cut; each reading is looked up by them once, when it is summed.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from store.columns import HOUR_MS

MINUTE_MS: Final = 60_000
_NO_RUN: Final = -1

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


class Parts:
    """Parts of rows that lie in one minute each.

    ``row`` is the position of each part's row, ``minute`` when it lies, ``ms`` how long it is, ``ends`` is 1 where its
    row ends in it, ``before`` and ``after`` are the running time of its row at both its ends. ``starts`` has where each
    group of (gpu_key, minute, run_key) begins.
    """

    def __init__(self, rows: pa.Table, held: pa.Table, work: pa.Table) -> None:
        """Cuts rows.

        Args:
            rows: ts_ms, span_ms, node_key, gpu_key, run_key (NULL: none) and any readings, in any order.
            held: stretches (run_key, gpu_key, start_ms, end_ms) in which runs hold GPUs. A row of a run counts within
                them alone, and not at all where its run never holds its GPU.
            work: hour_ms, node_key and from_ms, to_ms on full minutes within that hour: no other part is returned.
        """
        self._rows = rows.combine_chunks()
        self._known: dict[str, tuple[npt.NDArray[Any], Bools | None]] = {}
        row = self._in_order()
        gpu, run, ts_ms = self._at("gpu_key", row), self._run()[row], self._at("ts_ms", row)
        from_ms = ts_ms - self._at("span_ms", row)
        same = gpu[1:] == gpu[:-1]
        np.maximum(from_ms[1:], ts_ms[:-1], out=from_ms[1:], where=same)
        piece, from_ms, to_ms = _within(gpu, run, from_ms, ts_ms, held)
        row, minute, from_ms, to_ms = _by_minute(row[piece], from_ms, to_ms)
        wanted = _wanted(self._at("node_key", row), minute, work)
        self.row, self.minute = row[wanted], minute[wanted]
        from_ms, to_ms = from_ms[wanted], to_ms[wanted]
        order = self._group()
        if order is not None:
            self.row, self.minute, from_ms, to_ms = (each[order] for each in (self.row, self.minute, from_ms, to_ms))
        ends_ms = self._at("ts_ms", self.row)
        begins_ms = ends_ms - self._at("span_ms", self.row)
        self.ms, self.ends = to_ms - from_ms, ends_ms == to_ms
        self.before, self.after = from_ms - begins_ms, to_ms - begins_ms

    def column(self, name: str) -> tuple[npt.NDArray[Any], Bools | None]:
        """Returns each part's value of a column with NULL as 0, and where it is not NULL (None: nowhere NULL)."""
        values, valid = self._column(name)
        return values[self.row], None if valid is None else valid[self.row]

    def is_empty(self, name: str) -> bool:
        """Returns whether no row has a value of a column."""
        column = self._rows[name]
        return bool(column.null_count == len(column))

    def first(self, name: str) -> pa.Array:
        """Returns the value of a column that each group has in common."""
        return self._rows[name].combine_chunks().take(pa.array(self.row[self.starts]))

    def _column(self, name: str) -> tuple[npt.NDArray[Any], Bools | None]:
        array = self._rows[name].combine_chunks()
        if not array.null_count:
            return array.to_numpy(zero_copy_only=False), None
        valid = array.is_valid().to_numpy(zero_copy_only=False)
        return pc.fill_null(array, 0).to_numpy(zero_copy_only=False), valid

    def _at(self, name: str, row: Ints) -> Ints:
        if name not in self._known:
            self._known[name] = self._column(name)
        found: Ints = self._known[name][0][row].astype(np.int64)
        return found

    def _run(self) -> Ints:
        run = self._rows["run_key"].combine_chunks()
        return np.asarray(pc.fill_null(run.cast(pa.int64()), _NO_RUN).to_numpy(zero_copy_only=False), np.int64)

    def _in_order(self) -> Ints:
        """Returns the positions of the rows by GPU, each one's by time (states.ROW_ORDER)."""
        ts_ms, gpu = (self._column(name)[0].astype(np.int64) for name in ("ts_ms", "gpu_key"))
        if not len(ts_ms):
            return np.empty(0, np.int64)
        first = ts_ms.min()
        key = gpu * (ts_ms.max() - first + 1) + (ts_ms - first)
        row: Ints = np.argsort(key)
        ordered = key[row]
        if np.any(ordered[1:] == ordered[:-1]):  # rows of one GPU that end together
            keys = [key, -self._column("span_ms")[0].astype(np.int64)]
            for name in ("util_pct", "mem_used_mib", "power_w"):
                values, valid = self._column(name)
                present = values.astype(np.int64)
                keys.append(-present if valid is None else np.where(valid, -present, 1))
            row = np.lexsort(keys[::-1])
        return row

    def _group(self) -> Ints | None:
        """Sets ``starts``; returns the order that the parts must be brought into, None where they are in it."""
        gpu, run = self._at("gpu_key", self.row), self._run()[self.row]
        if not len(gpu):
            self.starts: Ints = np.empty(0, np.int64)
            return None
        self.starts = np.flatnonzero(_changes(gpu, self.minute, run))
        keys = [each[self.starts] for each in (run, self.minute, gpu)]
        by_key = np.lexsort(keys)
        if np.all(_changes(*(key[by_key] for key in keys))):
            return None
        # Runs that share a GPU have rows in turn within a minute.
        order: Ints = np.lexsort((run, self.minute, gpu))
        self.starts = np.flatnonzero(_changes(gpu[order], self.minute[order], run[order]))
        return order


def _changes(*columns: Ints) -> Bools:
    """Returns where any of the columns is another than in the row before."""
    found = np.zeros(len(columns[0]), np.bool_)
    found[:1] = True
    for column in columns:
        found[1:] |= column[1:] != column[:-1]
    return found


def _repeat(counts: Ints) -> tuple[Ints, Ints]:
    """Returns each position as often as it counts, and which time it is."""
    position = np.repeat(np.arange(len(counts)), counts)
    return position, np.arange(len(position)) - np.repeat(np.cumsum(counts) - counts, counts)


def _within(gpu: Ints, run: Ints, from_ms: Ints, to_ms: Ints, held: pa.Table) -> tuple[Ints, Ints, Ints]:
    """Returns the position, start and end of what lies within a stretch in which the row's run holds its GPU."""
    whose = (held["gpu_key"].to_numpy().astype(np.int64) << 32) + held["run_key"].to_numpy()
    order = np.argsort(whose, kind="stable")
    whose, starts, ends = whose[order], *(held[name].to_numpy()[order] for name in ("start_ms", "end_ms"))
    # Rows of one GPU and run follow each other: their stretches are looked up once.
    first = np.flatnonzero(_changes(gpu, run))
    wanted = (gpu[first] << 32) + run[first]
    low = np.searchsorted(whose, wanted)
    count = np.searchsorted(whose, wanted, side="right") - low
    free = run[first] == _NO_RUN
    # Nobody's rows are cut by nothing: one stretch of all time, at the end of the list.
    low[free], count[free] = len(whose), 1
    starts, ends = np.append(starts, np.iinfo(np.int64).min), np.append(ends, np.iinfo(np.int64).max)
    lengths = np.diff(first, append=len(gpu))
    piece, time = _repeat(np.repeat(count, lengths))
    stretch = np.repeat(low, lengths)[piece] + time
    from_ms, to_ms = np.maximum(from_ms[piece], starts[stretch]), np.minimum(to_ms[piece], ends[stretch])
    kept = np.flatnonzero(to_ms > from_ms)
    return piece[kept], from_ms[kept], to_ms[kept]


def _by_minute(row: Ints, from_ms: Ints, to_ms: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """Returns row, minute, start and end of each piece's part of each minute."""
    first = from_ms // MINUTE_MS
    piece, time = _repeat((to_ms - 1) // MINUTE_MS - first + 1)
    minute = first[piece] + time
    start_ms = minute * MINUTE_MS
    return row[piece], minute, np.maximum(from_ms[piece], start_ms), np.minimum(to_ms[piece], start_ms + MINUTE_MS)


def _wanted(node: Ints, minute: Ints, work: pa.Table) -> Bools:
    """Returns which parts lie in the work."""
    nodes, of_work = np.unique(work["node_key"].to_numpy(), return_inverse=True)
    hours, hour_of_work = np.unique(work["hour_ms"].to_numpy() // HOUR_MS, return_inverse=True)
    # A row that reaches into no hour or node of the work finds the last column, which wants nothing.
    place = np.full(int(max(nodes.max(initial=0), node.max(initial=0))) + 1, len(nodes))
    place[nodes] = np.arange(len(nodes))
    limits = np.zeros((2, len(hours) + 1, len(nodes) + 1), np.int64)
    limits[0, hour_of_work, of_work] = work["from_ms"].to_numpy() // MINUTE_MS
    limits[1, hour_of_work, of_work] = work["to_ms"].to_numpy() // MINUTE_MS
    hour = np.searchsorted(hours, minute // 60)
    hour[hours[np.minimum(hour, len(hours) - 1)] != minute // 60] = len(hours)
    low, high = limits[:, hour, place[node]]
    found: Bools = (minute >= low) & (minute < high)
    return found
