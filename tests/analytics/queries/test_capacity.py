"""Capacity from Slurm's inventory: what no collector shows counts as well, and every part adds up, exactly."""

import random
from pathlib import Path
from typing import Any

import pytest

from analytics.model import Filter, Viewer, Window
from analytics.queries.capacity import Whole, capacity
from analytics.queries.days import days
from analytics.queries.hours import hours
from analytics.queries.summary import summary
from analytics.queries.timeline import over_time
from store.database import Cursor
from store.schema import WHOLE
from tests.factories.ledger import DAY, HOUR, MINUTE, T0, Ledger
from tests.store.building import empty_store, gpu, hold, inventory, segment, steady, told, word
from tests.store.building import store as stored

ADMIN = Viewer()
DAY_1 = Window(start_ms=T0, end_ms=T0 + DAY)
PARTS = ("held", "suspended", "releasing", "stray", "offline", "reserved", "taken", "unallocated")


def parts(cur: Cursor, window: Window = DAY_1, where: Filter = Filter()) -> dict[str, float]:  # noqa: B008
    found = hours(cur, ADMIN, window, where)
    shown = {name: getattr(found, f"{name}_gpu_h") for name in (*PARTS, "stranded", "free")}
    assert found.capacity_gpu_h == pytest.approx(sum(shown[name] for name in PARTS), abs=1e-9)
    assert shown["unallocated"] == pytest.approx(shown["free"] + shown["stranded"], abs=1e-9)
    return {"capacity": found.capacity_gpu_h, **shown}


def day_of_words(ledger: Ledger, name: str, **more: Any) -> None:
    for hour in range(24):
        ledger.word(name, T0 + hour * HOUR, **more)


def test_a_node_that_no_collector_reports_counts(cur: Cursor, ledger: Ledger) -> None:
    ledger.node("login", last_ms=T0 + DAY)
    day_of_words(ledger, "n7", gpus=4, gpus_used=1)
    ledger.save(cur)
    found = parts(cur)
    assert (found["capacity"], found["taken"], found["free"], found["offline"]) == (96, 24, 72, 0)


def test_without_an_inventory_nobody_says_free(cur: Cursor, ledger: Ledger) -> None:
    ledger.gpu(ledger.node(last_ms=T0 + DAY))
    ledger.save(cur)
    found = hours(cur, ADMIN, DAY_1, Filter())
    assert (found.capacity_gpu_h, found.unallocated_gpu_h) == (24, 24)
    assert (found.free_gpu_h, found.offline_gpu_h, found.reserved_gpu_h, found.stranded_gpu_h) == (None,) * 4


@pytest.mark.parametrize("standing", ["offline", "reserved"])
def test_where_an_unreported_node_stands(cur: Cursor, ledger: Ledger, standing: str) -> None:
    ledger.node("login", last_ms=T0 + DAY)
    day_of_words(ledger, "n7", gpus=2, standing=standing)
    ledger.save(cur)
    assert parts(cur)[standing] == 48


def test_gpus_that_slurm_counts_beyond_the_known_ones(cur: Cursor, ledger: Ledger) -> None:
    node = ledger.node("n1", last_ms=T0 + DAY)
    for _ in range(3):
        ledger.gpu(node)
    day_of_words(ledger, "n1", gpus=4)
    ledger.save(cur)
    assert parts(cur)["capacity"] == 96


def test_a_gpu_that_was_exchanged_counts_until_it_was_last_seen(cur: Cursor, ledger: Ledger) -> None:
    node = ledger.node("n1", last_ms=T0 + DAY)
    ledger.gpu(node, last_ms=T0 + DAY)
    ledger.gpu(node, last_ms=T0 + 6 * HOUR)
    ledger.gpu(node, first_ms=T0 + 8 * HOUR, last_ms=T0 + DAY)
    day_of_words(ledger, "n1", gpus=2)
    ledger.save(cur)
    found = parts(cur)
    assert (found["capacity"], found["free"]) == (48, 48)


