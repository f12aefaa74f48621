"""Idle stretches of each GPU: activity and idleness in turn (blocks), and what stretches they make.

A gap in the readings ends a stretch, and so does a pause. One short activity that stands alone (a blip) neither ends
one nor counts as use.
"""

import msgspec
import numpy as np

from analytics.footprint.figures import Figures, array
from analytics.footprint.groups import Bools, Groups, Ints, firsts
from analytics.footprint.pieces import Pieces
from analytics.footprint.rows import LOW, UNKNOWN
from analytics.settings import FootprintSettings


class Blocks(msgspec.Struct, frozen=True, kw_only=True):
    """Stretches of time in which a GPU was busy, or idle, without a gap; by hold and time.

    ``used``: busy and no blip. ``of_piece`` is the block of each known piece, ``pieces`` where these lie.
    """

    number: Ints
    from_ms: Ints
    to_ms: Ints
    since_ms: Ints
    used: Bools
    blip: Bools
    pieces: Ints
    of_piece: Ints


def make_blocks(pieces: Pieces, settings: FootprintSettings) -> Blocks:
    """Returns the blocks of a batch; what is not known belongs to none."""
    known = np.flatnonzero(pieces.state > UNKNOWN)
    number, busy = pieces.number[known], pieces.state[known] >= LOW
    from_ms, to_ms, since_ms = pieces.from_ms[known], pieces.to_ms[known], pieces.since_ms[known]
    starts = firsts(number, busy, since_ms, after_gaps(from_ms, to_ms, settings.gap_s))
    ends = np.append(starts[1:], len(known)) - 1 if len(starts) else starts
    lengths = np.diff(starts, append=len(known))
    busy_ms = np.add.reduceat(pieces.busy_ms[known], starts) if len(starts) else starts
    block = (number[starts], from_ms[starts], to_ms[ends])
    blip = _blips(*block, busy[starts], busy_ms, settings)
    return Blocks(
        number=block[0],
        from_ms=block[1],
        to_ms=block[2],
        since_ms=since_ms[starts],
        used=busy[starts] & ~blip,
        blip=blip,
        pieces=known,
        of_piece=np.repeat(np.arange(len(starts)), lengths),
    )


def stretches(pieces: Pieces, blocks: Blocks, settings: FootprintSettings) -> Figures:
    """Returns where each GPU was first and last used, and its idle stretches; NULL where nothing is known of it."""
    holds, gap_ms = pieces.holds, round(settings.gap_s * 1000)
    groups = Groups(blocks.number, len(holds))
    known = groups.sizes_of_all() > 0
    starts = firsts(
        blocks.number, blocks.used, blocks.since_ms, after_gaps(blocks.from_ms, blocks.to_ms, settings.gap_s)
    )
    ends = np.append(starts[1:], len(blocks.number)) - 1 if len(starts) else starts
    idle = ~blocks.used[starts]
    of_hold = Groups(blocks.number[starts], len(holds))
    from_ms, to_ms = blocks.from_ms[starts], blocks.to_ms[ends]
    length_ms = np.where(idle, to_ms - from_ms, 0)
    first, last = of_hold.starts, of_hold.starts + of_hold.sizes - 1
    known_from_ms, known_to_ms = groups.spread(from_ms[first]), groups.spread(to_ms[last])
    leads = groups.spread(idle[first], empty=False) & (known_from_ms <= holds.start_ms + gap_ms)
    trails = groups.spread(idle[last], empty=False) & (~holds.finished | (known_to_ms >= holds.end_ms - gap_ms))
    used = Groups(blocks.number[blocks.used], len(holds))
    was_used = used.sizes_of_all() > 0
    longest = idle & (length_ms >= round(settings.stretch_s * 1000))
    return {
        "first_active_ms": array(used.least(blocks.from_ms[blocks.used]), was_used),
        "last_active_ms": array(used.most(blocks.to_ms[blocks.used]), was_used),
        # where the stretch that reaches the start ends, and where the one that reaches the end began
        "leading_to_ms": array(groups.spread(to_ms[first]), leads),
        "trailing_from_ms": array(groups.spread(from_ms[last]), trails),
        "known_to_ms": array(known_to_ms, known),
        "longest_idle_ms": array(of_hold.most(length_ms), known),
        "idle_stretches": array(of_hold.sum(longest), known),
    }


def after_gaps(from_ms: Ints, to_ms: Ints, gap_s: float) -> Ints:
    """Returns a number that grows with each gap, so that it differs where one lies between."""
    after = np.zeros(len(from_ms), np.int64)
    after[1:] = from_ms[1:] - to_ms[:-1] > round(gap_s * 1000)
    return np.cumsum(after)


def _blips(number: Ints, from_ms: Ints, to_ms: Ints, busy: Bools, busy_ms: Ints, settings: FootprintSettings) -> Bools:
    """Activity that is short and far from any other of the same GPU."""
    at = np.flatnonzero(busy)
    same = number[at][1:] == number[at][:-1]
    near = same & (from_ms[at][1:] - to_ms[at][:-1] <= round(settings.blip_alone_s * 1000))
    alone = np.ones(len(at), np.bool_)
    alone[1:] &= ~near
    alone[:-1] &= ~near
    blip = np.zeros(len(number), np.bool_)
    blip[at] = alone & (busy_ms[at] < round(settings.blip_s * 1000))
    return blip
