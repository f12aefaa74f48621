"""The common time grid of a run's measurements: every GPU's values on it as one table, and what is said of them."""

import dataclasses
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from analytics.queries.series import GpuSeries, Series
from analytics.wording import UNKNOWN, local
from dashboard.figures import wall

Values = npt.NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class Grid:
    """Buckets of equal width from ``first_ms`` on. ``x`` is how Plotly is told about them."""

    first_ms: int
    step_ms: int
    count: int
    x: dict[str, Any]

    @classmethod
    def of(cls, series: Series, zone: str) -> Self:
        """Returns the grid that holds every bucket of every GPU."""
        starts = [gpu.at_ms[0] for gpu in series.gpus if gpu.at_ms]
        ends = [gpu.at_ms[-1] for gpu in series.gpus if gpu.at_ms]
        first, step = min(starts, default=0), series.resolution_ms
        count = (max(ends) - first) // step + 1 if ends else 0
        # A start and a step is all that Plotly needs, and a tenth of the bytes. Not across a clock change: there the
        # wall clock does not go in equal steps.
        if count and local(first, zone).utcoffset() == local(first + count * step, zone).utcoffset():
            return cls(first, step, count, {"x0": wall(first, zone), "dx": step})
        return cls(first, step, count, {"x": [wall(first + index * step, zone) for index in range(count)]})

    def table(self, gpus: Sequence[GpuSeries], metric: str) -> Values:
        """Returns one row a GPU and one column a bucket; NaN where there is no reading."""
        rows = np.full((len(gpus), self.count), np.nan)
        for row, gpu in zip(rows, gpus, strict=True):
            if gpu.at_ms:
                begin = (gpu.at_ms[0] - self.first_ms) // self.step_ms
                row[begin : begin + len(gpu.at_ms)] = np.array(gpu.values[metric], dtype=np.float64)
        return rows

    def mean(self, table: Values) -> Values:
        """Returns the mean over GPUs for each bucket, NaN where none has a reading."""
        return _quiet(lambda: np.nanmean(table, axis=0))

    def means(self, table: Values) -> Values:
        """Returns the mean over time for each GPU; one without readings counts as highest, it is not the one to see."""
        return np.nan_to_num(_quiet(lambda: np.nanmean(table, axis=1)), nan=np.inf)

    def percentiles(self, table: Values, which: tuple[int, ...]) -> list[Values]:
        """Returns percentiles over GPUs for each bucket."""
        return list(_quiet(lambda: np.nanpercentile(table, which, axis=0)))

    def said(
        self, middle: Values, table: Values, names: Sequence[str], form: Callable[[float | None], str]
    ) -> list[str]:
        """Returns for each bucket the middle and, where there are several GPUs, the lowest with its name."""
        if len(names) == 1:
            return [UNKNOWN if np.isnan(one) else form(float(one)) for one in middle]
        where = np.argmin(np.nan_to_num(table, nan=np.inf), axis=0)
        lowest = table[where, np.arange(self.count)]
        return [
            UNKNOWN if np.isnan(low) else f"{form(float(one))} (lowest {form(float(low))}, {names[gpu]})"
            for one, low, gpu in zip(middle, lowest, where, strict=True)
        ]


def numbers(values: Values) -> list[float | None]:
    """Returns values as Plotly takes them: three digits are finer than any line, and a gap is None."""
    rounded = np.round(values, 2).astype(object)
    rounded[np.isnan(values)] = None
    found: list[float | None] = rounded.tolist()
    return found


def _quiet(work: Callable[[], Values]) -> Values:
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", RuntimeWarning
        )  # numpy warns where a bucket holds no reading; NaN is the answer
        return work()
