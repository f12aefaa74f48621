"""Hours and minutes: what is held, covered, in which state; how rows are clipped and split."""

import pytest

from store.database import Database
from store.ingest import ingest
from store.rollup import roll_up
from store.segment import NullReason
from store.settings import StateSettings
from tests.store.building import (
    HOUR,
    MINUTE,
    NOW,
    SECOND,
    T0,
    gpu,
    hold,
    hours,
    named,
    packed,
    row,
    segment,
    steady,
    store,
    told,
)

EMPTY = {"util_pct": 0, "mem_used_mib": 0, "processes": 0}
BUSY = {"util_pct": 900, "mem_used_mib": 40_000, "processes": 1}


def only(database: Database) -> dict[str, object]:
    [found] = hours(database)
    return found


@pytest.mark.parametrize(
    ("readings", "state"),
    [
        ({"util_pct": 250}, "active"),
        ({"util_pct": 249}, "low"),
        ({"util_pct": 10}, "low"),
        ({"util_pct": 9}, "idle"),
        ({"util_pct": 0, "enc_pct": 30}, "active"),
        ({"util_pct": 0, "mem_used_mib": 256}, "idle"),
        ({"util_pct": 0, "mem_used_mib": 257}, "idle_held"),
        ({"util_pct": 0, "mem_used_mib": 0, "processes": 1}, "idle_held"),
        ({"util_pct": 0, "mem_used_mib": None}, "idle"),
        ({"util_pct": None, "enc_pct": 0, "mem_used_mib": 0}, "unknown"),
    ],
)
def test_state_of_a_row(database: Database, readings: dict[str, int | None], state: str) -> None:
    store(database, segment([row(T0 + MINUTE, 0, 0, MINUTE, **readings)], holdings=[hold(end_ms=T0 + MINUTE)]))
    found = only(database)
    states = {name: found[f"{name}_ms"] for name in ("active", "low", "idle_held", "idle", "unknown")}
    assert states == {**dict.fromkeys(states, 0), state: MINUTE}
    assert found["held_ms"] == MINUTE
    assert found["covered_ms"] == (0 if state == "unknown" else MINUTE)


def test_small_gpus_have_a_margin_of_one_percent(database: Database) -> None:
    small = gpu(mem_total_mib=10_000, baseline_mib=50)
    rows = [
        row(T0 + MINUTE, 0, 0, MINUTE, util_pct=0, mem_used_mib=150),
        row(T0 + 2 * MINUTE, 0, 0, MINUTE, util_pct=0, mem_used_mib=151),
    ]
    store(database, segment(rows, devices=[small], holdings=[hold(end_ms=T0 + 2 * MINUTE)]))
    assert (only(database)["idle_ms"], only(database)["idle_held_ms"]) == (MINUTE, MINUTE)


def test_what_no_row_covers_is_unknown_not_idle(database: Database) -> None:
    rows = steady(T0, T0 + 10 * MINUTE, 0, 0, **EMPTY)
    store(database, segment(rows, holdings=[hold(end_ms=T0 + HOUR)], last_ms=T0 + HOUR))
    found = only(database)
    assert (found["held_ms"], found["idle_ms"], found["unknown_ms"]) == (HOUR, 10 * MINUTE, 50 * MINUTE)
    assert found["unmeasurable_ms"] == 0


def test_what_the_device_cannot_tell_is_unmeasurable(database: Database) -> None:
    rows = steady(T0, T0 + 10 * MINUTE, 0, 0, mem_used_mib=5)
    nulls = [NullReason(device=0, metric="util_pct", reason="not_supported", from_ms=T0, to_ms=T0 + 10 * MINUTE)]
    store(database, segment(rows, holdings=[hold(end_ms=T0 + 20 * MINUTE)], nulls=nulls, last_ms=T0 + HOUR))
    found = only(database)
    assert (found["unknown_ms"], found["unmeasurable_ms"], found["rows"]) == (20 * MINUTE, 10 * MINUTE, 60)


def test_open_allocation_is_held_as_far_as_any_node_has_data(database: Database) -> None:
    store(database, segment(steady(T0, T0 + MINUTE, 0, 0, **BUSY), holdings=[hold()]))
    assert only(database)["held_ms"] == MINUTE
    store(database, segment(node="n2", first_ms=T0 + 90 * MINUTE, last_ms=T0 + 100 * MINUTE, devices=[]))
    held = [(found["hour_ms"], found["held_ms"], found["unknown_ms"]) for found in hours(database)]
    assert held == [(T0, HOUR, HOUR - MINUTE), (T0 + HOUR, 40 * MINUTE, 40 * MINUTE)]


