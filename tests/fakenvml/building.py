"""Compiles the stand-in library with gcc against NVIDIA's own nvml.h, once per state of its sources."""

import fcntl
import hashlib
import re
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

FOLDER = Path(__file__).parent
BUILD_FOLDER = FOLDER / "build"
# The SONAME that pynvml asks the loader for; a library of that name already loaded wins over any on disk.
SONAME = "libnvidia-ml.so.1"

_FLAGS = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Wno-missing-field-initializers", "-Wno-attribute-alias"]
_FLAGS += ["-fPIC"]
_DECLARATION = re.compile(r"\bDECLDIR\s+(nvml\w+)\s*\(")


def obstacle() -> str | None:
    """Return what keeps the library from being compiled here, with the next step; None when nothing does."""
    if shutil.which("gcc") is None:
        return "gcc is not installed: run `make test INSTALL=1` as root, or `apt-get install gcc libc6-dev`."
    if _header() is None:
        return "nvml.h is not installed: run `make test`, or `pip install nvidia-nvml-dev`."
    return None


def build() -> Path:
    """Return the library's path, compiling it first when a source, the header or a flag has changed.

    Safe to call from several processes at once: a file lock lets one compile and the others wait.
    Raises RuntimeError, with the next step, when the compiler or the header is missing.
    """
    header = _header()
    if header is None or obstacle():
        raise RuntimeError(obstacle())
    sources = sorted((FOLDER / "src").glob("*.[ch]"))
    wanted = _digest([*sources, header, Path(__file__)])
    library, stamp = BUILD_FOLDER / SONAME, BUILD_FOLDER / "digest"
    BUILD_FOLDER.mkdir(exist_ok=True)
    with (BUILD_FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if library.exists() and stamp.exists() and stamp.read_text() == wanted:
            return library
        _compile(sources, header, library)
        stamp.write_text(wanted)
    return library


def _header() -> Path | None:
    package = find_spec("nvidia.cu13") if find_spec("nvidia") else None
    folders = package.submodule_search_locations if package else None
    headers = (Path(folder) / "include" / "nvml.h" for folder in folders or ())
    return next((header for header in headers if header.exists()), None)


def _digest(files: list[Path]) -> str:
    total = hashlib.sha256()
    for file in files:
        total.update(file.read_bytes())
    return total.hexdigest()


def _compile(sources: list[Path], header: Path, library: Path) -> None:
    """Compile the model, then a stub for each function of the header that the model does not define.

    A real driver's library exports every function of its header too; the stubs answer NOT_SUPPORTED.
    """
    objects = []
    for source in (s for s in sources if s.suffix == ".c"):
        objects.append(BUILD_FOLDER / f"{source.stem}.o")
        _gcc(header, "-fvisibility=hidden", "-c", str(source), "-o", str(objects[-1]))
    symbols = subprocess.run(["nm", "--defined-only", *map(str, objects)], capture_output=True, text=True, check=True)
    modelled = set(re.findall(r" T (nvml\w+)", symbols.stdout))
    declared = set(_DECLARATION.findall(header.read_text(encoding="utf-8", errors="replace")))
    stubs = BUILD_FOLDER / "stubs.c"
    stubs.write_text("int fakenvml_stub(const char *, void **);\n" + "".join(map(_stub, sorted(declared - modelled))))
    # Renamed into place: a process that has the old library mapped keeps it whole.
    fresh = library.with_suffix(".new")
    _gcc(header, "-w", "-shared", f"-Wl,-soname,{SONAME}", *map(str, objects), str(stubs), "-o", str(fresh), "-lm")
    fresh.replace(library)


def _stub(function: str) -> str:
    return f'int {function}(void) {{ static void *s; return fakenvml_stub("{function}", &s); }}\n'


def _gcc(header: Path, *arguments: str) -> None:
    command = ["gcc", *_FLAGS, f"-I{header.parent}", *arguments, "-lpthread"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"The stand-in library does not compile:\n{done.stderr}")
