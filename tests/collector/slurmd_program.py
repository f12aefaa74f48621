"""A node's slurmd for tests: its entry in a /proc of their own, and a program that answers `slurmd -G`."""

import os
import shlex
from pathlib import Path

from collector.gpu_list import Where

BTIME_S = 1_700_000_000
RECORD = "slurmd: Gres Name=gpu Type=a100 Count={count} Index=0 ID=7696487 File={files} (null)\n"


class Slurmd:
    """`begin` starts it; what it says about GPUs is set with `says`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.proc = folder / "proc"
        self.proc.mkdir(parents=True)
        (self.proc / "stat").write_text(f"cpu 1 2 3\nbtime {BTIME_S}\n")
        self.config = folder / "slurm.conf"
        self.config.write_text("ClusterName=c\n")
        os.utime(self.config, (BTIME_S, BTIME_S))
        self.program = folder / "slurmd"
        self.program.write_text(f'#!/bin/sh\necho "$*" >> {folder}/calls\ncat {folder}/answer >&2\n')
        self.program.chmod(0o755)
        self.says(("/dev/nvidia[0-3]", 4))

    @property
    def where(self) -> Where:
        return Where("n1", str(self.program), str(self.config), self.proc)

    @property
    def calls(self) -> list[str]:
        """The arguments of each call of the program."""
        path = self.folder / "calls"
        return path.read_text().splitlines() if path.exists() else []

    def says(self, *files: tuple[str, int]) -> None:
        """Sets what `slurmd -G` prints: device files and how many they are."""
        self.prints("".join(RECORD.format(files=name, count=count) for name, count in files))

    def prints(self, text: str) -> None:
        (self.folder / "answer").write_text(text)

    def fails(self, sentence: str) -> None:
        """Lets `slurmd -G` end in trouble."""
        self.program.write_text(f"#!/bin/sh\necho {shlex.quote(sentence)} >&2\nexit 1\n")

    def begin(self, pid: int, at_s: float, *arguments: str) -> None:
        """Makes a slurmd appear that began ``at_s`` seconds after the kernel."""
        self.process(pid, "slurmd", ["slurmd", "-D", *arguments], at_s)

    def end(self, pid: int) -> None:
        for file in (self.proc / str(pid)).iterdir():
            file.unlink()
        (self.proc / str(pid)).rmdir()

    def process(self, pid: int, name: str, words: list[str], at_s: float) -> None:
        folder = self.proc / str(pid)
        folder.mkdir()
        (folder / "comm").write_text(name + "\n")
        (folder / "cmdline").write_text("\0".join(words) + "\0")
        fields = ["S", *["0"] * 18, str(round(at_s * 100)), "0"]
        (folder / "stat").write_text(f"{pid} ({name}) {' '.join(fields)}\n")
