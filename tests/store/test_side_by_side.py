"""Those who write and those who read do not wait for each other."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from store.database import Database
from store.ingest import ingest
from store.rollup import roll_up
from store.samples import MAX_TIME_MS, samples
from store.seal import seal
from store.settings import StoreSettings
from tests.store.building import HOUR, MINUTE, NOW, T0, names_of, packed, segment, steady

WAIT_S = 60.0
AT_ONCE = StoreSettings(seal_after_s=0)
ENOUGH = 6
READERS = 4


def an_hour(number: int) -> list[tuple[str, bytes]]:
    from_ms = T0 + number * HOUR
    return packed(segment(steady(from_ms, from_ms + HOUR, step_ms=MINUTE), seq=number))


def within_time(work: Callable[[], object]) -> None:
    """Runs it in a thread of its own; fails where it does not come to an end."""
    pool = ThreadPoolExecutor(1)
    try:
        pool.submit(work).result(WAIT_S)
    finally:
        pool.shutdown(wait=False)


def test_a_long_read_holds_up_no_commit(database: Database) -> None:
    ingest(database, an_hour(0), NOW)
    with database.cursor() as reading, samples(reading, 0, MAX_TIME_MS):
        batches = reading.batches("SELECT * FROM samples", None, 10)
        assert next(batches).num_rows == 10

        def work() -> None:
            for number in range(1, 5):
                ingest(database, an_hour(number), NOW)
            while roll_up(database):
                pass
            seal(database, AT_ONCE, NOW)

        within_time(work)
        assert sum(batch.num_rows for batch in batches) == 50  # as it was when the read began
    with database.cursor() as cursor:
        assert cursor.scalar("SELECT count(*) FROM gpu_hour") == 5


def test_a_long_transaction_holds_up_no_read(database: Database) -> None:
    ingest(database, an_hour(0), NOW)
    with database.cursor() as writing, writing.transaction():
        writing.execute("DELETE FROM hot")

        def read() -> None:
            with database.request() as cursor, samples(cursor, 0, MAX_TIME_MS):
                assert cursor.scalar("SELECT count(*) FROM samples") == 60

        within_time(read)


def test_both_go_on_at_load(database: Database) -> None:
    """Until the last of them has done enough, nobody stops."""
    done = [0] * (READERS + 1)
    ended = threading.Event()

    def count(place: int, work: Callable[[], object]) -> None:
        while not ended.is_set():
            work()
            done[place] += 1

    def write() -> None:
        ingest(database, an_hour(done[READERS]), NOW)
        roll_up(database)
        seal(database, AT_ONCE, NOW)

    def read() -> None:
        with database.request() as cursor, samples(cursor, 0, MAX_TIME_MS):
            assert cursor.scalar("SELECT count(*) FROM samples") == 60 * len(names_of(cursor))

    works = [(place, read) for place in range(READERS)] + [(READERS, write)]
    threads = [threading.Thread(target=count, args=each, daemon=True) for each in works]

    def enough() -> None:
        while min(done) < ENOUGH and all(thread.is_alive() for thread in threads):
            ended.wait(0.01)

    for thread in threads:
        thread.start()
    within_time(enough)
    ended.set()
    for thread in threads:
        thread.join(WAIT_S)
    assert min(done) >= ENOUGH
