"""What a call of the stand-in library costs without Python."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tests.fakenvml.building import build

C_CALLS: Final = 100_000
C_LOOP: Final = """
#include <nvml.h>
#include <stdio.h>
#include <time.h>
int main(void) {
    nvmlDevice_t d; unsigned w; struct timespec a, b;
    if (nvmlInit_v2() || nvmlDeviceGetHandleByIndex_v2(0, &d)) return 1;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
    for (int i = 0; i < CALLS; i++) nvmlDeviceGetPowerUsage(d, &w);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
    printf("%.4f\\n", ((b.tv_sec - a.tv_sec) * 1e6 + (b.tv_nsec - a.tv_nsec) / 1e3) / CALLS);
    return 0;
}
"""


def us_a_call(folder: Path, environment: Mapping[str, str]) -> float:
    """Return what one call costs without Python, in microseconds."""
    library = build()
    source, program = folder / "loop.c", folder / "loop"
    source.write_text(C_LOOP, encoding="utf-8")
    header = next(path for path in sys.path if (Path(path) / "nvidia").is_dir())
    includes = sorted({str(found.parent) for found in Path(header, "nvidia").rglob("nvml.h")})
    options = [f"-I{each}" for each in includes] + [f"-DCALLS={C_CALLS}", str(source), str(library), "-o", str(program)]
    subprocess.run(["gcc", "-O2", *options], check=True)
    return float(subprocess.run([program], env=environment, capture_output=True, check=True).stdout)
