"""Whether the numbers can be trusted, and what a new installation waits for."""

from typing import Any

import pytest

from analytics.model import Viewer
from analytics.queries.first_run import Step, progress
from analytics.queries.health import health
from analytics.queries.logs import LogRow, gathered
from store.database import Cursor
from tests.factories.footprints import footprint_run
from tests.factories.ledger import DAY, HOUR, MINUTE, T0, Ledger

ADMIN = Viewer()
NOW = T0 + 5 * HOUR


def probe(ledger: Ledger, node: int, name: str, at_ms: int = NOW - MINUTE, **more: Any) -> None:
    row = {"node_key": node, "probe": name, "at_ms": at_ms, "duration_ms": 1.5, "ok": True, "rows": 8, "runs": 6}
    ledger.put("probe_log", **(row | {"error": ""} | more))


def arrived(ledger: Ledger, received_ms: int, late: int = 0) -> None:
    ledger.put("arrival", minute_ms=received_ms // MINUTE * MINUTE, segments=1, rows=6, late=late)


def well(ledger: Ledger) -> int:
    """One node in good order."""
    key = ledger.node("n1", last_ms=NOW - 10_000, skew_ms=-40)
    ledger.gpu(key)
    probe(ledger, key, "gpu")
    probe(ledger, key, "accounting")
    arrived(ledger, NOW)
    return key


def test_all_well(cur: Cursor, ledger: Ledger) -> None:
    gpu = well(ledger)
    ledger.hour(gpu, ledger.run(end_ms=T0 + HOUR), T0, active=45, unknown=15)
    ledger.save(cur)
    found = health(cur, ADMIN, NOW)
    assert (found.ok, found.problems) == (True, [])
    assert (found.nodes_reporting, found.nodes_expected, found.age_ms) == (1, 1, 10_000)
    assert (found.coverage_24h, found.max_skew_ms, found.accounting_lag_ms) == (0.75, 40, MINUTE)
    assert (found.segments_24h, found.segments_late_24h, found.segments_refused_24h) == (1, 0, 0)
    assert found.store_bytes > 1000


def test_a_silent_node_is_named_with_the_next_step(cur: Cursor, ledger: Ledger) -> None:
    well(ledger)
    ledger.gpu(ledger.node("n2", last_ms=NOW - 2 * HOUR))
    ledger.save(cur)
    found = health(cur, ADMIN, NOW)
    assert not found.ok
    assert found.problems == ["1 node of 2 sent nothing: n2 for 2 h; run `gpuledger doctor` there."]
    assert (found.nodes_reporting, found.nodes_expected) == (1, 2)


def test_nodes_that_only_accounting_knows_are_expected(cur: Cursor, ledger: Ledger) -> None:
    well(ledger)
    ledger.run(node_list="n[1-3]", alloc_gpus=8)
    ledger.run(node_list="cpu1", alloc_gpus=0)
    ledger.run(node_list="bad[", alloc_gpus=1)
    ledger.save(cur)
    found = health(cur, ADMIN, NOW)
    assert found.nodes_expected == 3
    assert found.problems == [
        "Slurm has GPUs on n[2-3] and no agent reports from there; start `gpuledger collect` on them."
    ]


def test_what_was_refused_late_or_failed(cur: Cursor, ledger: Ledger) -> None:
    key = well(ledger)
    arrived(ledger, NOW - MINUTE, late=1)
    arrived(ledger, NOW - 2 * DAY)
    for name in ("new_metric", "other"):
        ledger.put("unknown_column", name=name)
    ledger.put("quarantine", name="x", received_ms=NOW - HOUR, reason="not a segment")
    probe(ledger, key, "processes", ok=False, error="no permission")
    for at, ok in ((NOW - HOUR, True), (NOW - MINUTE, False)):
        ledger.put("job_log", job="judge", at_ms=at, duration_ms=12.0, ok=ok, rows=3, error="" if ok else "surprise")
    ledger.put("dirty_hour", hour_ms=T0, node_key=key, gen=1, from_ms=T0, to_ms=T0 + HOUR)
    ledger.put("dirty_run", run_key=ledger.run(), gen=1)
    ledger.save(cur)
    found = health(cur, ADMIN, NOW)
    assert (found.segments_24h, found.segments_late_24h, found.segments_refused_24h) == (2, 1, 1)
    assert (found.refused, found.unknown_columns) == (["not a segment"], ["new_metric", "other"])
    assert (found.pending_hours, found.pending_runs) == (1, 1)
    assert [(row.what, row.ok, row.runs, row.error) for row in found.jobs] == [("judge", False, 2, "surprise")]
    assert next((row.where, row.what, row.ok) for row in found.probes) == ("n1", "processes", False)
    assert len(found.problems) == 3


def test_a_clock_that_is_off_and_accounting_that_stopped(cur: Cursor, ledger: Ledger) -> None:
    key = ledger.node("n1", last_ms=NOW, skew_ms=90_000)
    for number, skew_ms in enumerate((-40_000, -7_200_000, -29_000)):
        ledger.gpu(ledger.node(f"m{number}", last_ms=NOW, skew_ms=skew_ms))
    ledger.gpu(key)
    probe(ledger, key, "accounting", NOW - HOUR)
    ledger.save(cur)
    assert health(cur, ADMIN, NOW).problems == [
        "Ahead of the hub's clock: n1 by 2 min; set the time service right there.",
        "Old when it comes in: m1 by 2 h, m0 by 40 s; deliveries wait there, or the clock is behind.",
        "Accounting was last read 1 h ago; look at the probe on the host that runs sacct.",
    ]


def test_what_cannot_be_measured_by_model(cur: Cursor, ledger: Ledger) -> None:
    key = ledger.node("n1", last_ms=NOW)
    for number in range(2):
        gpu = ledger.gpu(key, model="T4" if number else "H100")
        for metric, reason, to_ms in (("energy_j", "not_supported", T0), ("temp_c", "failed", T0 - 2 * DAY)):
            ledger.put("null_reason", gpu_key=gpu, metric=metric, reason=reason, from_ms=T0 - 3 * DAY, to_ms=to_ms)
    ledger.save(cur)
    assert [(row.model, row.label, row.gpus) for row in health(cur, ADMIN, NOW).unmeasurable] == [
        *(("H100", "Energy", 1), ("T4", "Energy", 1)),
    ]


def test_slurms_count_beside_ours(cur: Cursor, ledger: Ledger) -> None:
    gpu = ledger.gpu(ledger.node("n1", last_ms=NOW, first_ms=T0))
    run = ledger.run(db_index=5, alloc_gpus=2, elapsed_ms=HOUR)
    ledger.run(db_index=6, alloc_gpus=2, start_ms=T0 - HOUR, end_ms=T0 + HOUR)  # began before the first data
    ledger.hour(gpu, run, T0, active=60)
    ledger.hour(0, run, T0, unknown=54)
    ledger.save(cur)
    found = health(cur, ADMIN, NOW).slurm
    assert found is not None
    assert (found.runs, found.slurm_gpu_h, found.our_gpu_h) == (1, 2, 1.9)


def test_a_synthetic_store_is_seen_at_the_end_of_its_data(cur: Cursor, ledger: Ledger) -> None:
    well(ledger)
    arrived(ledger, NOW - MINUTE, late=1)
    ledger.save(cur)
    cur.execute("UPDATE meta SET value = '1' WHERE key = 'synthetic'")
    found = health(cur, ADMIN, NOW + 30 * DAY)
    assert (found.ok, found.synthetic, found.segments_late_24h) == (True, True, 0)
    assert progress(cur, ADMIN, NOW + 30 * DAY).steps[0].done


def test_an_empty_store_is_not_well_and_waits_for_a_node(cur: Cursor) -> None:
    found = health(cur, ADMIN, NOW)
    assert (found.ok, found.data_to_ms, found.coverage_24h, found.nodes) == (False, None, None, [])
    begun = progress(cur, ADMIN, NOW)
    assert (begun.complete, begun.since_ms) == (False, None)
    assert begun.sentence == "Nothing was recorded yet; the first rows arrive within a minute of the first node."
    assert begun.steps == [
        Step(
            id="nodes",
            done=False,
            text="Nodes reporting: 0 of 1",
            hint="Start `gpuledger collect` on a node with GPUs.",
        )
    ]


def test_the_checklist_of_the_first_hour(cur: Cursor, ledger: Ledger) -> None:
    ledger.gpu(ledger.node("n1", first_ms=NOW - 42 * MINUTE, last_ms=NOW))
    ledger.run(node_list="n[1-16]", alloc_gpus=8, end_ms=NOW)
    ledger.save(cur)
    found = progress(cur, ADMIN, NOW, "Europe/Berlin")
    assert found.sentence == "1 node with 1 GPU, recorded since Mon 23 Nov 05:18 (42 min)."
    assert [(step.id, step.done, step.text) for step in found.steps] == [
        ("nodes", False, "Nodes reporting: 1 of 16"),
        ("accounting", False, "Accounting was not read yet"),
        ("findings", False, "First findings about 06:25"),
        ("week", False, "First full week, so first report: Mon 7 Dec"),
    ]
    assert found.steps[0].hint == "Start `gpuledger collect` on n[2-16]."


def test_the_checklist_goes_when_all_is_green(cur: Cursor, ledger: Ledger) -> None:
    key = ledger.node("n1", first_ms=T0 - 6 * HOUR, last_ms=T0 + 7 * DAY)
    ledger.gpu(key)
    probe(ledger, key, "accounting", T0 + 7 * DAY - 2 * MINUTE)
    footprint_run(ledger, ledger.run(node_list="n1", alloc_gpus=1))
    ledger.save(cur)
    found = progress(cur, ADMIN, T0 + 7 * DAY)
    assert found.complete
    assert [step.text for step in found.steps] == [
        "Nodes reporting: 1 of 1",
        "Accounting read 2 min ago",
        "1 run judged, nothing found",
        "A full week is recorded: the first report can be made",
    ]


def test_a_workstation_is_spoken_of_as_one(cur: Cursor, ledger: Ledger) -> None:
    ledger.gpu(ledger.node("ws", slurm=False, first_ms=NOW - HOUR, last_ms=NOW))
    ledger.save(cur)
    found = progress(cur, ADMIN, NOW)
    assert found.sentence == (
        "This machine: 1 GPU, recorded since Mon 23 Nov 04:00 (1 h). No Slurm here, so programs are counted, not jobs."
    )
    assert [step.id for step in found.steps] == ["nodes", "findings", "week"]


@pytest.mark.parametrize(("since", "day"), [(T0, "Mon 30 Nov"), (T0 + 1, "Mon 7 Dec"), (T0 - 1, "Mon 30 Nov")])
def test_the_first_full_week_begins_on_the_next_monday(cur: Cursor, ledger: Ledger, since: int, day: str) -> None:
    ledger.gpu(ledger.node("n1", slurm=False, first_ms=since, last_ms=since + HOUR))
    ledger.save(cur)
    assert progress(cur, ADMIN, since + HOUR).steps[-1].text.endswith(day)


def test_probes_of_a_fleet_are_told_together_and_failures_apart() -> None:
    def row(where: str, *, what: str = "gpu", ok: bool = True, at_ms: int = NOW, duration_ms: float = 1.0) -> LogRow:
        error = "" if ok else "it hangs"
        return LogRow(where=where, what=what, at_ms=at_ms, duration_ms=duration_ms, ok=ok, rows=8, runs=6, error=error)

    failed, alone = row("n2", ok=False), row("n1", what="accounting")
    first, slow = row("n1", at_ms=NOW - 5), row("n3", duration_ms=9.0)
    together = LogRow(where="2 nodes", what="gpu", at_ms=NOW - 5, duration_ms=9.0, ok=True, rows=16, runs=12, error="")
    assert gathered([failed, alone, first, slow]) == [failed, alone, together]


def test_slurm_says_which_nodes_should_report(cur: Cursor, ledger: Ledger) -> None:
    """One that is drained or was taken away may be silent; one that never reported is missed."""
    well(ledger)
    for name in ("n2", "n3"):
        ledger.gpu(ledger.node(name, last_ms=NOW - 2 * HOUR))
    ledger.word("n1", NOW - MINUTE)
    ledger.word("n2", NOW - MINUTE, standing="offline")
    ledger.word("n4", NOW - MINUTE)
    ledger.word("cpu1", NOW - MINUTE, gpus=0)
    ledger.save(cur)
    found = health(cur, ADMIN, NOW)
    assert (found.nodes_reporting, found.nodes_expected) == (1, 2)
    assert found.problems == [
        "Slurm has GPUs on n4 and no agent reports from there; start `gpuledger collect` on them."
    ]


def test_what_slurmctld_is_asked(cur: Cursor, ledger: Ledger) -> None:
    key = well(ledger)
    ledger.save(cur)
    assert health(cur, ADMIN, NOW).slurm_requests_per_min is None
    for minute in range(0, 120, 5):
        at_ms = NOW - 2 * HOUR + minute * MINUTE
        ledger.put("slurm_request", cluster="c1", at_ms=at_ms, probe="cluster", requests=2)
        ledger.put("queue_poll", node_key=key, cluster="c1", at_ms=at_ms, until_ms=at_ms + MINUTE)
    ledger.save(cur)
    assert health(cur, ADMIN, NOW).slurm_requests_per_min == 0.6