def test_row_over_the_hour_is_split_and_its_energy_adds_up(database: Database) -> None:
    edge = T0 + HOUR
    rows = [row(edge + 7 * SECOND, 0, 0, 10 * SECOND, energy_j=1001, util_pct=300, power_w=500)]
    store(database, segment(rows, holdings=[hold(start_ms=edge - MINUTE, end_ms=edge + MINUTE)]))
    first, second = hours(database)
    assert (first["active_ms"], second["active_ms"]) == (3 * SECOND, 7 * SECOND)
    assert (first["energy_j_sum"], second["energy_j_sum"]) == (300, 701)
    assert (first["util_pct_sum"], second["util_pct_sum"]) == (300 * 3 * SECOND, 300 * 7 * SECOND)
    assert (first["rows"], second["rows"]) == (0, 1)


def test_no_instant_counts_twice(database: Database) -> None:
    """A second agent, or one that was started again, covers time that is covered already."""
    rows = [*steady(T0, T0 + MINUTE, 0, 0, **BUSY, energy_j=10)]
    again = [*steady(T0 + 5 * SECOND, T0 + 65 * SECOND, 0, 0, **BUSY, energy_j=10)]
    holding = [hold(end_ms=T0 + HOUR)]
    store(database, segment(rows, holdings=holding), segment(again, holdings=holding, boot_id="b1"))
    found = only(database)
    assert (found["active_ms"], found["covered_ms"]) == (65 * SECOND, 65 * SECOND)


def test_a_late_row_shortens_the_one_after_it_even_in_the_hour_before(database: Database) -> None:
    edge = T0 + HOUR
    holding = [hold(end_ms=T0 + 2 * HOUR)]
    after_a_gap = row(edge + MINUTE, 0, 0, 150 * SECOND, **BUSY)
    store(database, segment([after_a_gap], seq=1, holdings=holding, last_ms=T0 + 2 * HOUR))
    assert [each["active_ms"] for each in hours(database)] == [90 * SECOND, MINUTE]
    store(database, segment([row(edge + 20 * SECOND, 0, 0, 10 * SECOND, **BUSY)], seq=0, holdings=holding))
    assert [each["active_ms"] for each in hours(database)] == [0, 50 * SECOND]


def test_row_is_clipped_to_its_allocation(database: Database) -> None:
    """Accounting ends the run 4 s before the node's last row of it."""
    rows = steady(T0, T0 + MINUTE, 0, 0, **BUSY)
    store(
        database,
        segment(
            rows,
            holdings=[hold(end_ms=T0 + MINUTE)],
            accounting=[told(start_ms=T0 + 2 * SECOND, end_ms=T0 + 56 * SECOND)],
        ),
    )
    found = only(database)
    assert (found["held_ms"], found["active_ms"], found["unknown_ms"]) == (54 * SECOND, 54 * SECOND, 0)


def test_rows_of_a_run_outside_its_time_are_neither_held_nor_stray(database: Database) -> None:
    rows = [*steady(T0, T0 + MINUTE, 0, 0, **BUSY), *steady(T0 + 3 * HOUR, T0 + 3 * HOUR + MINUTE, 0, 0, **BUSY)]
    store(database, segment(rows, holdings=[hold()], accounting=[told(end_ms=T0 + MINUTE)]))
    assert only(database)["held_ms"] == MINUTE
    # Recomputed alone, the late hour is the same as together with the first.
    with database.cursor() as cursor:
        cursor.execute("INSERT INTO dirty_hour SELECT $1, node_key, 0, $1, $1 + 3600000 FROM node", [T0 + 3 * HOUR])
    roll_up(database)
    assert only(database)["held_ms"] == MINUTE


def test_work_that_nobody_holds_is_stray_on_a_slurm_node_only(database: Database) -> None:
    store(
        database,
        segment(steady(T0, T0 + MINUTE, **BUSY)),
        segment(steady(T0, T0 + MINUTE, **EMPTY), node="n2", devices=[gpu("GPU-2")]),
        segment(steady(T0, T0 + MINUTE, **BUSY), node="pc", devices=[gpu("GPU-3")], slurm=False),
    )
    found = {each["node"]: each for each in hours(database)}
    assert {name: (each["stray_ms"], each["covered_ms"], each["held_ms"]) for name, each in found.items()} == {
        "n1": (MINUTE, MINUTE, 0), "n2": (0, MINUTE, 0), "pc": (0, MINUTE, 0),
    }  # fmt: skip


def test_work_before_the_node_knew_the_holder_is_not_stray(database: Database) -> None:
    rows = [*steady(T0, T0 + 30 * SECOND, 0, None, **BUSY), *steady(T0 + 30 * SECOND, T0 + MINUTE, 0, 0, **BUSY)]
    store(
        database,
        segment(
            rows, holdings=[hold(start_ms=T0 + 30 * SECOND, end_ms=T0 + MINUTE)], accounting=[told(end_ms=T0 + MINUTE)]
        ),
    )
    assert sum(each["stray_ms"] for each in hours(database)) == 0
    assert sum(each["held_ms"] for each in hours(database)) == MINUTE


