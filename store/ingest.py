"""Segments into the database: one transaction a batch, idempotent by segment name."""

import logging
from collections.abc import Sequence
from typing import Final

import msgspec

from store import (
    arrivals,
    attendants,
    claims,
    columns,
    demand,
    dirty,
    drivers,
    hosts,
    inventory,
    orders,
    processes,
    quarantine,
    runtables,
    samples,
    sequences,
    twins,
)
from store.database import Cursor, Database
from store.errors import StoreError, Unstorable
from store.parsed import Parsed, parse
from store.places import keep_gpus, keep_nodes
from store.possible import CLOCK_UNSET_MS, MAX_AHEAD_MS
from store.runbook import Entry, RunBook, final
from store.segment import Holding

log = logging.getLogger(__name__)

TOO_LATE: Final = "segment refused: it is older than the raw rows that are kept (store.raw_days)"


class IngestResult(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a batch."""

    rows: int = 0
    segments: int = 0
    duplicates: int = 0
    quarantined: int = 0

    def __add__(self, other: "IngestResult") -> "IngestResult":
        both = (self, other)
        return IngestResult(**{name: sum(getattr(each, name) for each in both) for name in self.__struct_fields__})


def ingest(database: Database, batch: Sequence[tuple[str, bytes]], received_ms: int) -> IngestResult:
    """Stores a batch of (name, bytes) as the inbox gives them; all of it or nothing.

    What is no readable segment goes to quarantine with its reason and the rest goes on. Segments that are stored
    already are passed over, so a batch may be given again after any failure.

    Raises:
        StoreError: nothing of the batch was stored; also where the clock here is so far back that segments of right
            clocks would be refused as written in the future.
    """
    _refuse_own_clock(database, received_ms)
    try:
        parsed, refused = parse(batch, received_ms, synthetic=database.synthetic)
        return _store_batch(database, parsed, refused, received_ms)
    except Exception as error:
        if isinstance(error, StoreError) and not isinstance(error, Unstorable):
            raise  # the store's own trouble
        if len(batch) > 1:  # one segment spoils the batch: half by half, the others go on
            half = len(batch) // 2
            return ingest(database, batch[:half], received_ms) + ingest(database, batch[half:], received_ms)
        if not batch or isinstance(error, MemoryError):
            raise
        [(name, data)] = batch
        log.warning("segment=%s set aside", name, exc_info=error)
        reason = f"segment refused: a value in it cannot be stored ({str(error).partition(chr(10))[0]})"
        return _store_batch(database, [], [quarantine.Refusal(name, data, reason)], received_ms)


def _refuse_own_clock(database: Database, received_ms: int) -> None:
    """A machine that starts before its clock is set would otherwise put aside whatever comes in."""
    with database.cursor() as cursor:
        behind_ms = max(dirty.as_of_ms(cursor), CLOCK_UNSET_MS) - received_ms
    if behind_ms > MAX_AHEAD_MS:
        raise StoreError(
            f"The clock of this machine is {behind_ms // 60_000} minutes behind the newest data; set it by NTP, "
            "segments wait meanwhile."
        )


def _store_batch(
    database: Database, parsed: Sequence[Parsed], refused: Sequence[quarantine.Refusal], received_ms: int
) -> IngestResult:
    with database.cursor() as cursor, cursor.transaction():
        kept_ms = samples.kept_from_ms(cursor)
        known = sequences.load(cursor, [item.segment for item in parsed])
        fresh = [item for item in parsed if item.last_ms > kept_ms and known.add(item.segment, item.last_ms)]
        late = [quarantine.Refusal(item.segment.name, None, TOO_LATE) for item in parsed if item.last_ms <= kept_ms]
        partly = [quarantine.Refusal(item.segment.name, None, reason) for item in fresh for reason in item.passed_over]
        quarantine.keep(cursor, [*refused, *partly, *late], received_ms)
        if fresh:
            known.write(cursor, _store(cursor, fresh, received_ms))
            arrivals.keep(cursor, fresh, received_ms)
    return IngestResult(
        rows=sum(item.rows.count for item in fresh),
        segments=len(fresh),
        duplicates=len(parsed) - len(fresh) - len(late),
        quarantined=len(refused) + len(late),
    )


def _store(cursor: Cursor, items: Sequence[Parsed], received_ms: int) -> dict[str, int]:
    """Stores what segments hold; returns node_key by name."""
    cursor.execute("SELECT nextval('generations')")
    before_ms = dirty.as_of_ms(cursor)
    seen = [(item.segment, item.last_ms) for item in items]
    known, gpus = keep_nodes(cursor, seen, received_ms), keep_gpus(cursor, seen)
    nodes = known.keys
    drivers.keep(cursor, [item.segment for item in items], nodes)
    places = [(nodes[item.segment.node], [gpus.keys[device.uuid] for device in item.segment.devices]) for item in items]
    attendants.keep(cursor, [(item.segment, *place) for item, place in zip(items, places, strict=True)])
    demand.keep(cursor, [(item.segment, node_key) for item, (node_key, _) in zip(items, places, strict=True)])
    book = _book(cursor, items, nodes)
    entries = _observe(book, items, places)
    for item in items:
        for row in item.accounting:
            book.describe(row, item.segment.written_ms)
    _listen(cursor, book, items)
    book.settle(_reached(cursor, book.session_nodes()), demand.whole_polls(cursor))
    changed = runtables.write(cursor, book)
    attendants.keep_disputes(
        cursor, [(*place, e.run.polled_ms, e.run.job_id) for e in book.touched() for place in sorted(e.disputes)]
    )
    _insert_rows(cursor, items, places, entries, twins.suspects(gpus.before, places))
    _keep_of_runs(cursor, items, places, entries)
    touched = [
        (nodes[item.segment.node], *_touched(stretch, known.reached_ms.get(item.segment.node, 0)))
        for item in items
        for stretch in item.rows.stretches
    ]
    as_of_ms = dirty.as_of_ms(cursor)
    told = inventory.keep(cursor, [item.segment for item in items], as_of_ms)
    dirty.mark_rows(cursor, [*touched, *told, *inventory.of_new_gpus(cursor, gpus, as_of_ms)])
    shown = [
        (final(held[position]).run.run_key, item.first_ms)
        for item, held in zip(items, entries, strict=True)
        for position, _ in item.held
    ]
    came = [stretch for item in items for stretch in item.rows.stretches]
    claimed = claims.claim(cursor, came, book.touched(), as_of_ms)
    # What else changed of a run is told by its own times (mark_changes).
    from_ms = dict.fromkeys(changed, as_of_ms)
    for run_key, first_ms in [*shown, *((run_key, min(came)[0]) for run_key in claimed if came)]:
        from_ms[run_key] = min(first_ms, from_ms.get(run_key, first_ms))
    dirty.mark_runs(cursor, dict.fromkeys(claimed, as_of_ms) | from_ms)
    dirty.mark_described(cursor, book.touched(), as_of_ms)
    changes = [change for entry in (*book.touched(), *book.merged()) for change in entry.changes()]
    dirty.mark_changes(cursor, changes, before_ms, as_of_ms)
    return nodes


def _reached(cursor: Cursor, nodes: Sequence[int]) -> dict[int, int]:
    """Returns by node_key how far the data of nodes reaches."""
    if not nodes:
        return {}
    return dict(
        cursor.tuples("SELECT node_key, last_ms FROM node WHERE node_key IN (SELECT unnest($1::INTEGER[]))", [nodes])
    )


def _listen(cursor: Cursor, book: RunBook, items: Sequence[Parsed]) -> None:
    """Works in what polls of the queue list."""
    listed = [(run, poll.at_ms) for item in items for poll in item.segment.queue for run in poll.runs]
    known = orders.load(cursor, [place for run, _ in listed for place in run.places])
    for run, at_ms in listed:
        book.live(run, at_ms, known)


def _touched(stretch: tuple[int, int], reached_ms: int) -> tuple[int, int]:
    """Returns the time whose rollups rows of a stretch change; ``reached_ms``: how far the node's data went before."""
    start_ms, end_ms = stretch
    if start_ms < reached_ms:
        # A row that is there already may begin before the late ones and now covers less.
        start_ms -= columns.MAX_SPAN_MS
    return start_ms, end_ms


def _book(cursor: Cursor, items: Sequence[Parsed], nodes: dict[str, int]) -> RunBook:
    held = {(h.kind, h.cluster, h.job_id) for item in items for h in item.segment.holdings}
    told = {("job", row.cluster, row.job_id_raw) for item in items for row in item.accounting}
    polls = [poll for item in items for poll in item.segment.queue]
    listed = {("job", run.cluster, run.job_id_raw) for poll in polls for run in poll.runs}
    over = runtables.unlisted(cursor) if polls else []
    return runtables.load(cursor, held.union(told, listed, over, runtables.open_sessions(cursor, nodes.values())))


def _observe(book: RunBook, items: Sequence[Parsed], places: Sequence[tuple[int, list[int]]]) -> list[list[Entry]]:
    """Works in every holding and returns, for each segment, the entry of each of its holdings.

    A node lists a hold again in every segment while it lasts: those of one batch are worked in as one.
    """
    sights: dict[tuple[int, Holding], tuple[Holding, int, set[int]]] = {}
    keys: list[list[tuple[int, Holding]]] = []
    for item, (node_key, gpu_keys) in zip(items, places, strict=True):
        keys.append([])
        for position, holding in enumerate(item.segment.holdings):
            key = (node_key, msgspec.structs.replace(holding, end_ms=None, devices=()))
            keys[-1].append(key)
            devices = {*holding.devices, *(device for held, device in item.held if held == position)}
            _, seen_ms, found = sights.get(key, (holding, 0, set()))
            known = sights[key][0] if key in sights else holding
            if known.end_ms is None or (holding.end_ms or 0) > known.end_ms:
                known = holding
            sights[key] = (known, max(seen_ms, item.last_ms), found | {gpu_keys[device] for device in devices})
    entries = {
        key: book.observe(holding, seen_ms, key[0], found)
        for key, (holding, seen_ms, found) in sorted(sights.items(), key=lambda sight: sight[1][0].start_ms)
    }
    return [[entries[key] for key in of_segment] for of_segment in keys]


def _insert_rows(
    cursor: Cursor,
    items: Sequence[Parsed],
    places: Sequence[tuple[int, list[int]]],
    entries: Sequence[Sequence[Entry]],
    suspects: Sequence[int],
) -> None:
    parts = [
        (
            item.rows,
            columns.Keys(
                node_key,
                gpu_keys,
                [device.baseline_mib for device in item.segment.devices],
                [final(entry).run.run_key for entry in held],
            ),
        )
        for item, (node_key, gpu_keys), held in zip(items, places, entries, strict=True)
        if item.rows.count
    ]
    if not parts:
        return
    with cursor.table("batch_rows", columns.table(parts)):
        cursor.execute("INSERT INTO hot BY NAME SELECT *, currval('generations') AS gen FROM batch_rows")
        if suspects:
            twins.tell(cursor, suspects)


def _keep_of_runs(
    cursor: Cursor,
    items: Sequence[Parsed],
    places: Sequence[tuple[int, list[int]]],
    entries: Sequence[Sequence[Entry]],
) -> None:
    """Stores the processes of runs, and what they did on the cores."""
    runs = [[final(entry).run.run_key for entry in held] for held in entries]
    placed = list(zip(items, places, runs, strict=True))
    processes.keep(cursor, [(item.segment, gpu_keys, run_keys) for item, (_, gpu_keys), run_keys in placed])
    hosts.keep(cursor, [(item.hosts, node_key, run_keys) for item, (node_key, _), run_keys in placed])
