"""How a finding on nodes declares itself: its function's name is its id, and importing it registers it."""

from collections.abc import Callable
from typing import Final

import msgspec

from analytics.model import Window
from store.database import Cursor


class NodeFinding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to look at, on a node, one of its GPUs, or a partition.

    ``gpu`` is the index on the node, None where it concerns the whole node. ``gpu_h`` are GPU-hours of the window that
    it concerns, None where it is no matter of hours. ``fix`` is one sentence.
    """

    rule: str
    title: str
    cluster: str
    node: str | None
    gpu: int | None
    partition: str | None
    start_ms: int
    end_ms: int
    gpu_h: float | None
    sentence: str
    fix: str


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What a rule says of one place; times in epoch milliseconds."""

    cluster: str
    start_ms: int
    end_ms: int
    sentence: str
    node: str | None = None
    gpu: int | None = None
    partition: str | None = None
    gpu_h: float | None = None


Find = Callable[[Cursor, Window, int], list[Seen]]
"""Takes the window and the moment to which the data reaches."""


class NodeRule(msgspec.Struct, frozen=True, kw_only=True):
    """One of them as it was registered."""

    id: str
    title: str
    order: int
    fix: str
    find: Find

    def found(self, cur: Cursor, window: Window, as_of_ms: int) -> list[NodeFinding]:
        """Returns what holds in the window."""
        return [
            NodeFinding(rule=self.id, title=self.title, fix=self.fix, **msgspec.structs.asdict(seen))
            for seen in self.find(cur, window, as_of_ms)
        ]


REGISTERED: Final[dict[str, NodeRule]] = {}


def node_rule(*, title: str, order: int, fix: str) -> Callable[[Find], Find]:
    """Registers a function under its name."""

    def register(find: Find) -> Find:
        name = getattr(find, "__name__", "")
        if name in REGISTERED:
            raise ValueError(f"two findings on nodes are called {name}; rename one")
        REGISTERED[name] = NodeRule(id=name, title=title, order=order, fix=fix, find=find)
        return find

    return register