def test_parked_memory(database: Database) -> None:
    rows = [
        *steady(T0, T0 + MINUTE, 0, 0, util_pct=0, mem_used_mib=40_780),
        *steady(T0 + MINUTE, T0 + 2 * MINUTE, 0, 0, util_pct=0, mem_used_mib=40_000),
    ]
    store(database, segment(rows, holdings=[hold(end_ms=T0 + 2 * MINUTE)]))
    assert (only(database)["idle_held_ms"], only(database)["parked_ms"]) == (2 * MINUTE, MINUTE)


def test_gpus_that_no_node_showed_are_held_and_unknown(database: Database) -> None:
    rows = steady(T0, T0 + MINUTE, 0, 0, **BUSY)
    store(
        database,
        segment(
            rows,
            holdings=[hold(end_ms=T0 + MINUTE)],
            accounting=[told(end_ms=T0 + MINUTE, alloc_gpus=4)],
            last_ms=T0 + HOUR,
        ),
    )
    found = {each["gpu"]: each for each in hours(database)}
    assert (found["GPU-0"]["held_ms"], found[None]["held_ms"], found[None]["unknown_ms"]) == (
        MINUTE,
        3 * MINUTE,
        3 * MINUTE,
    )
    # The other node's data comes late: its GPUs are placed then.
    late = segment(
        [each for device in range(3) for each in steady(T0, T0 + MINUTE, device, 0, **BUSY)],
        node="n2",
        devices=[gpu(f"GPU-{1 + i}") for i in range(3)],
        holdings=[hold(end_ms=T0 + MINUTE, devices=range(3))],
    )
    store(database, late)
    found = {each["gpu"]: each for each in hours(database)}
    assert None not in found
    assert sum(each["active_ms"] for each in found.values()) == 4 * MINUTE


def test_a_dead_nodes_run_holds_a_gpu_no_longer_than_until_the_next(database: Database) -> None:
    store(database, segment(steady(T0, T0 + MINUTE, 0, 0, **BUSY), holdings=[hold()]))
    again = hold("101", T0 + 10 * MINUTE, T0 + 20 * MINUTE)
    rows = steady(T0 + 10 * MINUTE, T0 + 20 * MINUTE, 0, 0, **BUSY)
    store(database, segment(rows, holdings=[again], boot_id="b1", last_ms=T0 + 30 * MINUTE))
    held = {each["run"]: each["held_ms"] for each in hours(database)}
    assert held == {f"c1:100@{T0}": 10 * MINUTE, f"c1:101@{T0 + 10 * MINUTE}": 10 * MINUTE}


def test_a_run_on_a_node_that_died_is_unknown_from_then_on_and_never_idle(database: Database) -> None:
    """Without accounting or the queue nobody says that it ended; other nodes carry the time on."""
    store(database, segment(steady(T0, T0 + MINUTE, 0, 0, **EMPTY), holdings=[hold()]))
    store(database, segment(node="n2", devices=[gpu("GPU-2")], first_ms=T0, last_ms=T0 + HOUR))
    (one,) = [each for each in hours(database) if each["run"]]
    assert (one["held_ms"], one["idle_ms"], one["unknown_ms"]) == (HOUR, MINUTE, HOUR - MINUTE)


def test_shared_gpu_counts_for_every_holder(database: Database) -> None:
    pair = [hold("1", T0, T0 + HOUR, shared=True), hold("2", T0 + MINUTE, T0 + 2 * MINUTE, shared=True)]
    store(database, segment([], holdings=pair, last_ms=T0 + HOUR))
    assert sorted(each["held_ms"] for each in hours(database)) == [MINUTE, HOUR]


def test_minutes_add_up_to_the_hour(database: Database) -> None:
    rows = steady(T0 + 3 * SECOND, T0 + 40 * MINUTE, 0, 0, 7 * SECOND, **BUSY, energy_j=333, event_reasons=4)
    store(database, segment(rows, holdings=[hold(T0 and "100", T0, T0 + 45 * MINUTE)]))
    minutes, hour = named(database, "gpu_minute"), only(database)
    assert len(minutes) == 45
    for name in (
        "held_ms",
        "active_ms",
        "unknown_ms",
        "rows",
        "energy_j_sum",
        "util_pct_sum",
        "util_pct_ms",
        "event_reasons_ms",
    ):
        assert sum(each[name] or 0 for each in minutes) == hour[name]
    assert (hour["energy_j_sum"], hour["event_reasons_seen"], hour["util_pct_max"]) == (333 * len(rows), 4, 900)


