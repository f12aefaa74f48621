"""The sums by node and by holder as they should be: added up one by one in Python from the rows of single GPUs."""

from collections import Counter, defaultdict
from typing import Any, Final

from store.database import Cursor, Database
from store.days import days
from store.schema import WHOLE
from store.schema_sums import SUMMED
from tests.store.building import HOUR, MINUTE

OF_HELD: Final = SUMMED[: SUMMED.index("power_only_ms")]

_ROWS: Final = """
    SELECT h.*, {bucket}_ms AS at_ms, n.name AS node, n.cluster AS node_cluster, g.uuid, g.model, p.uuid AS parent,
        p.model AS parent_model, r.cluster, r.user_name, r.account, r."partition", g.slices, g.slices_of
    FROM {table}_{bucket} h LEFT JOIN node n USING (node_key) LEFT JOIN gpu g USING (gpu_key)
        LEFT JOIN gpu p ON p.uuid = g.parent_uuid LEFT JOIN run r USING (run_key)"""

Sums = dict[tuple[Any, ...], dict[str, Any]]


def check(database: Database, zone: str = "UTC") -> None:
    """Fails where a table of sums is not what the rows of GPUs add up to."""
    with database.cursor() as cursor:
        hours = _added(cursor, "hour")
        for by in ("node", "holder"):
            assert stored(cursor, f"{by}_hour") == hours[by]
            assert stored(cursor, f"{by}_day") == _days(cursor, by, zone, hours[by])


def stored(cursor: Cursor, table: str) -> Sums:
    """Returns the rows of a table of sums by their keys, in names."""
    by, bucket = table.split("_")
    whose = {"node": "n.name", "holder": 'o.held, o.cluster, o.user_name, o.account, o."partition"'}[by]
    join = {"node": "LEFT JOIN node n USING (node_key)", "holder": "JOIN holder o USING (holder_key)"}[by]
    times = {"hour": "hour_ms", "day": "day_ms, end_ms"}[bucket]
    figures = (*SUMMED, "energy", "energy_estimated")
    rows = cursor.tuples(
        f"SELECT {times}, {whose}, c.model, c.weight, c.placed, {', '.join(f's.{name}' for name in figures)} "
        f"FROM {table} s {join} JOIN gpu_class c USING (class_key)"
    )
    found = {row[: -len(figures)]: dict(zip(figures, row[-len(figures) :], strict=True)) for row in rows}
    assert len(found) == len(rows)
    return found


def _added(cursor: Cursor, bucket: str) -> dict[str, Sums]:
    """Returns the sums of each moment, by node and by holder."""
    length = {"hour": HOUR, "minute": MINUTE}[bucket]
    found: dict[str, Sums] = {"node": {}, "holder": {}}
    used: Counter[tuple[Any, ...]] = Counter()
    for table in ("gpu", "spare"):
        for row in cursor.arrow(
            _ROWS.format(table=table, bucket=bucket) if table == "gpu" else _spare(bucket)
        ).to_pylist():
            placed = row["uuid"] is not None
            weight = row["slices"] * WHOLE // row["slices_of"] if placed else WHOLE
            kind = (row["model"], weight, placed)
            held = row.get("run_key") is not None
            whose = (held, row["cluster"], row["user_name"], row["account"], row["partition"]) if held else (
                False, row["node_cluster"], None, None, None)  # fmt: skip
            figures = _of_spare(row) if table == "spare" else _of_row(row, held=held)
            _add(found["node"], (row["at_ms"], row["node"], *kind), figures)
            _add(found["holder"], (row["at_ms"], *whose, *kind), figures)
            if placed:
                root = (row["parent"], row["parent_model"], WHOLE) if row["parent"] else (row["uuid"], *kind[:2])
                time = row["units"] if table == "spare" else weight * (
                    row["held_ms"] + (row["suspended_ms"] or 0) + row["stray_ms"])  # fmt: skip
                used[row["at_ms"], row["node"], row["node_cluster"], *root] += time
    for (at_ms, node, cluster, _, model, weight), units in used.items():
        if units > weight * length:
            figures = {"over_units": units - weight * length}
            _add(found["node"], (at_ms, node, model, weight, True), figures)
            _add(found["holder"], (at_ms, False, cluster, None, None, None, model, weight, True), figures)
    return found


def _spare(bucket: str) -> str:
    return _ROWS.format(table="spare", bucket=bucket).replace(
        "LEFT JOIN run r USING (run_key)", "LEFT JOIN run r ON FALSE"
    )


def _of_spare(row: dict[str, Any]) -> dict[str, Any]:
    return {f"{row['kind']}_units": row["units"]}


def _of_row(row: dict[str, Any], *, held: bool) -> dict[str, Any]:
    if not held:
        return {"stray_ms": row["stray_ms"], "unheld_ms": max(0, row["covered_ms"] - row["stray_ms"])}
    energy = None if row["energy_j_sum"] is None else row["energy_j_sum"] * 10_000
    return {
        **{name: row[name] or 0 for name in OF_HELD},
        "power_only_ms": 0 if row["sm_active_pct_ms"] else row["power_w_ms"] or 0,
        "energy": row["power_w_sum"] if energy is None else energy,
        "energy_estimated": energy is None and row["power_w_sum"] is not None,
    }


def _add(sums: Sums, key: tuple[Any, ...], figures: dict[str, Any]) -> None:
    empty = {**dict.fromkeys(SUMMED, 0), "energy": None, "energy_estimated": False}
    known = sums.setdefault(key, empty)
    for name, value in figures.items():
        if name == "energy_estimated":
            known[name] = known[name] or value
        elif value is not None:
            known[name] = (known[name] or 0) + value


def _days(cursor: Cursor, by: str, zone: str, hours: Sums) -> Sums:
    """Returns the hours added up by day; what of an hour lies in which day is told by its minutes."""
    found: Sums = {}
    cut: set[int] = set()
    for (hour, *key), figures in hours.items():
        [day, *others] = days(hour, hour + HOUR, zone)
        if others:
            cut.add(hour)
        else:
            _add(found, (day.start_ms, day.end_ms, *key), figures)
    if cut:
        for (minute, *key), figures in _added(cursor, "minute")[by].items():
            if minute // HOUR * HOUR in cut:
                [day] = days(minute, minute + MINUTE, zone)
                _add(found, (day.start_ms, day.end_ms, *key), figures)
    return found


def totals(cursor: Cursor, table: str) -> defaultdict[str, int]:
    """Returns the sum of each column over a whole table."""
    sums: defaultdict[str, int] = defaultdict(int)
    for figures in stored(cursor, table).values():
        for name in SUMMED:
            sums[name] += figures[name]
    return sums