def test_a_node_that_slurm_has_no_more_counts_until_it_was_last_seen(cur: Cursor, ledger: Ledger) -> None:
    for name, last_ms in (("n1", T0 + DAY), ("n2", T0 + 6 * HOUR)):
        ledger.gpu(ledger.node(name, last_ms=last_ms), last_ms=last_ms)
    day_of_words(ledger, "n1", gpus=1)
    ledger.save(cur)
    assert parts(cur)["capacity"] == 30


def test_a_gpu_that_does_not_answer_counts_as_slurm_lists_it(cur: Cursor, ledger: Ledger) -> None:
    node = ledger.node("n1", last_ms=T0 + DAY)
    ledger.gpu(node, last_ms=T0 + DAY)
    ledger.gpu(node, last_ms=T0 + 6 * HOUR)
    day_of_words(ledger, "n1", gpus=2)
    ledger.save(cur)
    assert parts(cur)["capacity"] == 48


def test_before_its_collector_came_a_node_was_there(cur: Cursor, ledger: Ledger) -> None:
    ledger.gpu(ledger.node("n1", first_ms=T0 + 6 * HOUR, last_ms=T0 + DAY), first_ms=T0 + 6 * HOUR)
    day_of_words(ledger, "n1", gpus=1)
    ledger.save(cur)
    assert parts(cur)["capacity"] == 24


def test_a_run_that_only_accounting_counts_is_on_the_gpus_that_are_taken(cur: Cursor, ledger: Ledger) -> None:
    ledger.node("login", last_ms=T0 + DAY)
    day_of_words(ledger, "n7", gpus=4, gpus_used=2)
    run = ledger.run(end_ms=T0 + 2 * HOUR)
    ledger.hour(0, run, T0, unknown=60)
    ledger.hour(0, run, T0 + HOUR, unknown=60)
    ledger.save(cur)
    found = parts(cur)
    assert (found["capacity"], found["held"], found["taken"], found["free"]) == (96, 2, 46, 48)


def test_more_than_there_is_existed_nonetheless(cur: Cursor, ledger: Ledger) -> None:
    ledger.node("login", last_ms=T0 + DAY)
    day_of_words(ledger, "n7", gpus=1)
    run = ledger.run()
    for _ in range(3):
        ledger.hour(0, run, T0, unknown=60)
    ledger.save(cur)
    found = parts(cur)
    assert (found["capacity"], found["held"], found["free"]) == (26, 3, 23)


def test_filters_on_places(cur: Cursor, ledger: Ledger) -> None:
    for name, cluster, kind in (("n7", "c1", "h100"), ("n8", "c2", "a100")):
        day_of_words(ledger, name, gpus=2, cluster=cluster, gpu_type=kind)
    ledger.gpu(ledger.node("n9", last_ms=T0 + DAY), model="NVIDIA A100")
    day_of_words(ledger, "n9", gpus=1, gpu_type="a100")
    ledger.save(cur)
    assert parts(cur)["capacity"] == 5 * 24
    assert parts(cur, where=Filter(node="n7"))["capacity"] == 48
    assert parts(cur, where=Filter(cluster="c1"))["capacity"] == 72
    assert parts(cur, where=Filter(model="NVIDIA A100"))["capacity"] == 72


def test_allocated_is_a_share_of_what_was_not_offline(cur: Cursor, ledger: Ledger) -> None:
    node = ledger.node("n1", last_ms=T0 + DAY)
    gpu_key = ledger.gpu(node)
    run = ledger.run(end_ms=T0 + 12 * HOUR)
    for hour in range(12):
        ledger.hour(gpu_key, run, T0 + hour * HOUR, active=60, util_pct=90)
    day_of_words(ledger, "n1", gpus=1)
    day_of_words(ledger, "n2", gpus=1, standing="offline")
    ledger.save(cur)
    assert summary(cur, ADMIN, DAY_1, Filter()).allocated_share_pct == 50


