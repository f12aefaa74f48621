"""Raw rows are not removed before an hour counts them: from then on it never would be computed anew."""

from store.database import Database
from store.ingest import ingest
from store.manifest import DAY_MS
from store.retention import retain
from store.rollup import roll_up
from store.seal import seal
from store.settings import StoreSettings
from tests.store.building import HOUR, MINUTE, NOW, T0, gpu, hours, packed, segment, steady
from tests.store.test_seal import AT_ONCE, fill

TEN_DAYS = StoreSettings(raw_days=10)
LATE_MS = T0 + DAY_MS + 5 * HOUR


def test_raw_rows_stay_until_their_hours_count_them(database: Database) -> None:
    for seq, day in enumerate((0, 1, 20)):
        fill(database, from_ms=T0 + day * DAY_MS, seq=seq)
    seal(database, AT_ONCE, NOW)
    devices = [gpu("n1-0"), gpu("n1-1")]
    ingest(database, packed(segment(steady(LATE_MS, LATE_MS + HOUR, 1, None, MINUTE), seq=7, devices=devices)), NOW)
    now_ms = T0 + 21 * DAY_MS
    assert retain(database, TEN_DAYS, now_ms) == 360  # the day before goes
    assert retain(database, TEN_DAYS, now_ms) == 0
    while roll_up(database):
        pass
    assert retain(database, TEN_DAYS, now_ms) == 360 + 60
    assert sum(each["rows"] for each in hours(database)) == 3 * 360 + 60
