"""A stand-in for the driver's library, for the real pynvml: a text file says what the GPUs are and do.

In one process, `Fake` loads the library before pynvml does and pynvml finds it by its SONAME; a child
process needs the variables of `child_env`. README.md lists the keys of the scenario file.
"""

import ctypes
import itertools
import os
from pathlib import Path

from tests.fakenvml.building import BUILD_FOLDER, build

__all__ = ["Fake", "build", "child_env", "write_scenario"]

_CALL_TABLE_BYTES = 1 << 16
_rewrites = itertools.count()


def write_scenario(path: Path, text: str) -> None:
    """Replace the whole scenario in one step; the next NVML call of any process that reads it sees it.

    The library notices a change by modification time, size and inode. A tail of varying length keeps two
    rewrites within one clock tick apart even where the inode number comes round again.
    """
    fresh = path.with_name(path.name + ".new")
    fresh.write_text(f"{text}\n#{'.' * (next(_rewrites) % 97)}\n", encoding="utf-8")
    fresh.replace(path)


def child_env(scenario_path: Path) -> dict[str, str]:
    """Variables to add to a child's environment so that its pynvml loads the stand-in with this scenario."""
    build()
    inherited = os.environ.get("LD_LIBRARY_PATH")
    folders = [str(BUILD_FOLDER), *([inherited] if inherited else [])]
    return {"LD_LIBRARY_PATH": ":".join(folders), "FAKENVML_SCENARIO": str(scenario_path)}


class Fake:
    """The stand-in library loaded into this process, and the scenario file that drives it.

    The library is one per process: a later `Fake` takes it over with its own scenario file.
    """

    def __init__(self, scenario_path: Path) -> None:
        """Load the library (built when needed) and start it on an empty scenario: eight idle H100."""
        self.scenario_path = scenario_path
        self.write("")
        self._library = ctypes.CDLL(str(build()))
        self._library.fakenvml_calls.restype = ctypes.c_ulong
        self._library.fakenvml_set_scenario(os.fsencode(scenario_path))

    def write(self, text: str) -> None:
        """Replace the scenario; the next NVML call sees all of it."""
        write_scenario(self.scenario_path, text)

    def calls(self, function: str | None = None) -> int:
        """Count the calls of one NVML function, or of all, since the last reset."""
        return int(self._library.fakenvml_calls(function.encode() if function else None))

    def called(self) -> dict[str, int]:
        """Return how often each NVML function was called since the last reset; those never called are absent."""
        table = ctypes.create_string_buffer(_CALL_TABLE_BYTES)
        self._library.fakenvml_dump_calls(table, _CALL_TABLE_BYTES)
        pairs = (line.split() for line in table.value.decode().splitlines())
        return {name: int(count) for name, count in pairs}

    def reset(self) -> None:
        """Set every call count back to zero."""
        self._library.fakenvml_reset_calls()
