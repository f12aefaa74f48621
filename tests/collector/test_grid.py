from itertools import pairwise

import pytest

from collector.grid import Grid


def beats(grid, start_s, count, busy_s=0.0):
    now_s, found = start_s, []
    for _ in range(count):
        beat = grid.next(now_s)
        now_s += beat.wait_s
        found.append((now_s, beat.reads))
        now_s += busy_s
    return found


def test_a_row_every_interval_and_a_look_every_second():
    found = beats(Grid(10.0, "n1"), 1000.37, 60)
    reads = [at for at, reads in found if reads]
    assert len(reads) == 6
    assert [b - a for a, b in pairwise(reads)] == pytest.approx([10.0] * 5)
    assert found[-1][0] - found[0][0] == pytest.approx(59)


def test_nothing_adds_up_over_a_day():
    found = beats(Grid(10.0, "n1"), 0.0, 86_400, busy_s=0.0123)
    reads = [at for at, reads in found if reads]
    assert len(reads) == 8640
    assert (reads[-1] - reads[0]) % 10 == pytest.approx(0, abs=1e-3)


def test_nodes_are_shifted_by_their_name():
    firsts = {round(next(at for at, reads in beats(Grid(10.0, f"n{k}"), 0.0, 30) if reads) % 10, 3) for k in range(20)}
    assert len(firsts) > 15


def test_a_row_missed_while_busy_is_made_up_for():
    grid = Grid(10.0, "n1")
    first = next(at for at, reads in beats(grid, 0.0, 30) if reads)
    grid = Grid(10.0, "n1")
    beats(grid, first - 0.5, 1)
    late = grid.next(first + 13.4)
    assert late.reads


@pytest.mark.parametrize("interval_s", [0.5, 1.0, 2.5, 30.0])
def test_other_intervals(interval_s):
    found = beats(Grid(interval_s, "n1"), 7.7, 400)
    reads = [at for at, reads in found if reads]
    assert [b - a for a, b in pairwise(reads)] == pytest.approx([interval_s] * (len(reads) - 1))
