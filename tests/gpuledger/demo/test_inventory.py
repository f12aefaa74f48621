"""The synthetic cluster's inventory: every node every hour, in between what is new, and closures as they were."""

from collections import defaultdict

from gpuledger.demo.cluster import HOUR_S
from gpuledger.demo.incidents import Closure
from store.segment import NodeSeen, standing
from tests.gpuledger.demo.small import END_S, START_S, all_segments, world


def words():
    found = defaultdict(list)
    for segment in all_segments():
        for reading in segment.inventory:
            for node in reading.nodes:
                found[node.name].append(node)
    return {name: sorted(nodes, key=lambda node: node.at_ms) for name, nodes in found.items()}


def at(nodes: list[NodeSeen], at_s: int) -> NodeSeen:
    return [node for node in nodes if node.at_ms <= at_s * 1000][-1]


def named(kind: str) -> Closure:
    (found,) = (closure for closure in world().incidents.closed if closure.kind == kind)
    return found


def test_every_node_is_told_of_every_hour():
    hours = {at_s * 1000 for at_s in range(START_S, END_S, HOUR_S)}
    found = words()
    assert len(found) == len(world().cluster.nodes)
    for nodes in found.values():
        assert hours <= {node.at_ms for node in nodes}
        assert {sum(group.count for group in node.gpus) for node in nodes} == {world().cluster.gpus_per_node}


def test_what_is_in_use_is_what_runs_there():
    nodes = world().cluster.nodes
    found = words()
    for at_s in range(START_S + HOUR_S, END_S, 7 * HOUR_S):
        for ordinal, node in enumerate(nodes):
            running = [run for run in world().by_node[ordinal] if run.start_s <= at_s < run.end_s]
            used = sum(sum(place == ordinal for place, _ in run.places) for run in running)
            dead = any(span.node == ordinal and span.start_s <= at_s < span.end_s for span in world().incidents.down)
            assert dead or at(found[node.name], at_s).gpus_used == used


def test_nothing_begins_where_it_is_closed_and_slurm_says_why():
    found = words()
    for kind, stands in (("drained", "offline"), ("maintenance", "offline"), ("reserved", "reserved")):
        closure = named(kind)
        for ordinal in closure.nodes:
            began = [r for r in world().by_node[ordinal] if closure.start_s + 1 < r.start_s < closure.end_s]
            assert not began
            node = at(found[world().cluster.nodes[ordinal].name], closure.start_s + HOUR_S)
            assert standing(node.state, node.flags) == stands


def test_a_reservation_is_announced_a_day_ahead():
    told = defaultdict(set)
    for segment in all_segments():
        for reading in segment.inventory:
            for reservation in reading.reservations:
                told[reservation.name].add(reading.at_ms)
    closure = named("maintenance")
    assert min(told["firmware"]) < closure.start_s * 1000 <= max(told["firmware"])
    assert {account.name for s in all_segments() for r in s.inventory for account in r.accounts} >= {"root", "vision"}
