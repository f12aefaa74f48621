"""What a refresh replaces, and no more: zoom, open folds, focus and scroll stay where nothing has changed.

Dash mounts replaced children anew, which loses all of these. So a page is built of slots (regions) and charts; a
refresh builds the page again, compares each slot with what the browser shows by its digest, and sends only the slots
that differ and the figures of the charts, which Plotly updates in place.
"""

import dataclasses
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Self

from dash import dcc, html, no_update
from dash.development.base_component import Component

SLOT: Final = "slot"
CHART: Final = "chart"
FIGURE: Final = "figure"
DIGEST: Final = "data-digest"

_NO_OUTLINE: Final = frozenset({*vars(html.Div()), "children", DIGEST})
"""Attributes of a component that are none of its properties, and what is compared by itself."""
_NO_OUTLINE_OF_CHART: Final = _NO_OUTLINE | {"figure"}


def slot(name: str, children: Any) -> html.Div:
    """Returns a place of its own on the page, replaced when its content changes."""
    shown = html.Div(children, id={SLOT: name}, className=f"region region-{name}", **{"data-region": name})
    setattr(shown, DIGEST, digest(shown))
    return shown


def chart(name: str, figure: Mapping[str, Any], **more: Any) -> html.Div:
    """Returns a chart whose figure a refresh updates in place.

    The new figure goes through a store, where assets/ledger.js puts the zoom of the chart into it: Dash draws a chart
    again after each zoom with the zoomed range as if it were given, and Plotly's ``uirevision`` then forgets it.
    """
    return html.Div([dcc.Graph(id={CHART: name}, figure=dict(figure), **more), dcc.Store(id={FIGURE: name})])


def _name(component: Component, kind: str) -> str | None:
    id = getattr(component, "id", None)
    return id.get(kind) if isinstance(id, dict) else None


def _children(component: Component) -> Sequence[Any]:
    children = getattr(component, "children", None)
    return children if isinstance(children, list | tuple) else [] if children is None else [children]


def _outline(node: Any, *, top: bool = False) -> Any:
    """A component as plain data; slots and figures within it are left to themselves."""
    if isinstance(node, list | tuple):
        return [_outline(one) for one in node]
    if not isinstance(node, Component):
        return node
    name = _name(node, SLOT)
    if name is not None and not top:
        return [SLOT, name]
    skipped = _NO_OUTLINE_OF_CHART if _name(node, CHART) is not None else _NO_OUTLINE
    # Its own attributes are the properties that were set; to_plotly_json asks each component for all that there are.
    props = {key: value for key, value in vars(node).items() if key not in skipped}
    return [node._type, props, [_outline(child) for child in _children(node)]]  # noqa: SLF001 - its only name for the tag


def digest(component: Component) -> str:
    """Returns a short text that changes when anything in ``component`` but its slots and figures changes."""
    plain = json.dumps(_outline(component, top=True), sort_keys=True, default=str)
    return hashlib.blake2b(plain.encode(), digest_size=9).hexdigest()


@dataclasses.dataclass(frozen=True)
class Parts:
    """The slots of a page with what they hold, those that hold other parts (frames), and its figures."""

    slots: dict[str, Component]
    frames: frozenset[str]
    figures: dict[str, Any]

    @classmethod
    def of(cls, root: Component) -> Self:
        """Returns the parts below ``root``."""
        slots: dict[str, Component] = {}
        figures: dict[str, Any] = {}
        frames: set[str] = set()
        for component, within in _walk(root, ()):
            chart_name, slot_name = _name(component, CHART), _name(component, SLOT)
            if chart_name is not None:
                figures[chart_name] = component.figure  # type: ignore[attr-defined]
                frames.update(within)
            if slot_name is not None:
                slots[slot_name] = component
                frames.update(within)
        return cls(slots, frozenset(frames), figures)


def _walk(component: Component, within: tuple[str, ...]) -> Iterator[tuple[Component, tuple[str, ...]]]:
    yield component, within
    name = _name(component, SLOT)
    inner = (*within, name) if name is not None else within
    for child in _children(component):
        if isinstance(child, Component):
            yield from _walk(child, inner)


@dataclasses.dataclass(frozen=True)
class Shown:
    """What the browser shows: digests by slot, the digest of the whole around them, and the names of the charts."""

    root: str
    digests: Mapping[str, str | None]
    charts: Sequence[str]


@dataclasses.dataclass(frozen=True)
class Changes:
    """What to send; ``whole`` is everything, where the page has another shape than the browser shows."""

    whole: Any
    children: list[Any]
    digests: list[Any]
    figures: list[Any]


def changes(root: Component, shown: Shown) -> Changes:
    """Returns the least that turns what is shown into ``root``."""
    parts = Parts.of(root)
    fresh = {name: getattr(component, DIGEST) for name, component in parts.slots.items()}
    same_shape = fresh.keys() == shown.digests.keys() and set(parts.figures) == set(shown.charts)
    same_frames = digest(root) == shown.root and all(
        fresh[name] == shown.digests[name] for name in parts.frames if same_shape
    )
    if not (same_shape and same_frames):
        keep = [no_update] * len(shown.digests)
        return Changes(root.children, keep, keep, [no_update] * len(shown.charts))
    changed = {name for name, before in shown.digests.items() if fresh[name] != before}
    return Changes(
        no_update,
        [parts.slots[name].children if name in changed else no_update for name in shown.digests],
        [fresh[name] if name in changed else no_update for name in shown.digests],
        [parts.figures[name] for name in shown.charts],
    )
