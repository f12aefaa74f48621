"""The compute processes on each GPU: how many, whose, what they are called and the memory they hold.

Names only, as in /proc/PID/comm: command lines may hold secrets and are not read.
"""

from pathlib import Path
from typing import Final

from collector.inventory import Inventory
from collector.probes import Context
from collector.readings import DriverLost, GpuProcess, Moment, Reason, Report, Values

MOST_NAME: Final = 64
"""Characters of a name. The kernel keeps 15 bytes of a program's; only its own threads have longer ones."""


class ProcessesProbe:
    """Asks the driver for the processes and /proc for their owners."""

    name = "processes"
    needs_driver = True
    every_s = 0.0

    def __init__(self, inventory: Inventory, proc: Path = Path("/proc")) -> None:
        self._inventory = inventory
        self._proc = proc

    def read(self, moment: Moment) -> Report:
        """Returns the processes by device, and the metric ``processes``."""
        processes: dict[int, tuple[GpuProcess, ...]] = {}
        values: dict[int, Values] = {}
        try:
            cut = {gpu.device.parent_uuid for gpu in self._inventory.gpus.values()}
            for position, gpu in self._inventory.gpus.items():
                if gpu.device.uuid in cut:
                    continue  # it lists what runs on its MIG instances, which say so themselves
                listed = gpu.processes()
                if isinstance(listed, Reason):
                    values[position] = {"processes": listed}
                    continue
                values[position] = {"processes": len(listed)}
                processes[position] = tuple(self._look_up(pid, used_mib) for pid, used_mib in listed)
        except DriverLost as error:
            self._inventory.driver_lost(str(error), moment)
        self._inventory.settle(moment)
        return Report(processes=processes, values=values, count=sum(map(len, processes.values())))

    def _look_up(self, pid: int, used_mib: int | None) -> GpuProcess:
        """Returns the process with its real user; the driver goes on to list processes that have just ended."""
        try:
            status = (self._proc / str(pid) / "status").read_bytes().decode(errors="replace")
        except OSError:
            return GpuProcess(pid, None, "", used_mib)
        # By line feeds alone, which the kernel escapes in a name: other ends of lines are the program's own choice.
        fields = dict(line.split(":\t", 1) for line in status.split("\n") if ":\t" in line)
        uid = fields.get("Uid", "").split("\t")[0]
        return GpuProcess(pid, int(uid) if uid.isdigit() else None, _shown(fields.get("Name", "")), used_mib)


def _shown(name: str) -> str:
    """Returns a name without what would control a terminal or turn the direction of text: programs choose it."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in name[:MOST_NAME])


def build(context: Context) -> ProcessesProbe:
    """Returns the probe for this node."""
    return ProcessesProbe(context.inventory)
