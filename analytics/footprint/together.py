"""How long all GPUs of a run were idle at once.

The least idle GPU says too much of a run whose GPUs take turns: at any moment one of them works.
"""

import numpy as np

from analytics.footprint.groups import Ints
from analytics.footprint.pieces import Pieces
from analytics.footprint.stretches import Blocks


def idle_spans(pieces: Pieces, blocks: Blocks) -> tuple[Ints, Ints, Ints]:
    """Returns the run, as a number, the begin and the end of each idle block. A blip is no use here either."""
    idle = ~blocks.used
    return pieces.holds.run[blocks.number[idle]], blocks.from_ms[idle], blocks.to_ms[idle]


def idle_together(run: Ints, from_ms: Ints, to_ms: Ints, gpus: Ints) -> Ints:
    """Returns for each run, of ``gpus`` GPUs, the time in which as many idle spans lie over each other."""
    total = np.zeros(len(gpus), np.int64)
    if not len(run):
        return total
    base = int(from_ms.min())
    width = int(to_ms.max()) - base + 1
    # The lowest bit says whether a span ends here, so that sorting the moments sorts the ends along.
    edge = np.concatenate([(run * width + from_ms - base) * 2, (run * width + to_ms - base) * 2 + 1])
    edge.sort()
    idle = np.cumsum(1 - 2 * (edge & 1))  # every span that begins ends, so each run starts from 0
    moment, run = edge // 2 % width, edge // 2 // width
    all_idle = np.flatnonzero(idle == gpus[run])
    np.add.at(total, run[all_idle], moment[all_idle + 1] - moment[all_idle])
    return total
