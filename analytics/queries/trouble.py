"""Nodes that are silent and GPUs with a fault, now and over the last 24 hours: what an administrator looks at first."""

from collections.abc import Sequence
from typing import Final

import msgspec

from analytics.clocks import BRAKES, SLOWDOWNS
from analytics.model import HOUR_MS
from analytics.queries.nodes import NodeRow
from analytics.wording import format_duration, plural
from store.database import Cursor

DAY_HOURS: Final = 24


class Trouble(msgspec.Struct, frozen=True, kw_only=True):
    """``gpu`` is the index, None where it concerns the whole node; ``since_ms`` None where it comes and goes."""

    node: str
    gpu: int | None
    what: str
    since_ms: int | None


# What was lost stays lost until the same collector tells that it is back.
_LOST: Final = """
    SELECT n.name, g.idx, arg_max(e.kind, e.ts_ms), max(e.ts_ms)
    FROM event e JOIN node n ON n.node_key = e.node_key LEFT JOIN gpu g ON g.gpu_key = e.gpu_key
    WHERE e.kind IN ('gpu_lost', 'gpu_back', 'driver_missing', 'driver_back') AND e.ts_ms <= $now
    GROUP BY n.name, e.gpu_key, g.idx HAVING arg_max(e.kind, e.ts_ms) IN ('gpu_lost', 'driver_missing')"""

_UNCERTAIN: Final = """
    SELECT n.name, g.idx, e.kind, max(e.ts_ms)
    FROM event e JOIN node n ON n.node_key = e.node_key LEFT JOIN gpu g ON g.gpu_key = e.gpu_key
    WHERE list_contains($kinds, e.kind) AND e.ts_ms > $since AND e.ts_ms <= $now GROUP BY n.name, g.idx, e.kind"""

_SLOWED: Final = """
    SELECT n.name, g.idx, h.event_reasons_seen & $brakes AS bits, count(DISTINCT h.hour_ms)
    FROM gpu_hour h JOIN node n ON n.node_key = h.node_key JOIN gpu g ON g.gpu_key = h.gpu_key
    WHERE h.hour_ms >= $since AND h.hour_ms <= $now AND h.event_reasons_seen & $brakes <> 0
    GROUP BY ALL"""

_LOST_WORDS: Final = {"gpu_lost": "does not answer", "driver_missing": "the NVIDIA driver does not answer"}

# What keeps the collector from telling whose a GPU is, in the words of this page; its own sentence has the details.
_UNCERTAIN_WORDS: Final = {
    "order_disputed": "it is disputed which GPU is whose",
    "gpu_on_two_nodes": "another node reports this GPU as well",
    "sources_disagree": "sources name different GPUs for a job",
    "gpu_list_unknown": "Slurm's own list of its GPUs is not certain",
    "gpu_unknown": "which GPU a job holds could not be told",
    "hook_missing": "a job computes without a drop-file of the Prolog",
}


def trouble(cur: Cursor, nodes: Sequence[NodeRow], now_ms: int) -> list[Trouble]:
    """Returns silent nodes, the longest first, then faults by node and GPU, as seen at ``now_ms`` (site.told_at)."""
    times = {"now": now_ms, "since": now_ms - DAY_HOURS * HOUR_MS}
    silent = sorted((node for node in nodes if node.silent), key=lambda node: (-node.age_ms, node.name))
    faults = [*_lost(cur, now_ms), *_slowed(cur, times), *_uncertain(cur, times)]
    return [
        *(
            Trouble(node=node.name, gpu=None, what=f"silent for {format_duration(node.age_ms)}", since_ms=node.last_ms)
            for node in silent
        ),
        *sorted(faults, key=lambda one: (one.node, -1 if one.gpu is None else one.gpu, one.what)),
    ]


def _lost(cur: Cursor, now_ms: int) -> list[Trouble]:
    return [
        Trouble(node=node, gpu=gpu, what=_LOST_WORDS[kind], since_ms=since_ms)
        for node, gpu, kind, since_ms in cur.tuples(_LOST, {"now": now_ms})
    ]


def _uncertain(cur: Cursor, times: dict[str, int]) -> list[Trouble]:
    return [
        Trouble(node=node, gpu=gpu, what=_UNCERTAIN_WORDS[kind], since_ms=at_ms)
        for node, gpu, kind, at_ms in cur.tuples(_UNCERTAIN, {**times, "kinds": list(_UNCERTAIN_WORDS)})
    ]


def _slowed(cur: Cursor, times: dict[str, int]) -> list[Trouble]:
    """The driver's bits of an hour say that it was so in it, not for how long: hours are counted."""
    hours: dict[tuple[str, int | None, str], int] = {}
    for node, gpu, bits, count in cur.tuples(_SLOWED, times | {"brakes": BRAKES}):
        for slowdown in SLOWDOWNS:
            if bits & slowdown.any_of and not bits & slowdown.none_of:
                key = (node, gpu, slowdown.words)
                hours[key] = hours.get(key, 0) + count
    return [
        Trouble(node=node, gpu=gpu, what=f"{words} in {plural(count, 'hour')} of the last {DAY_HOURS}", since_ms=None)
        for (node, gpu, words), count in hours.items()
    ]
