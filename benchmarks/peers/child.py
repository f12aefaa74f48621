"""A program that a benchmark starts, asks over HTTP on loopback, and ends."""

import contextlib
import http.client
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Self

READY_S: Final = 30.0
_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")


class Peer:
    """One running store. Subclasses say which program it is, how it is called and what path tells that it is ready.

    Raises PeerMissing where the program is not installed, PeerFailed where it does not answer or refuses.
    """

    program: str
    package: str
    ready: str

    def __enter__(self) -> Self:
        if not installed(self.program):
            raise PeerMissing(self.program, self.package)
        self.folder = Path(tempfile.mkdtemp(prefix=f"gpuledger-{Path(self.program).name}-"))
        self._log = (self.folder / "log").open("wb")
        self.port = free_port()
        self._connection: http.client.HTTPConnection | None = None
        self._process = subprocess.Popen(
            [self.program, *self.arguments()], stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log
        )
        try:
            self._await_ready()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._disconnect()
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
        self._log.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def arguments(self) -> Sequence[str]:
        """Returns the command line after the program's name; ``port`` and ``folder`` are known."""
        raise NotImplementedError

    def cpu_s(self) -> float:
        """Returns the CPU time that the process has taken, user and system."""
        text = Path(f"/proc/{self._process.pid}/stat").read_text(encoding="ascii")
        fields = text.rpartition(")")[2].split()  # the name before it may hold spaces
        return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S

    def rss_mib(self) -> float:
        """Returns the memory that the process holds."""
        pages = Path(f"/proc/{self._process.pid}/statm").read_text(encoding="ascii").split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE") / 2**20

    def ask(self, path: str, body: bytes | None = None) -> bytes:
        """Returns the answer to a GET, or to a POST of ``body``; the connection is kept for the next."""
        if self._connection is None:
            self._connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        self._connection.request("GET" if body is None else "POST", path, body)
        response = self._connection.getresponse()
        answer = response.read()
        if response.status >= 300:
            raise PeerFailed(f"{self.program} answered {path} with {response.status}: {answer[:300]!r}")
        return answer

    def counter(self, name: str) -> float:
        """Returns a figure of the program's own /metrics, summed over its labels; 0 where it has none."""
        found = 0.0
        for line in self.ask("/metrics").decode().splitlines():
            if line.startswith((f"{name} ", f"{name}{{")):
                found += float(line.rpartition(" ")[2])
        return found

    def until(self, done: Callable[[], bool], seconds: float, what: str) -> None:
        """Asks ``done()`` until it is true; raises PeerFailed where it is not by then."""
        deadline = time.monotonic() + seconds
        while not done():
            if time.monotonic() > deadline:
                raise PeerFailed(f"{self.program} did not {what} within {seconds:.0f} s.")
            time.sleep(0.05)

    def _disconnect(self) -> None:
        if self._connection:
            self._connection.close()
        self._connection = None

    def _await_ready(self) -> None:
        def answers() -> bool:
            if self._process.poll() is not None:
                text = (self.folder / "log").read_text(encoding="utf-8", errors="replace")
                raise PeerFailed(f"{self.program} ended at once: {text[-500:]}")
            with contextlib.suppress(OSError, http.client.HTTPException, PeerFailed):
                self.ask(self.ready)
                return True
            self._disconnect()
            return False

        self.until(answers, READY_S, "answer")


class PeerMissing(Exception):
    """The program is not on this machine."""

    def __init__(self, program: str, package: str) -> None:
        super().__init__(f"{program} is not installed; on Debian: apt-get install {package}")


class PeerFailed(Exception):
    """The program does not answer, or refused."""


def installed(program: str) -> bool:
    """Returns whether the program can be started."""
    return shutil.which(program) is not None


def version(package: str) -> str:
    """Returns the version of Debian's package, which not every program knows; "unknown" where it came otherwise."""
    if not shutil.which("dpkg-query"):
        return "unknown"
    command = ["dpkg-query", "--show", "--showformat=${Version}", package]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def size(folder: Path) -> int:
    """Returns the bytes of all files below a folder, each as long as it is."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def free_port() -> int:
    """Returns a port of loopback that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
