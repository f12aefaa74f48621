"""A node on which programs and Slurm's list of GPUs contradict each other: its runs are not judged."""

from typing import Final

from analytics.model import Window
from analytics.node_findings.registry import Seen, node_rule
from analytics.wording import plural
from store.database import Cursor

_DISPUTED: Final = """
SELECT node.cluster, node.name, min(ts_ms), max(ts_ms), count(*), arg_max(detail, ts_ms)
FROM event JOIN node USING (node_key)
WHERE kind = 'order_disputed' AND ts_ms >= $start AND ts_ms < $end GROUP BY node.cluster, node.name ORDER BY ALL"""


@node_rule(
    title="Disputed which GPU is whose",
    order=40,
    fix="Compare slurmd -G with nvidia-smi -L on the node: the order of GPUs in gres.conf may differ.",
)
def order_disputed(cur: Cursor, window: Window, _as_of_ms: int) -> list[Seen]:
    """A process was seen on another GPU than the list gives its job."""
    rows = cur.tuples(_DISPUTED, {"start": window.start_ms, "end": window.end_ms})
    return [
        Seen(
            cluster=cluster,
            node=node,
            start_ms=start_ms,
            end_ms=end_ms,
            sentence=f"Seen {plural(count, 'time')}{f', last: {detail}' if detail else ''}.",
        )
        for cluster, node, start_ms, end_ms, count, detail in rows
    ]
