"""Nodes by rack: what their names have in common, never more than can be drawn, and none left out."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics.queries.node_groups import MOST_NODES, OTHERS, group_nodes, rack
from analytics.queries.nodes import NodeRow


def node(name: str, *, silent: bool = False) -> NodeRow:
    unknown = dict.fromkeys(NodeRow.__struct_fields__, 0)
    return msgspec.structs.replace(NodeRow(**unknown), name=name, silent=silent, gpu_now=[])


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("a100-01", "a100"),
        ("r12n03", "r12n"),
        ("dgx-a100-017.site.org", "dgx-a100"),
        ("login", "login"),
        ("001", OTHERS),
        ("gpu_7", "gpu"),
    ],
)
def test_a_rack_is_what_stands_before_the_last_number(name: str, found: str) -> None:
    assert rack(name) == found


def test_a_rack_of_more_nodes_than_are_drawn_is_several_groups() -> None:
    found = group_nodes([node(f"n{number:03}") for number in range(1, 131)] + [node("h1"), node("h2", silent=True)])
    assert [(group.key, group.name, len(group.nodes), group.silent) for group in found] == [
        ("h", "h[1-2]", 2, 1),
        ("n", "n[001-064]", 64, 0),
        ("n.2", "n[065-128]", 64, 0),
        ("n.3", "n[129-130]", 2, 0),
    ]


def test_nodes_that_are_alone_are_together() -> None:
    found = group_nodes([node("ann"), node("bob"), node("x1"), node("x2")])
    assert [(group.key, group.name) for group in found] == [("others", "ann,bob"), ("x", "x[1-2]")]


@given(st.sets(st.text(max_size=8), max_size=200))
def test_every_node_is_in_one_group_that_can_be_drawn(names: set[str]) -> None:
    found = group_nodes([node(name) for name in names])
    assert sorted(one.name for group in found for one in group.nodes) == sorted(names)
    assert all(1 <= len(group.nodes) <= MOST_NODES for group in found)
    assert len({group.key for group in found}) == len(found)
