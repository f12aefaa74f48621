"""How this program is called here, so that every command it prints can be copied. Needs no hub's packages."""

import re
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

_COMMAND: Final = re.compile(r"`gpuledger ([a-z-]+)([^`]*)`")
_PLACES: Final = ("--data", "--hub", "--config")
_ASKING: Final = frozenset(
    {"backup", "doctor", "explain", "export", "findings", "job", "jobs", "nodes", "note", "quarantine", "query"}
    | {"rebuild", "recommend", "report", "restore", "token"}
)


def program() -> str:
    """What a shell here calls this program by: its name where the PATH has it, else as it was called, as in a clone."""
    called = Path(sys.argv[0])
    return "gpuledger" if called.name != "gpuledger" or shutil.which("gpuledger") else str(called)


def callable_here(text: str, arguments: Sequence[str] = ()) -> str:
    """Returns a sentence with its commands as they are called here: sentences name them `gpuledger ...`.

    What ``arguments`` say of where to ask goes on to commands that ask, so that they find the same data when copied.
    """
    where = _where(arguments)

    def called(match: re.Match[str]) -> str:
        name, rest = match.groups()
        asks = name in _ASKING and not any(option in rest for option in (*_PLACES, "--help"))
        return f"`{program()} {name}{rest}{where if asks else ''}`"

    return _COMMAND.sub(called, text)


def _where(arguments: Sequence[str]) -> str:
    """Returns the options among the arguments that say where to ask, quoted, with a space before each."""
    given = ""
    for argument, following in zip(arguments, [*arguments, ""][1:], strict=True):
        option, equals, value = argument.partition("=")
        if option in _PLACES:
            given += f" {option} {shlex.quote(value if equals else following)}"
    return given
