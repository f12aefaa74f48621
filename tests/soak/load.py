"""Segments of known content, and nodes that deliver them out of order, late and more than once."""

import http.client
import threading
from collections.abc import Iterator
from random import Random
from typing import Final

import numpy as np
import numpy.typing as npt

from store.catalog import BY_NAME, STRUCTURE
from store.segment import Column, Device, Holding, Segment, Table, encode, segment_name
from tests.store.building import MINUTE, gpu, hold, told

NODES: Final = 4
GPUS: Final = 4
HELD: Final = 2
"""GPUs that the day's job holds; the others are free. Accounting counts one more, which no node shows."""
STEPS: Final = 10
ROWS: Final = STEPS * GPUS
SPAN_MS: Final = STEPS * MINUTE
A_DAY: Final = 24 * 60 * MINUTE // SPAN_MS
FROM_MS: Final = 1_704_067_200_000
"""Mon 1 Jan 2024, 00:00 UTC: two years and more in the past of any clock."""
SENDERS: Final = 3


def node_of(number: int) -> int:
    """Return the node of a segment: their segments take turns."""
    return number % NODES


def slot_of(number: int) -> int:
    """Return which stretch of SPAN_MS since FROM_MS a segment covers."""
    return number // NODES


def name_of(number: int) -> str:
    """Return a segment's name."""
    return segment_name(f"n{node_of(number)}", "b0", slot_of(number))


def utilization(number: int) -> int:
    """Return what all rows of a segment read, in thousandths: enough to tell it from the others."""
    return number * 7919 % 1000


def _column(name: str, values: npt.NDArray[np.int64]) -> Column:
    dtype = STRUCTURE[name] if name in STRUCTURE else BY_NAME[name].dtype
    return Column(dtype, values.astype(f"<{dtype}").tobytes())


def _bits(valid: npt.NDArray[np.bool_]) -> bytes:
    return np.packbits(valid, bitorder="little").tobytes()


def build(number: int) -> Segment:
    """Return segment ``number`` of the endless sequence."""
    node, slot = node_of(number), slot_of(number)
    first_ms = FROM_MS + slot * SPAN_MS
    day, of_day = divmod(slot, A_DAY)
    ends = np.repeat(first_ms + MINUTE * np.arange(1, STEPS + 1), GPUS)
    devices = np.tile(np.arange(GPUS), STEPS)
    day_ms = FROM_MS + day * A_DAY * SPAN_MS
    end_ms = day_ms + A_DAY * SPAN_MS if of_day == A_DAY - 1 else None
    job_id = f"{1 + NODES * day + node}"
    job: Holding = hold(job_id, day_ms, end_ms, range(HELD))
    accounted = [told(job_id, day_ms, end_ms, alloc_gpus=HELD + 1, nodes=(f"n{node}",))] if end_ms else []
    columns = {
        "ts_ms": ends,
        "span_ms": np.full(ROWS, MINUTE),
        "device": devices,
        "util_pct": np.full(ROWS, utilization(number)),
        "power_w": number % 50_000 + devices,
    }
    held = Column(STRUCTURE["holding"], bytes(ROWS * int(STRUCTURE["holding"][1])), _bits(devices < HELD))
    owned: list[Device] = [gpu(f"GPU-{node}-{index}", index=index) for index in range(GPUS)]
    return Segment(
        node=f"n{node}", boot_id="b0", seq=slot, cluster="c1", agent="0.1.0", interval_ms=MINUTE, slurm=True,
        first_ms=first_ms, last_ms=int(ends[-1]), written_ms=int(ends[-1]),
        devices=tuple(owned), holdings=(job,), accounting=tuple(accounted),
        samples=Table(ROWS, {"holding": held} | {name: _column(name, values) for name, values in columns.items()}),
    )  # fmt: skip


class Nodes:
    """Several nodes, each of which sends again what was not acknowledged, and sometimes what was.

    ``acknowledged`` are the numbers of segments that the hub said it has. ``in_doubt`` were sent and not answered: they
    may be there or not, once at most.
    """

    def __init__(self) -> None:
        """Begin with segment 0."""
        self.acknowledged: set[int] = set()
        self.in_doubt: set[int] = set()
        self.delivered = 0
        self.repeated = 0
        self.late = 0
        self._next = 0
        self._held_back: list[int] = []
        self._guard = threading.Lock()

    def send_until_it_ends(self, port: int, token: str, random: Random) -> None:
        """Send from several threads until the hub is gone."""
        seeds = [random.random() for _ in range(SENDERS)]
        threads = [threading.Thread(target=self._send, args=(port, token, Random(seed))) for seed in seeds]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _send(self, port: int, token: str, random: Random) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        headers = {"Authorization": f"Bearer {token}"}
        try:
            for number in self._chosen(random):
                connection.request("POST", "/api/v1/segments", encode(build(number)), headers)
                answer = connection.getresponse()
                said = answer.read()
                assert answer.status == 200, said
                with self._guard:
                    self.delivered += 1
                    self.repeated += number in self.acknowledged
                    self.acknowledged.add(number)
                    self.in_doubt.discard(number)
        except (OSError, http.client.HTTPException):
            pass  # the hub is gone
        finally:
            connection.close()

    def _chosen(self, random: Random) -> Iterator[int]:
        while True:
            with self._guard:
                number = self._choose(random)
                if number not in self.acknowledged:
                    self.in_doubt.add(number)
            yield number

    def _choose(self, random: Random) -> int:
        fortune = random.random()
        if fortune < 0.1 and self.in_doubt:
            return random.choice(sorted(self.in_doubt))
        if fortune < 0.2 and self._next:
            return random.randrange(max(0, self._next - 4 * A_DAY), self._next)  # most of them are there already
        if fortune < 0.25 and self._held_back:
            self.late += 1
            # One of the oldest: in the end none is older than the raw rows that are kept.
            return self._held_back.pop(random.randrange(min(20, len(self._held_back))))
        while fortune > 0.95:
            self._held_back.append(self._next)
            self._next += 1
            fortune = random.random()
        self._next += 1
        return self._next - 1
