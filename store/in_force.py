"""What figures and findings rest on, by name, from when on: a row a change, never changed afterwards."""

from collections.abc import Mapping

from store.database import Cursor


def keep(cursor: Cursor, values: Mapping[str, str], now_ms: int) -> list[str]:
    """Notes the values that differ from those in force; returns their names. What is no more is empty from now on."""
    with cursor.transaction():
        old = dict(cursor.tuples("SELECT name, arg_max(value, from_ms) FROM in_force GROUP BY name"))
        changed = {name: value for name, value in values.items() if old.get(name) != value}
        changed |= {name: "" for name, value in old.items() if name not in values and value}
        for name, value in changed.items():
            cursor.execute("INSERT OR REPLACE INTO in_force VALUES ($1, $2, $3)", [name, value, now_ms])
    return sorted(changed)
