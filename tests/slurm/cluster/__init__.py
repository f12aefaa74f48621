"""A real Slurm cluster with accounting and pretended GPUs on one machine, started and removed in seconds.

Every node is a slurmd in mount, UTS and PID namespaces of its own: own host name, /proc, /run and /dev with
/dev/nvidia0..N-1, all on loopback ports. Where namespaces cannot be made it is a plain `slurmd -N NODE`.
Needs root, and only the standard library. It signals only processes whose pid and start time it recorded,
and what is left in the control groups that Slurm made for its own nodes.
"""

import sys
import time

_BEGIN_S = time.monotonic()


class ClusterError(Exception):
    """The cluster cannot do what was asked; the message is for a person and says what to do next."""


def report(line: str) -> None:
    """Print a line of progress to standard error, with the seconds since the program began."""
    print(f"[{time.monotonic() - _BEGIN_S:7.2f}s] {line}", file=sys.stderr, flush=True)
