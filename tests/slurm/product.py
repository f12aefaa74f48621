"""The product on a cluster, as a site installs it: hooks on the node, the daemon inside it, a hub beside it."""

import json
import re
import shutil
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.slurm.running import SlurmCluster

REPOSITORY = Path(__file__).parents[2]
_PROGRAM = [sys.executable, "-c", "import sys; from gpuledger.cli import main; main(sys.argv[1:])"]
_LISTENS = re.compile(r"listens on (http://\S+),")
_START_S = 60


def toml(sections: Mapping[str, Mapping[str, object]]) -> str:
    """Return a configuration file; TOML's strings, numbers, booleans and lists are JSON's."""
    lines: list[str] = []
    for name, keys in sections.items():
        lines += [f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in keys.items()), ""]
    return "\n".join(lines)


@contextmanager
def hooks_installed(cluster: SlurmCluster, but_on: str = "") -> Iterator[None]:
    """Put our Prolog and Epilog where slurm.conf looks for them, and take them out again; but_on one node not."""
    placed = []
    for name, folder in (("prolog", cluster.prolog_folder), ("epilog", cluster.epilog_folder)):
        placed.append(Path(shutil.copy(REPOSITORY / "deploy" / "hooks" / name, folder / "50-gpuledger")))
        first, rest = placed[-1].read_text().split("\n", 1)
        placed[-1].write_text(f'{first}\n[ "$SLURMD_NODENAME" = "{but_on}" ] && exit 0\n{rest}')
    try:
        yield
    finally:
        for path in placed:
            path.unlink()


class Hub:
    """`gpuledger serve` on a free port; ends with `stop`."""

    def __init__(self, folder: Path, sections: Mapping[str, Mapping[str, object]]) -> None:
        self.data = folder / "data"
        self.config = folder / "hub.toml"
        given: dict[str, Mapping[str, object]] = {**sections, "hub": {"data": str(self.data), "port": 0}}
        self.config.write_text(toml(given), encoding="utf-8")
        self.token = self.command("token", "add", "node").strip()
        self.log = folder / "hub.log"
        self.start()
        # Should it be started again, then where nodes look for it.
        given["hub"] = {"data": str(self.data), "port": int(self.address.rpartition(":")[2])}
        self.config.write_text(toml(given), encoding="utf-8")

    def start(self) -> None:
        """Start it, and wait until it listens."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*_PROGRAM, "serve", "--config", str(self.config)], cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=log
            )
        self._stuck = threading.Timer(_START_S, self._process.kill)
        self._stuck.start()
        assert self._process.stdout is not None
        first = self._process.stdout.readline().decode()
        self._stuck.cancel()
        found = _LISTENS.search(first)
        if found is None:
            self.stop()
            raise RuntimeError(f"the hub did not start: {first}{self.log.read_text()}")
        self.address = found.group(1)

    def stop(self) -> None:
        """Ask it to end, and wait until it has."""
        self._process.terminate()
        self._process.communicate(timeout=60)

    def get(self, path: str) -> Any:
        """Return the answer of GET /api/v1/PATH."""
        with urllib.request.urlopen(f"{self.address}/api/v1/{path}", timeout=30) as answer:
            return json.load(answer)

    def command(self, *arguments: str) -> str:
        """Run a command of the product on this hub's data and return what it printed."""
        done = subprocess.run(
            [*_PROGRAM, *arguments, "--config", str(self.config)],
            cwd=REPOSITORY,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


class Daemon:
    """`gpuledger collect` inside a node; ends with `stop`."""

    def __init__(
        self, cluster: SlurmCluster, node: str, folder: Path, keys: Mapping[str, object], env: Mapping[str, str]
    ) -> None:
        config = folder / f"{node}.toml"
        config.write_text(toml({"collector": {"spool_dir": str(folder / "spool"), **keys}}), encoding="utf-8")
        self.log = folder / f"{node}.log"
        self._process = cluster.run_in_node(
            node, [*_PROGRAM, "collect", "--config", str(config)], {"PYTHONPATH": str(REPOSITORY), **env}, self.log
        )

    def stop(self) -> int:
        """Ask it to end and return its exit status; what it gathered has been flushed then."""
        self._process.terminate()
        return self._process.wait(timeout=60)


def once(cluster: SlurmCluster, node: str, folder: Path, env: Mapping[str, str], **keys: object) -> dict[str, Any]:
    """Return what `gpuledger collect --once` finds inside a node."""
    config, output = folder / "once.toml", folder / "once.json"
    config.write_text(toml({"collector": {"slurm": "yes", **keys}}), encoding="utf-8")
    output.unlink(missing_ok=True)
    words = [*_PROGRAM, "collect", "--once", "--json", "--config", str(config)]
    status = cluster.run_in_node(node, words, {"PYTHONPATH": str(REPOSITORY), **env}, output).wait(timeout=60)
    assert status == 0, output.read_text()
    found: dict[str, Any] = json.loads(output.read_text())
    return found
