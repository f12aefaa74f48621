"""Slurm's count of an account's day beside ours, and the sentence where they differ."""

from typing import Any

import pytest

from analytics.queries.slurm_usage import AccountDay, slurm_usage
from store.database import Cursor
from tests.factories.ledger import DAY, HOUR, T0, Ledger

END = T0 + 2 * DAY


def one_run(ledger: Ledger, **more: Any) -> int:
    """Two GPUs for two hours, as accounting and the nodes have it."""
    run = ledger.run(end_ms=T0 + 2 * HOUR, **({"alloc_gpus": 2, "db_index": 7} | more))
    node = ledger.node()
    for gpu in (ledger.gpu(node), ledger.gpu(node)):
        for hour in range(2):
            ledger.hour(gpu, run, T0 + hour * HOUR, active=60)
    return run


def sreport(ledger: Ledger, gpu_h: float) -> None:
    ledger.put("slurm_usage", cluster="c1", account="physics", day_ms=T0, gpu_s=round(gpu_h * 3600), at_ms=END)


def only(cur: Cursor, ledger: Ledger, from_ms: int = T0) -> AccountDay:
    ledger.save(cur)
    (found,) = slurm_usage(cur, from_ms, END)
    return found


def test_counts_that_agree_need_no_word(cur: Cursor, ledger: Ledger) -> None:
    one_run(ledger)
    sreport(ledger, 4)
    found = only(cur, ledger)
    assert (found.account, found.day_ms) == ("physics", T0)
    assert (found.slurm_gpu_h, found.sreport_gpu_h, found.our_gpu_h, found.agrees, found.why) == (4, 4, 4, True, "")


def test_where_sreport_has_nothing_accounting_is_compared(cur: Cursor, ledger: Ledger) -> None:
    one_run(ledger)
    found = only(cur, ledger)
    assert (found.sreport_gpu_h, found.slurm_gpu_h, found.agrees) == (None, 4, True)


@pytest.mark.parametrize(
    ("more", "told", "from_ms", "words"),
    [
        ({}, 4.0, T0 + HOUR, "day's edge"),
        ({"db_index": None}, None, T0, "not told of yet"),
        ({}, 1.0, T0, "not rolled all of the day up"),
        ({"alloc_gpus": 8}, None, T0, "Not explained"),
    ],
)
def test_a_difference_is_explained(
    cur: Cursor, ledger: Ledger, more: dict[str, Any], told: float | None, from_ms: int, words: str
) -> None:
    one_run(ledger, **more)
    if told is not None:
        sreport(ledger, told * (2 if from_ms > T0 else 1))
    found = only(cur, ledger, from_ms)
    assert not found.agrees
    assert words in found.why


def test_suspended_time_is_a_reason(cur: Cursor, ledger: Ledger) -> None:
    run = one_run(ledger, elapsed_ms=2 * HOUR)
    gpu = ledger.gpu(ledger.node())
    ledger.tables["gpu_hour"].append(
        {**ledger.tables["gpu_hour"][0], "gpu_key": gpu, "run_key": run, "hour_ms": T0 + 5 * HOUR, "suspended_ms": HOUR}
        | dict.fromkeys(("held_ms", "covered_ms", "active_ms", "rows"), 0)
    )
    sreport(ledger, 5)
    assert "were suspended" in only(cur, ledger).why


def test_a_run_over_midnight_is_cut_there(cur: Cursor, ledger: Ledger) -> None:
    run = ledger.run(start_ms=T0 + DAY - HOUR, end_ms=T0 + DAY + HOUR, alloc_gpus=1, db_index=9)
    gpu = ledger.gpu(ledger.node())
    for hour in (23, 24):
        ledger.hour(gpu, run, T0 + hour * HOUR, active=60)
    ledger.save(cur)
    found = slurm_usage(cur, T0, END)
    assert [(each.day_ms, each.slurm_gpu_h, each.our_gpu_h) for each in found] == [(T0 + DAY, 1, 1), (T0, 1, 1)]
