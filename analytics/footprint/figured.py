"""All figures of a chunk of runs: its raw rows, batch by batch, and what is left of them."""

from typing import Final

import numpy as np
import pyarrow as pa

from analytics.footprint.figures import Figures, figures
from analytics.footprint.gaps import gaps
from analytics.footprint.groups import Ints
from analytics.footprint.holds import Holds, batches
from analytics.footprint.hollow import hollow
from analytics.footprint.peak import peaks, used_windows
from analytics.footprint.pieces import Pieces
from analytics.footprint.rows import read
from analytics.footprint.stretches import make_blocks, stretches
from analytics.footprint.together import idle_spans, idle_together
from analytics.settings import FootprintSettings
from store.columns import MAX_SPAN_MS
from store.database import Cursor
from store.samples import samples
from store.settings import StateSettings

_NONE: Final = np.empty(0, np.int64)


class _Kept:
    """What GPUs of one run, maybe of several batches, have to be laid over each other for."""

    def __init__(self) -> None:
        self._used: list[tuple[Ints, ...]] = [(_NONE, _NONE)]
        self._idle: list[tuple[Ints, ...]] = [(_NONE, _NONE, _NONE)]

    def add(self, used: tuple[Ints, ...], idle: tuple[Ints, ...]) -> None:
        self._used.append(used)
        self._idle.append(idle)

    def of_runs(self, holds: Holds) -> pa.Table:
        """Returns run_key, gpus_peak (NULL: none was used) and idle_together_ms."""
        used_run, window = map(np.concatenate, zip(*self._used, strict=True))
        idle_run, from_ms, to_ms = map(np.concatenate, zip(*self._idle, strict=True))
        gpus = np.zeros(len(holds.run_keys), np.int64)
        gpus[holds.run] = holds.gpus
        most = peaks(used_run, window, len(gpus))
        return pa.table(
            {
                "run_key": pa.array(holds.run_keys),
                "gpus_peak": pa.array(most, mask=most == 0),
                "idle_together_ms": pa.array(idle_together(idle_run, from_ms, to_ms, gpus)),
            }
        )


def figured(cur: Cursor, holds: Holds, settings: FootprintSettings, states: StateSettings) -> tuple[pa.Table, pa.Table]:
    """Returns the figures of each hold, by its ``number``, and those of runs that need all their GPUs."""
    found: list[pa.Table] = []
    kept = _Kept()
    from_ms, to_ms = (int(holds.start_ms.min()), int(holds.end_ms.max())) if len(holds) else (0, 0)
    with samples(cur, from_ms, to_ms + MAX_SPAN_MS):
        for batch in batches(holds, settings.rows_at_once):
            pieces = Pieces(read(cur, batch, states), batch, settings, states)
            blocks = make_blocks(pieces, settings)
            kept.add(used_windows(pieces, blocks, settings), idle_spans(pieces, blocks))
            of_batch: Figures = {
                "number": pa.array(np.arange(batch.first, batch.first + len(batch), dtype=np.int32)),
                **figures(pieces),
                **stretches(pieces, blocks, settings),
                **gaps(pieces, settings),
                **hollow(pieces, settings),
            }
            found.append(pa.table(of_batch))
    return pa.concat_tables(found), kept.of_runs(holds)
