"""Keys of the sums: whose time it is, and of which GPUs. Few rows, found or made from what is known now."""

from typing import Final

from store.database import Cursor
from store.schema import UNPLACED, WHOLE

_SAME_CLASS: Final = "c.placed AND c.model IS NOT DISTINCT FROM g.model AND c.weight = g.weight"
_GPUS: Final = f"SELECT gpu_key, node_key, model, CAST(slices * {WHOLE} // slices_of AS BIGINT) AS weight FROM gpu"  # noqa: S608

_NEW_CLASSES: Final = f"""
    INSERT INTO gpu_class
    SELECT (SELECT coalesce(max(class_key), 0) FROM gpu_class) + row_number() OVER (), TRUE, *
    FROM (SELECT DISTINCT g.model, g.weight FROM ({_GPUS}) AS g
        WHERE NOT EXISTS (FROM gpu_class c WHERE {_SAME_CLASS}))"""  # noqa: S608 - constants

_UNPLACED_CLASS: Final = f"""
    INSERT OR IGNORE INTO gpu_class VALUES (0, FALSE, NULL, {WHOLE});
    INSERT OR IGNORE INTO gpu_classed VALUES ({UNPLACED}, 0)"""  # noqa: S608 - constants

_IS_RECLASSED: Final = f"""
    SELECT count(*) > 0 OR (SELECT count(*) = 0 FROM gpu_class) FROM ({_GPUS}) AS g
        LEFT JOIN gpu_class c ON {_SAME_CLASS} LEFT JOIN gpu_classed k ON k.gpu_key = g.gpu_key
    WHERE c.class_key IS NULL OR k.class_key IS DISTINCT FROM c.class_key"""  # noqa: S608 - constants

_RECLASSED: Final = f"""
    SELECT g.gpu_key, c.class_key, k.class_key IS NOT NULL AS was_other
    FROM ({_GPUS}) AS g JOIN gpu_class c ON {_SAME_CLASS} LEFT JOIN gpu_classed k ON k.gpu_key = g.gpu_key
    WHERE k.class_key IS DISTINCT FROM c.class_key"""  # noqa: S608 - constants

_MARK_GPUS: Final = """
    INSERT INTO dirty_sum
    SELECT DISTINCT hour_ms, node_key, currval('generations') FROM (
        SELECT hour_ms, node_key, gpu_key FROM gpu_hour UNION ALL SELECT hour_ms, node_key, gpu_key FROM spare_hour)
    WHERE gpu_key IN (SELECT gpu_key FROM reclassed WHERE was_other)
    ON CONFLICT DO UPDATE SET gen = excluded.gen"""

_SAME_HOLDER: Final = """k.held AND k.cluster = r.cluster AND k.user_name IS NOT DISTINCT FROM r.user_name
    AND k.account IS NOT DISTINCT FROM r.account AND k."partition" IS NOT DISTINCT FROM r."partition" """

_NEXT_HOLDER: Final = "(SELECT coalesce(max(holder_key), 0) FROM holder) + row_number() OVER ()"

_NEW_HOLDERS: Final = f"""
    INSERT INTO holder
    SELECT {_NEXT_HOLDER}, TRUE, * FROM (
        SELECT DISTINCT r.cluster, r.user_name, r.account, r."partition" FROM run r SEMI JOIN holding USING (run_key)
        WHERE NOT EXISTS (FROM holder k WHERE {_SAME_HOLDER}))"""  # noqa: S608 - constants

_NOBODY: Final = f"""
    INSERT INTO holder
    SELECT {_NEXT_HOLDER}, FALSE, cluster, NULL, NULL, NULL FROM (
        SELECT DISTINCT cluster FROM node WHERE cluster NOT IN (SELECT cluster FROM holder WHERE NOT held))"""  # noqa: S608

HOLDER_OF_RUN: Final = f"""
    SELECT r.run_key, k.holder_key FROM run r SEMI JOIN holding USING (run_key) JOIN holder k ON {_SAME_HOLDER}"""  # noqa: S608
"""SELECT of the holder of each run in the table ``holding``."""

NOBODY_OF_NODE: Final = """
    SELECT n.node_key, k.holder_key FROM node n JOIN holder k ON NOT k.held AND k.cluster = n.cluster"""
"""SELECT of who has the time that nobody held on a node."""


def keep_classes(cursor: Cursor) -> None:
    """Puts every GPU into its class; marks the sums of those that were in another: model or slices are known now."""
    if not cursor.scalar(_IS_RECLASSED):
        return
    cursor.execute(_UNPLACED_CLASS)
    cursor.execute(_NEW_CLASSES)
    changed = cursor.arrow(_RECLASSED)
    with cursor.table("reclassed", changed):
        if any(changed["was_other"].to_pylist()):
            cursor.execute("SELECT nextval('generations')")
            cursor.execute(_MARK_GPUS)
        cursor.execute("INSERT OR REPLACE INTO gpu_classed SELECT gpu_key, class_key FROM reclassed")


def keep_holders(cursor: Cursor) -> None:
    """Makes the holders of the runs in the table ``holding``, and nobody in each cluster."""
    cursor.execute(_NEW_HOLDERS)
    cursor.execute(_NOBODY)
