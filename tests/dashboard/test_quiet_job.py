"""What a Job page says where nothing was found."""

import pytest

from store.database import Cursor
from tests.dashboard.pages import Pages
from tests.factories.footprints import footprint_run
from tests.factories.ledger import HOUR, MINUTE, T0, Ledger

EARLY = (
    "Too early to say: GPUs of a running job are called idle once they did nothing for 1 h, here from Mon 23 Nov 01:00 "
    "on; the rest is judged when it is over."
)


@pytest.mark.parametrize(
    ("minutes", "running", "sentence"),
    [
        (9, True, EARLY),
        (59, True, EARLY),
        (9, False, "Too short to say: a job is judged from 15 min on."),
        (59, False, "Nothing found: no rule in force speaks of what its GPUs did."),
    ],
)
def test_it_is_said_that_it_is_too_early(
    pages: Pages, ledger: Ledger, cur: Cursor, minutes: int, running: bool, sentence: str
) -> None:
    gpu = ledger.gpu(ledger.node("n1", first_ms=T0, last_ms=T0 + minutes * MINUTE))
    run = ledger.run("4711", start_ms=T0, end_ms=None if running else T0 + minutes * MINUTE)
    ledger.hold(run, gpu)
    ledger.hour(gpu, run, T0, idle=minutes)
    footprint_run(ledger, run, end_ms=T0 + minutes * MINUTE, finished=not running, judged=True)
    ledger.save(cur)
    assert sentence in str(pages.get("/jobs/4711"))


@pytest.mark.parametrize(
    ("busy", "gpus", "said"),
    [
        (1, 4, "of the measured time; only 1 of the 4 was ever busy."),
        (2, 4, "of the measured time; only 2 of the 4 were ever busy."),
        (4, 4, "of the measured time."),
        (0, 4, "of the measured time, and none of them was ever busy."),
        (0, 1, "of the measured time, and it was never busy."),
    ],
)
def test_how_many_of_its_gpus_were_busy(
    pages: Pages, ledger: Ledger, cur: Cursor, busy: int, gpus: int, said: str
) -> None:
    node = ledger.node("n1", first_ms=T0, last_ms=T0 + HOUR)
    run = ledger.run("4711", start_ms=T0, end_ms=T0 + HOUR, alloc_gpus=gpus)
    for number in range(gpus):
        gpu = ledger.gpu(node)
        ledger.hold(run, gpu)
        used = {"active": 60} if number < busy else {"idle": 60}
        ledger.hour(gpu, run, T0, **used)
    footprint_run(ledger, run, end_ms=T0 + HOUR, finished=True, judged=True, gpus_active=busy)
    ledger.save(cur)
    assert said in str(pages.get("/jobs/4711"))
