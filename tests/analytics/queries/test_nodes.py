"""Nodes now and over a day: states, holders, silence."""

from analytics.model import Viewer
from analytics.queries.health import health
from analytics.queries.node import node
from analytics.queries.nodes import nodes
from analytics.queries.slurm_nodes import slurm_nodes
from store.database import Cursor
from tests.factories.ledger import HOUR, MINUTE, T0, Ledger

ADMIN = Viewer()
NOW = T0 + 2 * HOUR


def one_node(cur: Cursor, ledger: Ledger) -> None:
    """Four GPUs: working, idle and held, stray, free; and a silent node."""
    key = ledger.node("n1", last_ms=NOW, first_ms=T0)
    gpus = [ledger.gpu(key, pci_bus_id=f"0000:0{n}:00.0", minor=n, position=3 - n) for n in range(4)]
    run = ledger.run("77", end_ms=None, user_name="bob")
    for gpu, util, memory in ((gpus[0], 900, 9_000), (gpus[1], 0, 9_000)):
        ledger.hold(run, gpu)
        ledger.rows(gpu, run, NOW - 5 * MINUTE, NOW, util_pct=util, mem_used_mib=memory, power_w=3000, temp_c=60)
    ledger.rows(gpus[2], None, NOW - 5 * MINUTE, NOW, util_pct=900, mem_used_mib=9_000)
    ledger.rows(gpus[3], None, NOW - 5 * MINUTE, NOW, util_pct=0, mem_used_mib=0)
    ledger.hour(gpus[0], run, T0, active=30, idle=30)
    ledger.hour(gpus[0], run, T0 + HOUR, active=60)
    silent = ledger.node("n2", last_ms=NOW - HOUR)
    ledger.rows(ledger.gpu(silent), None, NOW - 10 * MINUTE, NOW - 5 * MINUTE, util_pct=0)
    ledger.put("event", node_key=key, gpu_key=gpus[1], ts_ms=T0, kind="gpu_lost", detail="Xid 79")
    ledger.save(cur)


def test_what_each_gpu_does_now(cur: Cursor, ledger: Ledger) -> None:
    one_node(cur, ledger)
    first, second = nodes(cur, ADMIN, NOW)
    assert [gpu.state for gpu in first.gpu_now] == ["active", "idle_held", "stray", "unallocated"]
    assert [(gpu.job_id, gpu.user) for gpu in first.gpu_now][:3] == [("77", "bob"), ("77", "bob"), (None, None)]
    assert [gpu.position for gpu in first.gpu_now] == [3, 2, 1, 0]
    busy = first.gpu_now[0]
    assert (busy.util_pct, busy.mem_used_mib, busy.power_w, busy.temp_c, busy.row_ms) == (90, 9_000, 300, 60, NOW)
    assert (first.silent, first.gpus, first.held_gpu_h_day, first.idle_gpu_h_day, first.coverage_day) == (
        *(False, 4, 2, 0.5, 1),
    )
    assert (second.name, second.silent, second.age_ms, second.held_gpu_h_day) == ("n2", True, HOUR, 0)
    assert [gpu.state for gpu in second.gpu_now] == ["unknown"]


def test_who_holds_a_gpu_is_told_to_its_holder_alone(cur: Cursor, ledger: Ledger) -> None:
    one_node(cur, ledger)
    (first, _) = nodes(cur, Viewer(kind="user", user="eve"), NOW)
    assert {(gpu.run_key, gpu.job_id, gpu.user) for gpu in first.gpu_now} == {(None, None, None)}
    assert first.gpu_now[0].state == "active"
    (first, _) = nodes(cur, Viewer(kind="user", user="bob"), NOW)
    assert first.gpu_now[0].job_id == "77"


