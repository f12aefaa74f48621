"""Files by which sites already tell which job holds a GPU, one file a GPU, written by their own Prolog.

Jobstats (Princeton): ``/run/gpustat/1`` holds "JOBID UID". DCGM exporter's job mapping: a file ``1`` holds job ids, one
a line; ``1.0`` is an instance of GPU 1 by DCGM's own count, which nothing here can follow. Both are called after what
Slurm gave the Prolog: a place in its list of the node's GPUs, or a UUID.
"""

import re
from typing import Final

import msgspec

LARGEST_BYTES: Final = 4096
_GPU: Final = re.compile(r"[0-9]{1,4}|(?:GPU|MIG)-[A-Za-z0-9-]{1,64}")
_JOB: Final = re.compile(r"[1-9][0-9]{0,9}")
_UID: Final = re.compile(r"[0-9]{1,10}")


class GpuFile(msgspec.Struct, frozen=True):
    """The jobs of one GPU; ``gpu`` as Slurm calls it."""

    gpu: str
    job_ids: tuple[str, ...]
    uid: int | None = None


class BadGpuFile(ValueError):
    """A file that says nothing about a GPU; the message says why, in a few words."""


def jobstats(name: str, data: bytes) -> GpuFile:
    """Returns what a file of jobstats says; raises BadGpuFile. An empty one: nobody's."""
    words = _text(name, data).split()
    if not words:
        return GpuFile(name, ())
    job_id, uid = words[0], words[1] if len(words) > 1 else ""
    if len(words) > 2 or not _JOB.fullmatch(job_id) or not (uid == "" or _UID.fullmatch(uid)):
        raise BadGpuFile("it does not hold a job id and a user's number")
    return GpuFile(name, (job_id,), int(uid) if uid else None)


def dcgm_mapping(name: str, data: bytes) -> GpuFile:
    """Returns what a file of DCGM exporter's job mapping says; raises BadGpuFile. An empty one: nobody's."""
    job_ids = tuple(dict.fromkeys(_text(name, data).split()))
    if not all(_JOB.fullmatch(job_id) for job_id in job_ids):
        raise BadGpuFile("it does not hold job ids")
    return GpuFile(name, job_ids)


def _text(name: str, data: bytes) -> str:
    if not _GPU.fullmatch(name):
        raise BadGpuFile("its name is no GPU of Slurm's")
    if len(data) > LARGEST_BYTES:
        raise BadGpuFile(f"it has {len(data)} bytes or more")
    return data.decode(errors="replace")
