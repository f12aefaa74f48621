"""Requests as the lines of a job script."""

import math
from typing import Self

import msgspec


class GpuRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes and GPUs on each; ``per_node`` None where they do not spread evenly."""

    nodes: int
    gpus: int

    @property
    def per_node(self) -> int | None:
        """GPUs on every node, where they are equally many."""
        return self.gpus // self.nodes if self.gpus % self.nodes == 0 else None

    def shrunk(self, needed: int) -> Self:
        """Returns the smallest request of at least ``needed`` GPUs with no more GPUs on a node than now."""
        if needed == 0:
            return type(self)(nodes=1, gpus=0)
        widest = math.ceil(self.gpus / self.nodes)
        nodes = math.ceil(needed / widest)
        return type(self)(nodes=nodes, gpus=nodes * math.ceil(needed / nodes))

    def lines(self) -> tuple[str, ...]:
        """Returns what stands in the job script; nothing where no GPU is asked for."""
        if self.gpus == 0:
            return ()
        if self.nodes == 1:
            return (f"#SBATCH --gres=gpu:{self.gpus}",)
        if self.per_node is None:
            return (f"#SBATCH --nodes={self.nodes}", f"#SBATCH --gpus={self.gpus}")
        return (f"#SBATCH --nodes={self.nodes}", f"#SBATCH --gres=gpu:{self.per_node}")


def time_line(limit_ms: int | None) -> str:
    """Returns the line for a time limit, None being no limit."""
    if limit_ms is None:
        return "#SBATCH --time=UNLIMITED"
    minutes, seconds = divmod(round(limit_ms / 1000), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return f"#SBATCH --time={f'{days}-' if days else ''}{hours:02d}:{minutes:02d}:{seconds:02d}"
