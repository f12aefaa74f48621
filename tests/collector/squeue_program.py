"""A program that answers as squeue does, with the bytes that the test writes; run as a process of its own."""

import json
import sys
from pathlib import Path

PROGRAM = """#!{python} -IS
import json, os, sys
from pathlib import Path
here = Path({folder!r})
with (here / "calls").open("a") as calls:
    calls.write(json.dumps([sys.argv[1:], dict(os.environ)]) + "\\n")
if (here / "trouble").exists():
    exec((here / "trouble").read_text())
sys.stdout.buffer.write((here / "answer").read_bytes())
"""


class SqueueProgram:
    """The program at ``path`` and its answer."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "squeue"
        self.path.write_text(PROGRAM.format(python=sys.executable, folder=str(folder)))
        self.path.chmod(0o755)
        self.answer(b'{"jobs":[]}')

    def answer(self, data: bytes) -> None:
        (self.folder / "answer").write_bytes(data)

    def trouble(self, code: str) -> None:
        """Lets every call run these lines of Python first; none when empty."""
        (self.folder / "trouble").write_text(code)

    def calls(self) -> list[tuple[list[str], dict[str, str]]]:
        """The arguments and the environment of every call so far."""
        file = self.folder / "calls"
        return [tuple(json.loads(line)) for line in file.read_text().splitlines()] if file.exists() else []
