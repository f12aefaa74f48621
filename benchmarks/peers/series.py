"""Values on their way to another store: one metric of one GPU, in the text forms that stores take."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """Values of one metric of one GPU: ``scaled / per_unit`` at ``ts_ms``, both int64 arrays of the same length."""

    metric: str
    labels: Mapping[str, str]
    ts_ms: npt.NDArray[np.int64]
    scaled: npt.NDArray[np.int64]
    per_unit: int = 1

    def numbers(self) -> list[Any]:
        """Returns natural values whose shortest decimal is exactly the scaled integer's."""
        return self.scaled.tolist() if self.per_unit == 1 else (self.scaled / self.per_unit).tolist()


def json_lines(series: Iterable[Series]) -> bytes:
    """Returns the lines of /api/v1/import: one series each, with its values and times in two lists."""
    lines = []
    for each in series:
        metric = {"__name__": each.metric, **each.labels}
        line = {"metric": metric, "values": each.numbers(), "timestamps": each.ts_ms.tolist()}
        lines.append(json.dumps(line, separators=(",", ":")))
    return "\n".join(lines).encode()


def influx_lines(measurement: str, series: Sequence[Series]) -> bytes:
    """Returns a line a time of series that have the same labels and times, each metric being a field."""
    tags = "".join(f",{name}={value}" for name, value in series[0].labels.items())
    names = [each.metric for each in series]
    columns = [each.numbers() for each in series]
    lines = []
    for ts_ms, *values in zip(series[0].ts_ms.tolist(), *columns, strict=True):
        fields = ",".join(f"{name}={value}" for name, value in zip(names, values, strict=True))
        lines.append(f"{measurement}{tags} {fields} {ts_ms}000000")
    return "\n".join(lines).encode()


def open_metrics(series: Iterable[Series]) -> Iterator[str]:
    """Yields the text of an OpenMetrics file; series of one metric must follow each other."""
    family = None
    for each in series:
        if each.metric != family:
            family = each.metric
            yield f"# TYPE {family} gauge\n"
        labels = ",".join(f'{name}="{value}"' for name, value in each.labels.items())
        head = f"{family}{{{labels}}}"
        pairs = zip(each.numbers(), each.ts_ms.tolist(), strict=True)
        yield "".join([f"{head} {value} {ts_ms / 1000}\n" for value, ts_ms in pairs])
    yield "# EOF\n"