def test_recomputing_gives_equal_rows(database: Database) -> None:
    store(database, segment(steady(T0, T0 + 2 * HOUR, 0, 0, 7 * SECOND, **BUSY), holdings=[hold(end_ms=T0 + 2 * HOUR)]))
    before = hours(database), named(database, "gpu_minute")
    with database.cursor() as cursor:
        cursor.execute(
            "INSERT INTO dirty_hour SELECT DISTINCT hour_ms, node_key, 0, hour_ms, hour_ms + 3600000 FROM gpu_hour"
        )
    assert roll_up(database) == 2
    assert (hours(database), named(database, "gpu_minute")) == before
    assert roll_up(database) == 0


def test_other_thresholds_compute_everything_anew(database: Database) -> None:
    store(
        database, segment(steady(T0, T0 + 2 * HOUR, 0, 0, MINUTE, util_pct=100), holdings=[hold(end_ms=T0 + 2 * HOUR)])
    )
    assert [each["low_ms"] for each in hours(database)] == [HOUR, HOUR]
    with database.cursor() as cursor:
        cursor.execute("DELETE FROM dirty_run")
    assert roll_up(database, settings=StateSettings(active_pct=10)) == 2
    assert [each["active_ms"] for each in hours(database)] == [HOUR, HOUR]
    with database.cursor() as cursor:
        assert cursor.scalar("SELECT count(*) FROM dirty_run") == 1
    assert roll_up(database, settings=StateSettings(active_pct=10)) == 0


def test_a_mark_set_while_rolling_up_stays(database: Database) -> None:
    store(database, segment(steady(T0, T0 + MINUTE, 0, 0, **BUSY), holdings=[hold(end_ms=T0 + MINUTE)]))
    with database.cursor() as cursor:
        cursor.execute("INSERT INTO dirty_hour SELECT $1, node_key, 7, $1, $1 + 60000 FROM node", [T0])
        # What roll_up does at its end, with the generation that it began with.
        cursor.execute("DELETE FROM dirty_hour WHERE hour_ms = $1 AND gen = 6", [T0])
        assert cursor.scalar("SELECT count(*) FROM dirty_hour") == 1


def test_a_silent_nodes_hold_waits_and_the_others_do_not(database: Database) -> None:
    """With many nodes every batch carries the data on; computing all nodes for it would cost more than their rows."""

    def held() -> dict[str, int]:
        totals: dict[str, int] = {}
        for each in hours(database):
            totals[each["node"]] = totals.get(each["node"], 0) + each["held_ms"]
        return totals

    def send(node: str, job: str, seq: int) -> int:
        from_ms = T0 + seq * MINUTE
        rows = steady(from_ms, from_ms + MINUTE, 0, 0, **BUSY)
        sent = segment(rows, node=node, seq=seq, holdings=[hold(job)], devices=[gpu(f"GPU-{node}")])
        ingest(database, packed(sent), NOW)
        return roll_up(database, wait_ms=2 * MINUTE)

    send("n1", "100", 0)
    send("n2", "101", 0)
    assert held() == {"n1": MINUTE, "n2": MINUTE}
    assert send("n1", "100", 1) == 1
    assert held() == {"n1": 2 * MINUTE, "n2": MINUTE}
    send("n1", "100", 2)
    assert held() == {"n1": 3 * MINUTE, "n2": 3 * MINUTE}
    send("n1", "100", 3)
    assert roll_up(database) == 1
    assert held() == {"n1": 4 * MINUTE, "n2": 4 * MINUTE}


def test_the_end_of_a_hold_that_waits(database: Database) -> None:
    """The silent node's job turns out to have ended before what was computed, and before what was not yet."""
    for seq in range(4):
        rows = steady(T0 + seq * MINUTE, T0 + (seq + 1) * MINUTE, 0, 0, **BUSY)
        held = [hold("100"), hold("101", devices=(1,))]
        devices = [gpu("GPU-0"), gpu("GPU-1")]
        ingest(database, packed(segment(rows, seq=seq, holdings=held, devices=devices)), NOW)
        ingest(database, packed(segment(node="n2", seq=seq, holdings=[hold("102")], devices=[gpu("GPU-2")])), NOW)
        roll_up(database, wait_ms=3 * MINUTE)
    ended = [told("101", T0, T0 + 90 * SECOND), told("102", T0, T0 + 3 * MINUTE + 30 * SECOND)]
    last_ms = T0 + 4 * MINUTE
    store(database, segment(node="ctl", devices=[], accounting=ended, first_ms=last_ms, last_ms=last_ms))
    found = {each["run"].split("@")[0]: each["held_ms"] for each in hours(database)}
    assert found == {"c1:100": 4 * MINUTE, "c1:101": 90 * SECOND, "c1:102": 3 * MINUTE + 30 * SECOND}
