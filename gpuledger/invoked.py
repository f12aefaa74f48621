"""How this program is called here, so that every command it prints can be copied. Needs no hub's packages."""

import shutil
import sys
from pathlib import Path


def program() -> str:
    """What a shell here calls this program by: its name where the PATH has it, else as it was called, as in a clone."""
    called = Path(sys.argv[0])
    return "gpuledger" if called.name != "gpuledger" or shutil.which("gpuledger") else str(called)


def callable_here(text: str) -> str:
    """Returns a sentence with its commands as they are called here: sentences name them `gpuledger ...`."""
    return text.replace("`gpuledger ", f"`{program()} ")
