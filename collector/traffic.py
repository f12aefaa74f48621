"""Bytes over PCIe and NVLink: all counters of a device in one call, as whole MiB of each row.

PCIe: fields 197 and 198. "Value can be wrapped" (nvml.h), and drivers have been seen to hand out 32 bits, which a link
of 64 GB/s goes through in 67 ms: such a counter says nothing over a row. Never nvmlDeviceGetPcieThroughput, which
measures for 20 ms inside the call.

NVLink: fields 138 and 139 with the scope "all links", in KiB; from NVLink 5 on fields 202 and 204 of each link, in
bytes.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from collector.counters import Counter
from collector.fields import Answer, Field, FieldBuffer
from collector.readings import Moment, Reason

ALL_LINKS: Final = 0xFFFFFFFF
_LINKS: Final = range(18)  # NVML_NVLINK_MAX_LINKS
_KIB, _BYTES = 1 << 10, 1 << 20  # counts in a MiB
_UNKNOWN_PCIE_MIB_S: Final = 122_000  # generation 6, 16 lanes
_NVLINK_PER_S: Final = 1.8e12  # twice what one direction of NVLink 5 does on one GPU

Ask = Callable[[FieldBuffer], list[Answer | Reason] | Reason]
"""Fills a buffer and returns its answers; those that are of no use are reasons."""


class _Source(NamedTuple):
    """Fields whose sum is one metric; ``per_mib``: their counts in a MiB."""

    fields: tuple[Field, ...]
    per_mib: int


_SOURCES: Final[dict[str, tuple[_Source, ...]]] = {
    "pcie_tx_mib": (_Source((Field(197),), _BYTES),),
    "pcie_rx_mib": (_Source((Field(198),), _BYTES),),
    "nvlink_tx_mib": (
        _Source((Field(138, ALL_LINKS),), _KIB),
        _Source(tuple(Field(202, link) for link in _LINKS), _BYTES),
    ),
    "nvlink_rx_mib": (
        _Source((Field(139, ALL_LINKS),), _KIB),
        _Source(tuple(Field(204, link) for link in _LINKS), _BYTES),
    ),
}
METRICS: Final = tuple(_SOURCES)
PCIE: Final = ("pcie_tx_mib", "pcie_rx_mib")


class Traffic:
    """The counters of one device. What it does not offer is found out once and not asked for again."""

    def __init__(self, pcie_mib_s: int | None) -> None:
        """``pcie_mib_s``: what one direction of the device's link carries at most."""
        self._pcie_per_s = float(pcie_mib_s or _UNKNOWN_PCIE_MIB_S) * _BYTES
        self._sources: dict[str, _Source] | None = None  # those that the device offers; None: not asked yet
        self._counters: dict[str, Counter] = {}
        self._buffer = FieldBuffer(())
        self._wide: set[str] = set()

    def read(self, ask: Ask, moment: Moment) -> dict[str, int | Reason]:
        """Returns whole MiB since the last reading by metric, or why not; the first reading only primes."""
        if self._sources is None:
            refused = self._find_sources(ask)
            if refused is not None:
                return dict.fromkeys(_SOURCES, refused)
        sources = self._sources or {}
        values: dict[str, int | Reason] = dict.fromkeys(_SOURCES.keys() - sources.keys(), Reason.NOT_SUPPORTED)
        if not sources:
            return values
        answered = ask(self._buffer)
        if isinstance(answered, Reason):
            return values | dict.fromkeys(sources, answered)
        left = iter(answered)
        for metric, source in sources.items():
            found = self._amount(metric, source, [next(left) for _ in source.fields], moment)
            if found is not None:
                values[metric] = found
        return values

    def _find_sources(self, ask: Ask) -> Reason | None:
        """Keeps of every metric the first source that the device has fields of; returns why it could not be asked."""
        wanted = [field for sources in _SOURCES.values() for source in sources for field in source.fields]
        answered = ask(FieldBuffer(wanted))
        if isinstance(answered, Reason) and answered is not Reason.NOT_SUPPORTED:
            return answered
        offered: set[Field] = set()
        if not isinstance(answered, Reason):
            pairs = zip(wanted, answered, strict=True)
            offered = {field for field, answer in pairs if answer is not Reason.NOT_SUPPORTED}
        self._sources = {}
        for metric, sources in _SOURCES.items():
            for source in sources:
                if metric not in self._sources and (fields := tuple(f for f in source.fields if f in offered)):
                    self._sources[metric] = _Source(fields, source.per_mib)
                    self._counters[metric] = Counter(source.per_mib)
        self._buffer = FieldBuffer([field for source in self._sources.values() for field in source.fields])
        return None

    def _amount(
        self, metric: str, source: _Source, answers: list[Answer | Reason], moment: Moment
    ) -> int | Reason | None:
        counts: list[Answer] = []
        for answer in answers:
            if isinstance(answer, Reason):
                return answer
            counts.append(answer)
        count = int(sum(answer.value for answer in counts))
        bits = min(answer.bits for answer in counts)
        if metric not in PCIE:
            return self._counters[metric].amount(count, moment.steady_s, _NVLINK_PER_S * source.per_mib / _BYTES, bits)
        if count >= 1 << 32:
            self._wide.add(metric)
        # The type may be wider than what is counted in it: only a number beyond 32 bits shows that it is not.
        return self._counters[metric].amount(
            count, moment.steady_s, self._pcie_per_s, bits if metric in self._wide else 32
        )