@pytest.fixture
def busy(tmp_path: Path) -> Any:
    """A day of four nodes, two of which nobody reports: jobs, drains, reservations, stray work and full nodes."""
    database = empty_store(tmp_path / "store")
    chance = random.Random(7)
    segments, words = [], []
    for number in range(2):
        devices = [gpu(f"GPU-{number}-{index}") for index in range(2)]
        at = T0
        for seq in range(8):
            end = at + chance.randrange(40, 120) * MINUTE
            holds = [hold(f"{seq + 1}{number}", at, end - 7 * MINUTE, devices=[0])] if chance.random() < 0.6 else []
            rows = steady(at, end, 0, 0 if holds else None, MINUTE, util_pct=500) + steady(at, end, 1, None, MINUTE)
            segments.append(segment(rows, node=f"n{number}", seq=seq, devices=devices, holdings=holds))
            at = end + chance.randrange(0, 20) * MINUTE
    for number in range(4):
        for minute in range(0, 23 * 60, 7):
            kind = chance.choice(
                [("IDLE",), ("IDLE", "DRAIN"), ("MIXED", "RESERVED"), ("MIXED", "COMPLETING"), ("DOWN",)]
            )
            cores = {"cpus": 8, "cpus_used": chance.choice([0, 8]), "gpus_used": chance.choice([0, 1, 2])}
            words.append(word(f"n{number}", T0 + minute * MINUTE + chance.randrange(60_000), *kind, gpus=2, **cores))
    runs = [told(str(900 + n), T0 + n * HOUR, T0 + (n + 2) * HOUR, alloc_gpus=3, nodes=("n3",)) for n in range(9)]
    segments += [segment(node="ctl", devices=[], accounting=runs), inventory(*words, at_ms=T0 + 23 * HOUR, seq=1)]
    stored(database, *segments)
    with database.cursor() as cursor:
        yield cursor


def test_all_sums_are_exact(busy: Cursor) -> None:
    """Over hours, days of zones at half hours, nodes and clusters; in whole units, before anything is rounded."""
    to_ms = T0 + 23 * HOUR

    def whole(window: Window, where: Filter = Filter()) -> Whole:  # noqa: B008
        return capacity(busy, window, where, to_ms).within(window.start_ms, window.end_ms)

    names = ("capacity", "stray", "releasing", "offline", "taken", "reserved", "stranded", "free")
    total = whole(DAY_1)
    assert all(getattr(total, name) > 0 for name in names)
    each_hour = [whole(Window(start_ms=T0 + hour * HOUR, end_ms=T0 + (hour + 1) * HOUR)) for hour in range(24)]
    for name in names:
        assert sum(getattr(hour, name) for hour in each_hour) == getattr(total, name)
    assert all(getattr(hour, name) >= 0 for hour in each_hour for name in names)
    held = round(hours(busy, ADMIN, DAY_1, Filter()).held_gpu_h * WHOLE * HOUR)
    spare = total.releasing + total.offline + total.taken + total.reserved + total.unallocated + total.suspended
    assert total.capacity == held + total.stray + spare

    kolkata = Window(start_ms=T0 - DAY // 2 - 30 * MINUTE, end_ms=T0 + DAY + 30 * MINUTE, zone="Asia/Kolkata")
    in_zone = [whole(Window(start_ms=day.start_ms, end_ms=day.end_ms)) for day in days(kolkata)]
    for name in ("offline", "reserved", "stranded"):
        assert sum(getattr(day, name) for day in in_zone) == getattr(total, name)

    nodes = [whole(DAY_1, Filter(node=f"n{number}")) for number in range(4)]
    for name in ("offline", "reserved", "stranded", "stray"):
        assert sum(getattr(node, name) for node in nodes) == getattr(total, name)
    assert whole(DAY_1, Filter(cluster="c1")) == total


def test_the_chart_is_the_total(busy: Cursor) -> None:
    total = hours(busy, ADMIN, DAY_1, Filter())
    for points in (400, 8, 3):
        line = over_time(busy, ADMIN, DAY_1, Filter(), points).rows
        for name in ("capacity", "stray", "offline", "taken", "reserved", "stranded", "free", "unallocated"):
            drawn = sum(getattr(row, f"{name}_gpu_h") for row in line)
            assert drawn == pytest.approx(getattr(total, f"{name}_gpu_h"), abs=1e-9)
