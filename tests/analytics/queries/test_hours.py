"""Every GPU-hour is counted once, and every way of splitting the hours adds up to the same total, exactly."""

import random
from fractions import Fraction

import pytest

from analytics.model import Filter, Viewer, Window
from analytics.queries import hours as hours_queries
from analytics.queries.figures import Sums
from analytics.queries.hours import Hours, breakdown, hours
from analytics.queries.jobs import jobs
from analytics.queries.pieces import UNITS_PER_GPU_H
from analytics.queries.sums import sums as sums_by_key
from store.database import Cursor
from tests.factories.ledger import DAY, HOUR, T0, Ledger

WEEK = Window(start_ms=T0, end_ms=T0 + 7 * DAY)
ADMIN = Viewer()
EVERYTHING = Filter()


def sums(cur: Cursor, window: Window = WEEK, where: Filter = EVERYTHING, viewer: Viewer = ADMIN) -> Sums:
    return sums_by_key(cur, viewer, window, where)[0]


def generated(ledger: Ledger, seed: int) -> None:
    """A week of random runs on whole GPUs and MIG slices of 7, with GPUs that only accounting counts."""
    choose = random.Random(seed)
    gpus = []
    for number in range(3):
        node = ledger.node(f"n{number}")
        gpus += [ledger.gpu(node, model=f"model {number % 2}") for _ in range(2)]
        gpus += [ledger.gpu(node, model="slice", slices=choose.randint(1, 4), slices_of=7) for _ in range(2)]
    for _ in range(40):
        start = T0 + choose.randrange(7 * 24 - 5) * HOUR
        who = {"user_name": choose.choice(["ann", "bob", None]), "account": choose.choice(["physics", "bio"])}
        run = ledger.run(start_ms=start, end_ms=start + 3 * HOUR, partition=choose.choice(["gpu", "long"]), **who)
        for gpu in choose.sample([*gpus, 0], 2):
            for hour in range(3):
                left, spans = 60, {}
                for state in ("active", "low", "idle_held", "idle"):
                    spans[state] = choose.randint(0, left) if gpu else 0
                    left -= spans[state]
                ledger.hour(gpu, run, start + hour * HOUR, **spans, unknown=left, util_pct=choose.randint(0, 100))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("by", ["user", "account", "partition", "model", "node", "cluster", "day"])
def test_rows_add_up_to_the_total_exactly(cur: Cursor, ledger: Ledger, seed: int, by: hours_queries.By) -> None:
    generated(ledger, seed)
    ledger.save(cur)
    total = hours(cur, ADMIN, WEEK, Filter())
    rows = breakdown(cur, ADMIN, WEEK, Filter(), by)
    assert total.held_gpu_h > 0
    for name in ("held", "active", "low", "idle_held", "idle_empty", "idle", "unknown", "measured", "lost"):
        # A float GPU-hour goes back to the whole number of units that it was divided from: the sum is exact.
        units = [round(getattr(row, f"{name}_gpu_h") * UNITS_PER_GPU_H * 1000) for row in rows]
        assert sum(units) == pytest.approx(getattr(total, f"{name}_gpu_h") * UNITS_PER_GPU_H * 1000, abs=0.5, rel=1e-15)


@pytest.mark.parametrize("seed", range(3))
def test_integer_sums_agree_over_users_days_and_runs(cur: Cursor, ledger: Ledger, seed: int) -> None:
    generated(ledger, seed)
    ledger.save(cur)
    whole = sums(cur)
    days = [sums(cur, Window(start_ms=T0 + day * DAY, end_ms=T0 + (day + 1) * DAY)) for day in range(7)]
    accounts = [sums(cur, where=Filter(account=account)) for account in ("physics", "bio")]
    for name in ("held", "active", "low", "idle_held", "idle_empty", "unknown", "util_sum", "util_ms"):
        assert sum(getattr(day, name) for day in days) == getattr(whole, name)
        assert sum(getattr(account, name) for account in accounts) == getattr(whole, name)
    assert whole.held == whole.active + whole.low + whole.idle_held + whole.idle_empty + whole.unknown