def test_a_node_with_each_gpus_day(cur: Cursor, ledger: Ledger) -> None:
    one_node(cur, ledger)
    found = node(cur, ADMIN, "n1", NOW)
    assert found is not None
    day = found.gpus[0]
    assert [(part.state, part.start_ms, part.end_ms) for part in day.stretches] == [
        ("unknown", NOW - 24 * HOUR, T0),
        ("active", T0, T0 + HOUR // 2),
        ("idle", T0 + HOUR // 2, T0 + HOUR),
        ("active", T0 + HOUR, NOW),
    ]
    assert [(holder.job_id, holder.end_ms) for holder in day.holders] == [("77", None)]
    assert (day.pci_bus_id, day.minor, found.gpus[3].holders) == ("0000:00:00.0", 0, [])
    assert [(event.kind, event.gpu) for event in found.events] == [("gpu_lost", "n1:1")]
    assert node(cur, ADMIN, "n9", NOW) is None


def test_without_slurm_nothing_is_stray(cur: Cursor, ledger: Ledger) -> None:
    key = ledger.node("w", slurm=False, last_ms=NOW)
    ledger.rows(ledger.gpu(key), None, NOW - MINUTE, NOW, util_pct=900)
    ledger.save(cur)
    assert nodes(cur, ADMIN, NOW)[0].gpu_now[0].state == "unallocated"


def test_a_running_session_holds_its_gpu(cur: Cursor, ledger: Ledger) -> None:
    """Its hold reaches to where its processes were last seen, which is not its end."""
    key = ledger.node("w", slurm=False, last_ms=NOW)
    gpu = ledger.gpu(key)
    run = ledger.run("s-w-0-0-1", kind="session", end_ms=None, user_name="ann")
    ledger.hold(run, gpu, source="process", end_ms=NOW)
    ledger.rows(gpu, run, NOW - MINUTE, NOW, util_pct=900)
    ledger.save(cur)
    (now,) = nodes(cur, ADMIN, NOW)[0].gpu_now
    assert (now.state, now.job_id, now.user) == ("active", "s-w-0-0-1", "ann")
    found = node(cur, ADMIN, "w", NOW)
    assert found is not None
    assert [(holder.job_id, holder.end_ms) for holder in found.gpus[0].holders] == [("s-w-0-0-1", None)]


def test_a_node_between_two_segments_is_not_silent(cur: Cursor, ledger: Ledger) -> None:
    """With a row every 10 s and a segment every minute its newest row is up to a minute old."""
    key = ledger.node("n1", last_ms=NOW - MINUTE, interval_ms=10_000)
    gpus = [ledger.gpu(key), ledger.gpu(key)]
    ledger.rows(gpus[0], None, NOW - 5 * MINUTE, NOW - MINUTE, util_pct=0)
    ledger.rows(gpus[1], None, NOW - 5 * MINUTE, NOW - 2 * MINUTE, util_pct=0)  # lost: its node goes on without it
    ledger.save(cur)
    (found,) = nodes(cur, ADMIN, NOW)
    assert not found.silent
    assert [gpu.state for gpu in found.gpu_now] == ["unallocated", "unknown"]
    (later,) = nodes(cur, ADMIN, NOW + 2 * MINUTE)
    assert later.silent
    assert [gpu.state for gpu in later.gpu_now] == ["unknown", "unknown"]


def test_silence_is_told_by_the_clock_and_of_a_synthetic_cluster_by_the_end_of_its_data(
    cur: Cursor, ledger: Ledger
) -> None:
    """One query: what the Nodes page, the API and the Health page call silent is the same."""
    one_node(cur, ledger)
    later = NOW + HOUR
    assert [row.silent for row in nodes(cur, ADMIN, later)] == [True, True]
    assert health(cur, ADMIN, later).nodes_reporting == 0
    found = node(cur, ADMIN, "n1", later)
    assert found is not None
    assert found.node.silent
    last = found.gpus[0].stretches[-1]
    assert (last.state, last.end_ms) == ("unknown", later)
    cur.execute("UPDATE meta SET value = '1' WHERE key = 'synthetic'")
    assert [row.silent for row in nodes(cur, ADMIN, later)] == [False, True]
    assert health(cur, ADMIN, later).nodes_reporting == 1
    found = node(cur, ADMIN, "n1", later)
    assert found is not None
    assert not found.node.silent


def test_what_slurm_says_stands_beside_ours_while_its_word_counts(cur: Cursor, ledger: Ledger) -> None:
    one_node(cur, ledger)
    ledger.word("n1", NOW - HOUR, gpus=4)
    ledger.word(
        "n1", NOW - MINUTE, gpus=4, standing="offline", state="IDLE", flags="DRAIN,NOT_RESPONDING", reason="fan"
    )
    ledger.word("n2", NOW - 2 * HOUR, gpus=1, standing="offline")
    ledger.word("n9", NOW - HOUR, gpus=8, gpus_used=3)
    ledger.save(cur)
    first, second = nodes(cur, ADMIN, NOW)
    said = first.slurm_now
    assert said is not None
    assert (said.state, said.standing, said.reason) == ("idle, drain, not responding", "offline", "fan")
    assert second.slurm_now is None
    assert [one.name for one in slurm_nodes(cur, NOW)] == ["n1", "n9"]
