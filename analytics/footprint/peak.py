"""How many GPUs a run really used at once."""

from typing import Final

import numpy as np

from analytics.footprint.groups import Ints, firsts
from analytics.footprint.pieces import Pieces
from analytics.footprint.stretches import Blocks
from analytics.settings import FootprintSettings

# Windows of 5 minutes that begin every 2.5: each busy piece counts in the two windows that hold it. Blips are no use.
WINDOW_STEP_MS: Final = 150_000


def used_windows(pieces: Pieces, blocks: Blocks, settings: FootprintSettings) -> tuple[Ints, Ints]:
    """Returns the run and the window, both as numbers, of each GPU and window in which it was busy for long enough."""
    busy = blocks.pieces[~blocks.blip[blocks.of_piece]]
    busy = busy[pieces.busy_ms[busy] > 0]
    number, step = pieces.number[busy], pieces.from_ms[busy] // WINDOW_STEP_MS
    starts = firsts(number, step)
    if not len(starts):
        return starts, starts
    ms = np.add.reduceat(pieces.busy_ms[busy], starts)
    number, step = number[starts], step[starts]
    follows = np.zeros(len(starts), np.bool_)
    follows[1:] = (number[1:] == number[:-1]) & (step[1:] == step[:-1] + 1)
    # A window is two steps. That of the step before is known from that step, unless it had no busy time.
    both = ms.copy()
    both[:-1] += np.where(follows[1:], ms[1:], 0)
    least_ms = round(settings.peak_busy_s * 1000)
    own, before = both >= least_ms, (ms >= least_ms) & ~follows
    run = pieces.holds.run[np.concatenate([number[own], number[before]])]
    return run, np.concatenate([step[own], step[before] - 1])


def peaks(run: Ints, window: Ints, runs: int) -> Ints:
    """Returns the most GPUs that each of ``runs`` runs used in one window, 0 where it used none."""
    most = np.zeros(runs, np.int64)
    if len(window):
        first = window.min()
        width = int(window.max() - first) + 1
        key, gpus = np.unique(run * width + (window - first), return_counts=True)
        np.maximum.at(most, key // width, gpus)
    return most