@pytest.mark.parametrize("seed", range(3))
def test_the_list_of_jobs_has_the_same_total(cur: Cursor, ledger: Ledger, seed: int) -> None:
    generated(ledger, seed)
    ledger.save(cur)
    total = hours(cur, ADMIN, WEEK, Filter(account="bio"))
    page = jobs(cur, ADMIN, WEEK, Filter(account="bio"), limit=1000)
    assert (page.total.gpu_h, page.total.idle_gpu_h) == (total.held_gpu_h, total.idle_gpu_h)
    assert page.total.count == total.runs == len(page.items)
    assert sum(Fraction(row.gpu_h) for row in page.items) == pytest.approx(Fraction(total.held_gpu_h))


def one_gpu(cur: Cursor, ledger: Ledger, **hour: float) -> Hours:
    gpu = ledger.gpu(ledger.node(last_ms=T0 + 2 * HOUR))
    ledger.hour(gpu, ledger.run(), T0, **hour)
    ledger.save(cur)
    return hours(cur, ADMIN, Window(start_ms=T0, end_ms=T0 + 2 * HOUR), Filter())


def test_each_state_is_counted_where_it_belongs(cur: Cursor, ledger: Ledger) -> None:
    found = one_gpu(cur, ledger, active=6, low=12, idle_held=18, idle=15, unknown=9, unmeasurable=3, util_pct=50)
    assert found.held_gpu_h == 1
    assert (found.active_gpu_h, found.low_gpu_h) == (0.1, 0.2)
    assert (found.idle_held_gpu_h, found.idle_empty_gpu_h, found.idle_gpu_h) == (0.3, 0.25, 0.55)
    assert (found.unknown_gpu_h, found.missing_gpu_h, found.unmeasurable_gpu_h) == (0.15, 0.1, 0.05)
    assert found.coverage == pytest.approx(0.85 / 0.95)
    assert found.util_mean_pct == 50
    assert found.lost_gpu_h == pytest.approx(0.425)
    assert (found.runs, found.users, found.gpus) == (1, 1, 1)


def test_capacity_is_held_stray_and_unallocated(cur: Cursor, ledger: Ledger) -> None:
    found = one_gpu(cur, ledger, active=60)
    assert (found.capacity_gpu_h, found.unallocated_gpu_h, found.stray_gpu_h) == (2, 1, 0)


def test_a_device_that_only_accounting_counts_is_held_and_unknown(cur: Cursor, ledger: Ledger) -> None:
    gpu = ledger.gpu(ledger.node(last_ms=T0 + HOUR))
    run = ledger.run()
    ledger.hour(gpu, run, T0, active=60, util_pct=90)
    ledger.hour(0, run, T0, unknown=60)
    ledger.save(cur)
    found = hours(cur, ADMIN, WEEK, Filter())
    assert (found.held_gpu_h, found.unknown_gpu_h, found.capacity_gpu_h, found.unallocated_gpu_h) == (2, 1, 2, 0)
    assert found.coverage == 0.5
    assert found.gpus == 1


def test_slices_take_their_capacity_from_the_parent(cur: Cursor, ledger: Ledger) -> None:
    node = ledger.node(last_ms=T0 + HOUR)
    parent = ledger.gpu(node)
    slices = [ledger.gpu(node, slices=share, slices_of=7, parent_uuid=f"GPU-{parent}") for share in (3, 2)]
    run = ledger.run()
    for gpu in slices:
        ledger.hour(gpu, run, T0, active=60)
    ledger.save(cur)
    found = hours(cur, ADMIN, WEEK, Filter())
    assert found.held_gpu_h == pytest.approx(5 / 7, abs=1e-15)
    assert (found.capacity_gpu_h, found.unallocated_gpu_h) == (1, pytest.approx(2 / 7, abs=1e-15))


