"""One GPU that two nodes report at the same time: two daemons on one machine, or one machine under two names.

Each moment is counted once whatever is reported twice (store/rollup.py), but which node a run is on, and with it who
holds the GPU, may be either's word: it is told, so that nobody is judged by it.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from store.database import Cursor
from store.places import Place

KIND: Final = "gpu_on_two_nodes"
_EVERY_MS: Final = 600_000  # one that lasts is told again, so that runs which begin meanwhile hear of it

_TOLD: Final = """
WITH span AS (
    SELECT gpu_key, node_key, min(ts_ms) AS from_ms, max(ts_ms) AS to_ms FROM batch_rows
    WHERE list_contains($gpu_keys::INTEGER[], gpu_key) GROUP BY ALL),
met AS (
    SELECT span.gpu_key, span.node_key AS one_key, hot.node_key AS other_key, max(hot.ts_ms) AS ts_ms
    FROM span JOIN hot ON hot.gpu_key = span.gpu_key AND hot.node_key <> span.node_key
        AND hot.ts_ms BETWEEN span.from_ms AND span.to_ms
    GROUP BY ALL),
told AS (
    SELECT gpu_key, one_key AS node_key, other_key, ts_ms FROM met UNION
    SELECT gpu_key, other_key, one_key, ts_ms FROM met)
INSERT INTO event
SELECT told.node_key, gpu_key, max(told.ts_ms), $kind,
    'this GPU is reported by ' || min(node.name) || ' as well: one machine has one daemon and one name'
FROM told JOIN node ON node.node_key = told.other_key
WHERE NOT EXISTS (
    FROM event WHERE event.kind = $kind AND event.gpu_key = told.gpu_key AND event.node_key = told.node_key
        AND abs(event.ts_ms - told.ts_ms) < $every_ms)
GROUP BY told.node_key, gpu_key"""


def suspects(before: Mapping[int, Place], places: Sequence[tuple[int, Sequence[int]]]) -> list[int]:
    """Returns the GPUs whose node in the batch is another one than before, or than elsewhere in the batch.

    Args:
        before: by gpu_key where each was before the batch.
        places: the node and the GPUs of each segment.
    """
    known = {key: node for key, (node, _) in before.items()}
    return sorted({key for node, gpus in places for key in gpus if known.setdefault(key, node) != node})


def tell(cursor: Cursor, gpu_keys: Sequence[int]) -> None:
    """Stores an event for each node of a GPU of which batch_rows and another node speak at one time."""
    cursor.execute(_TOLD, {"gpu_keys": list(gpu_keys), "kind": KIND, "every_ms": _EVERY_MS})
