"""The same values to other stores by the same pattern: one request a node and minute where the store takes pushes.

VictoriaMetrics gets the rows of a node's segment as Influx lines, its cheapest text form with many metrics a line, in
one request. Prometheus takes no pushes of history: it scrapes a page a node as often as rows are taken, which is what
sites that have both run, and pays for each scrape what a request a minute saves.
"""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from benchmarks.load.nodes import Load, Nodes
from benchmarks.peers.child import installed
from benchmarks.peers.pages import Pages
from benchmarks.peers.prometheus import Prometheus, prometheus_version
from benchmarks.peers.series import Series, influx_lines
from benchmarks.peers.victoria import VictoriaMetrics, victoria_version
from store.catalog import BY_NAME
from store.columns import ARROW_TYPE
from store.segment import Segment


class Fed(msgspec.Struct, frozen=True, kw_only=True):
    """What another store took for rows of ``values`` each."""

    rows: int
    values: int
    cpu_s: float

    @property
    def us(self) -> float:
        """CPU of a row."""
        return 1e6 * self.cpu_s / self.rows

    def told(self) -> dict[str, Any]:
        """Return it as it is printed."""
        return {"rows": self.rows, "values_a_row": self.values, "cpu_us_per_row": round(self.us, 2)}


def compare(nodes: int, load: Load, scrapes: int) -> dict[str, Fed]:
    """Return by name and version what each store took that is installed, for a share of the nodes of a load."""
    few = Nodes(msgspec.structs.replace(load, nodes=min(nodes, load.nodes)))
    segments = [segment for _, segment in few.in_order()]
    found = {}
    if installed(VictoriaMetrics.program):
        found[f"victoria-metrics {victoria_version()}"] = _victoria(segments)
    if installed(Prometheus.program):
        found[f"prometheus {prometheus_version()}"] = _prometheus(segments, load, scrapes)
    return found


def _victoria(segments: Sequence[Segment]) -> Fed:
    requests = [b"\n".join(_lines(segment)) for segment in segments]
    rows = sum(segment.samples.rows for segment in segments)
    values = len(_metrics(segments[0]))
    with VictoriaMetrics() as store:
        before_s = store.cpu_s()
        for request in requests:
            store.write_influx(request)
        store.settle()  # ours has summed and sealed
        cpu_s = store.cpu_s() - before_s
        taken = store.samples()
    assert taken == rows * values, f"{rows} rows of {values} values were sent, {taken} came in"
    return Fed(rows=rows, values=values, cpu_s=cpu_s)


def _prometheus(segments: Sequence[Segment], load: Load, scrapes: int) -> Fed:
    """A page a node, which says something new at each scrape; what Prometheus adds to each is taken off the sum."""
    pages = {segment.node: itertools.cycle(_pages(segment)) for segment in segments}
    values = len(_metrics(segments[0]))
    with Pages(lambda path: next(pages[path.strip("/")])) as served:
        targets = {node: (served.address, f"/{node}") for node in pages}
        with Prometheus(targets, load.interval_s) as store:
            # The first time it makes the series, which later ones do not pay again.
            store.until(lambda: served.served >= len(pages) + 1, 60, "scrape every page")
            before_s, before = store.cpu_s(), served.served
            wanted = before + scrapes * len(pages)
            store.until(lambda: served.served >= wanted, 60 * scrapes, "scrape every page as often as asked")
            cpu_s, scraped = store.cpu_s() - before_s, served.served - before
    return Fed(rows=scraped * load.gpus, values=values, cpu_s=cpu_s)


def _metrics(segment: Segment) -> list[str]:
    return [name for name in segment.samples.columns if name in BY_NAME]


def _series(segment: Segment) -> Iterator[list[Series]]:
    """Yields the metrics of each GPU."""
    arrays = {name: _array(segment, name) for name in ("ts_ms", "device", *_metrics(segment))}
    for position, device in enumerate(segment.devices):
        mine = arrays["device"] == position
        yield [
            Series(
                metric=name,
                labels={"node": segment.node, "gpu": str(position), "uuid": device.uuid, "model": "A100"},
                ts_ms=arrays["ts_ms"][mine].astype("i8"),
                scaled=arrays[name][mine].astype("i8"),
                per_unit=BY_NAME[name].per_unit,
            )
            for name in _metrics(segment)
        ]


def _array(segment: Segment, name: str) -> npt.NDArray[Any]:
    column = segment.samples.columns[name]
    return np.frombuffer(column.data, ARROW_TYPE[column.dtype].to_pandas_dtype())


def _lines(segment: Segment) -> Iterator[bytes]:
    for series in _series(segment):
        yield influx_lines("gpu", series)


def _pages(segment: Segment) -> list[bytes]:
    """Return what a node's page says at each of its readings."""
    told: list[list[str]] = []
    for series in _series(segment):
        labels = ",".join(f'{name}="{value}"' for name, value in series[0].labels.items())
        for metric in series:
            for reading, value in enumerate(metric.numbers()):
                if reading == len(told):
                    told.append([])
                told[reading].append(f"gpu_{metric.metric}{{{labels}}} {value}\n")
    return ["".join(lines).encode() for lines in told]