def test_a_gpu_counts_from_the_moment_it_was_first_seen(cur: Cursor, ledger: Ledger) -> None:
    node = ledger.node(last_ms=T0 + 4 * HOUR)
    ledger.gpu(node, first_ms=T0 - DAY)
    ledger.gpu(node, first_ms=T0 + 3 * HOUR)
    ledger.save(cur)
    found = hours(cur, ADMIN, WEEK, Filter())
    assert (found.capacity_gpu_h, found.unallocated_gpu_h) == (5, 5)
    assert (found.held_gpu_h, found.coverage, found.util_mean_pct, found.energy_kwh) == (0, None, None, None)


@pytest.mark.parametrize("where", [Filter(user="ann"), Filter(partition="gpu"), Filter(state="running")])
def test_capacity_belongs_to_no_user_or_partition(cur: Cursor, ledger: Ledger, where: Filter) -> None:
    ledger.gpu(ledger.node())
    ledger.save(cur)
    found = hours(cur, ADMIN, WEEK, where)
    assert (found.capacity_gpu_h, found.unallocated_gpu_h, found.stray_gpu_h) == (None, None, None)


def test_capacity_of_a_node_or_model(cur: Cursor, ledger: Ledger) -> None:
    ledger.gpu(ledger.node("a", last_ms=T0 + HOUR), model="x")
    ledger.gpu(ledger.node("b", last_ms=T0 + HOUR, cluster="c2"), model="y")
    ledger.save(cur)
    for where in (Filter(node="a"), Filter(model="y"), Filter(cluster="c2")):
        assert hours(cur, ADMIN, WEEK, where).capacity_gpu_h == 1


def test_stray_work_is_not_unallocated(cur: Cursor, ledger: Ledger) -> None:
    gpu = ledger.gpu(ledger.node(last_ms=T0 + HOUR))
    ledger.hour(gpu, None, T0, stray=20)
    ledger.save(cur)
    found = hours(cur, ADMIN, WEEK, Filter())
    assert found.stray_gpu_h == pytest.approx(1 / 3)
    assert found.unallocated_gpu_h == pytest.approx(2 / 3)


def test_energy_is_the_counter_else_the_integral_of_power(cur: Cursor, ledger: Ledger) -> None:
    node = ledger.node()
    run = ledger.run()
    ledger.hour(ledger.gpu(node), run, T0, active=60, power_w=300, energy_j=1_800_000)
    ledger.save(cur)
    found = hours(cur, ADMIN, WEEK, Filter())
    assert (found.energy_kwh, found.energy_estimated) == (0.5, False)


def test_energy_without_a_counter_is_marked(cur: Cursor, ledger: Ledger) -> None:
    found = one_gpu(cur, ledger, active=60, power_w=300)
    assert (found.energy_kwh, found.energy_estimated) == (0.3, True)


def test_effective_is_sm_activity_where_it_is_measured(cur: Cursor, ledger: Ledger) -> None:
    found = one_gpu(cur, ledger, active=60, sm_pct=34, util_pct=98, power_w=350)
    assert (found.effective_ratio, found.effective_source) == (0.34, "measured")
    assert found.effective_gpu_h == 0.34


def test_effective_from_power_learns_idle_power_per_gpu(cur: Cursor, ledger: Ledger) -> None:
    gpu = ledger.gpu(ledger.node())
    ledger.hour(gpu, ledger.run(), T0, active=60, util_pct=98, power_w=400)
    ledger.hour(gpu, ledger.run(start_ms=T0 + HOUR, end_ms=T0 + 2 * HOUR), T0 + HOUR, idle=60, util_pct=0, power_w=100)
    ledger.save(cur)
    found = hours(cur, ADMIN, Window(start_ms=T0, end_ms=T0 + 2 * HOUR), Filter())
    assert (found.effective_ratio, found.effective_source) == (0.25, "estimated")


def test_effective_is_unknown_where_idle_power_is(cur: Cursor, ledger: Ledger) -> None:
    found = one_gpu(cur, ledger, active=60, util_pct=98, power_w=400)
    assert (found.effective_ratio, found.effective_source) == (None, None)


