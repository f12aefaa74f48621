"""What an administrator looks at first: silent nodes, lost GPUs, slowed ones. What is back is none."""

from analytics.clocks import HARDWARE, HEAT, POWER_CAP
from analytics.model import Viewer
from analytics.queries.nodes import nodes
from analytics.queries.trouble import trouble
from store.database import Cursor
from tests.factories.ledger import DAY, HOUR, MINUTE, T0, Ledger

NOW = T0 + 2 * DAY


def found(cur: Cursor) -> list[tuple[str, int | None, str, int | None]]:
    listed = trouble(cur, nodes(cur, Viewer(), NOW), NOW)
    return [(one.node, one.gpu, one.what, one.since_ms) for one in listed]


def test_silent_nodes_come_first_the_longest_before_the_others(cur: Cursor, ledger: Ledger) -> None:
    for name, age in (("a", 0), ("b", 20 * MINUTE), ("c", 3 * HOUR)):
        ledger.gpu(ledger.node(name, last_ms=NOW - age))
    ledger.save(cur)
    assert found(cur) == [
        ("c", None, "silent for 3 h", NOW - 3 * HOUR),
        ("b", None, "silent for 20 min", NOW - 20 * MINUTE),
    ]


def test_a_lost_gpu_is_a_fault_until_it_is_back(cur: Cursor, ledger: Ledger) -> None:
    node = ledger.node("a", last_ms=NOW)
    gpus = [ledger.gpu(node) for _ in range(2)]
    for gpu, at_ms, kind in ((gpus[0], T0, "gpu_lost"), (gpus[1], T0, "gpu_lost"), (gpus[1], T0 + HOUR, "gpu_back")):
        ledger.put("event", node_key=node, gpu_key=gpu, ts_ms=at_ms, kind=kind, detail="")
    ledger.put("event", node_key=node, ts_ms=NOW - HOUR, kind="order_disputed", detail="")
    ledger.put("event", node_key=node, ts_ms=NOW - 2 * DAY, kind="driver_missing", detail="")
    ledger.put("event", node_key=node, ts_ms=NOW - 2 * DAY + 1, kind="driver_back", detail="")
    ledger.save(cur)
    assert found(cur) == [
        ("a", None, "it is disputed which GPU is whose", NOW - HOUR),
        ("a", 0, "does not answer", T0),
    ]


def test_what_keeps_from_telling_whose_a_gpu_is_stands_for_a_day(cur: Cursor, ledger: Ledger) -> None:
    node = ledger.node("a", last_ms=NOW)
    gpu = ledger.gpu(node)
    ledger.put("event", node_key=node, ts_ms=NOW - HOUR, kind="sources_disagree", detail="")
    ledger.put("event", node_key=node, gpu_key=gpu, ts_ms=NOW - HOUR, kind="gpu_on_two_nodes", detail="")
    ledger.put("event", node_key=node, ts_ms=NOW - 2 * DAY, kind="hook_missing", detail="")
    ledger.save(cur)
    assert found(cur) == [
        ("a", None, "sources name different GPUs for a job", NOW - HOUR),
        ("a", 0, "another node reports this GPU as well", NOW - HOUR),
    ]


def test_hours_in_which_a_gpu_was_slowed_by_a_fault_are_counted(cur: Cursor, ledger: Ledger) -> None:
    gpu = ledger.gpu(ledger.node("a", last_ms=NOW))
    for hour, bits in enumerate((HEAT, HEAT | HARDWARE, HARDWARE, POWER_CAP, 0)):
        ledger.hour(gpu, None, NOW - (hour + 1) * HOUR, active=0)
        ledger.tables["gpu_hour"][-1]["event_reasons_seen"] = bits
    ledger.hour(gpu, None, NOW - 3 * DAY)
    ledger.tables["gpu_hour"][-1]["event_reasons_seen"] = HEAT
    ledger.save(cur)
    assert found(cur) == [
        ("a", 0, "slowed by heat in 2 hours of the last 24", None),
        ("a", 0, "slowed by the hardware in 1 hour of the last 24", None),
    ]