def test_a_window_counts_only_the_overlap(cur: Cursor, ledger: Ledger) -> None:
    gpu = ledger.gpu(ledger.node())
    run = ledger.run(end_ms=T0 + 3 * HOUR)
    for hour in range(3):
        ledger.hour(gpu, run, T0 + hour * HOUR, active=60)
    ledger.save(cur)
    assert hours(cur, ADMIN, Window(start_ms=T0 + HOUR, end_ms=T0 + 2 * HOUR), Filter()).held_gpu_h == 1


def test_an_end_between_full_hours_is_completed_by_minutes(cur: Cursor, ledger: Ledger) -> None:
    gpu = ledger.gpu(ledger.node())
    run = ledger.run(end_ms=T0 + 2 * HOUR)
    for hour in range(2):
        ledger.hour(gpu, run, T0 + hour * HOUR, active=30, idle=30)
    ledger.save(cur)
    half = HOUR // 2
    found = hours(cur, ADMIN, Window(start_ms=T0 + half, end_ms=T0 + HOUR + half), Filter())
    assert (found.held_gpu_h, found.idle_gpu_h, found.active_gpu_h) == (1, 0.5, 0.5)
    assert (found.capacity_gpu_h, found.unallocated_gpu_h) == (1, 0)


def test_days_are_those_of_the_zone(cur: Cursor, ledger: Ledger) -> None:
    gpu = ledger.gpu(ledger.node())
    run = ledger.run(start_ms=T0 - 2 * HOUR, end_ms=T0 + HOUR)
    for hour in range(-2, 1):
        ledger.hour(gpu, run, T0 + hour * HOUR, active=60)
    ledger.save(cur)
    window = Window(start_ms=T0 - 25 * HOUR, end_ms=T0 + 2 * HOUR, zone="Europe/Berlin")
    rows = breakdown(cur, ADMIN, window, Filter(), "day")
    assert [(row.key, row.held_gpu_h) for row in rows] == [("2026-11-22", 1), ("2026-11-23", 2)]


def test_findings_are_counted_once_per_row(cur: Cursor, ledger: Ledger) -> None:
    node = ledger.node()
    run = ledger.run()
    for _ in range(2):
        ledger.hour(ledger.gpu(node), run, T0, idle=60)
    ledger.finding(run)
    ledger.finding(run, "idle_tail")
    ledger.save(cur)
    assert [row.findings for row in breakdown(cur, ADMIN, WEEK, Filter(), "node")] == [2]


@pytest.mark.parametrize(
    ("viewer", "held"),
    [
        (Viewer(), 3),
        (Viewer(kind="user", user="ann"), 1),
        (Viewer(kind="user", user=None), 0),
        (Viewer(kind="account", user="ann", accounts=("bio",)), 2),
        (Viewer(kind="account", user=None, accounts=()), 0),
        (Viewer(kind="account", user=None, accounts=("physics", "bio")), 3),
    ],
)
def test_a_viewer_counts_only_what_it_may_see(cur: Cursor, ledger: Ledger, viewer: Viewer, held: float) -> None:
    node = ledger.node()
    for user, account in (("ann", "physics"), ("bob", "physics"), ("bob", "bio")):
        ledger.hour(ledger.gpu(node), ledger.run(user_name=user, account=account), T0, active=60)
    ledger.save(cur)
    assert hours(cur, viewer, WEEK, Filter()).held_gpu_h == held
    assert sum(row.held_gpu_h for row in breakdown(cur, viewer, WEEK, Filter(), "user")) == held


def test_an_empty_store_has_no_hours_and_no_shares(cur: Cursor) -> None:
    found = hours(cur, ADMIN, WEEK, Filter())
    assert (found.held_gpu_h, found.capacity_gpu_h, found.coverage, found.effective_ratio) == (0, None, None, None)
    assert breakdown(cur, ADMIN, WEEK, Filter(), "day") == []
