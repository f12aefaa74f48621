"""Answers of ``squeue --json`` in the shapes of Slurm 22.05 and 24.11, made from what a test wants to say."""

import json
from typing import Any, Final

START_S: Final = 1_796_064_181

_NUMBERS: Final = (
    *("array_job_id", "array_task_id", "het_job_id", "het_job_offset", "node_count", "tasks", "time_limit"),
    *("suspend_time", "pre_sus_time", "submit_time", "start_time", "end_time", "priority"),
)
_ONE_GPU: Final = "cpu=8,mem=16G,node=1,billing=9,gres/gpu=1"

RUNNING: Final[dict[str, Any]] = {
    "account": "physics", "admin_comment": "", "array_job_id": 0, "array_task_id": None, "array_task_string": "",
    "cluster": "alpha", "flags": ["JOB_WAS_RUNNING"], "gres_detail": ["gpu:a100:1(IDX:2)"], "job_id": 27,
    "het_job_id": 0, "het_job_offset": 0, "job_resources": {"nodes": "n3", "allocated_cores": 8},
    "job_state": "RUNNING", "name": "train", "nodes": "n3", "node_count": 1, "tasks": 1, "partition": "gpu",
    "pre_sus_time": 0, "priority": 10_000, "qos": "normal", "restart_cnt": 0, "start_time": START_S,
    "state_reason": "None", "submit_time": START_S - 24, "suspend_time": 0, "time_limit": 60,
    "tres_req_str": _ONE_GPU, "tres_alloc_str": f"{_ONE_GPU},gres/gpu:a100=1", "tres_per_node": "gres:gpu:1",
    "tres_per_job": "", "tres_per_task": "", "user_id": 1001, "user_name": "alice", "nice": None,
}  # fmt: skip
PENDING: Final[dict[str, Any]] = {
    **RUNNING, "job_state": "PENDING", "state_reason": "Resources", "nodes": "", "gres_detail": [],
    "tres_alloc_str": "", "start_time": START_S + 3600,
}  # fmt: skip


def answer_2205(*jobs: dict[str, Any], errors: list[Any] | None = None) -> bytes:
    """Returns the answer as Slurm 22.05 writes it: bare numbers, null for none, a state as a word."""
    meta = {"plugin": {"type": "openapi/v0.0.38"}, "Slurm": {"version": {"major": 22, "micro": 8, "minor": 5}}}
    return _bytes({"meta": meta, "errors": errors or [], "jobs": list(jobs)})


def answer_2411(*jobs: dict[str, Any], errors: list[Any] | None = None) -> bytes:
    """Returns the answer as Slurm 24.11 writes it: numbers as objects, states as lists."""
    meta = {"slurm": {"version": {"major": "24", "micro": "5", "minor": "11"}, "cluster": "alpha"}}
    whole = {"jobs": [_newer(job) for job in jobs], "last_update": _number(START_S), "warnings": []}
    return _bytes({**whole, "meta": meta, "errors": errors or []})


def _newer(job: dict[str, Any]) -> dict[str, Any]:
    numbers = {name: _number(job[name]) for name in _NUMBERS if name in job and not isinstance(job[name], dict)}
    state = job["job_state"]
    typed = {name: job[name].replace("gres:", "gres/") for name in job if name.startswith("tres_per_")}
    return job | numbers | typed | {"job_state": [state] if isinstance(state, str) else state}


def _number(value: int | None) -> dict[str, Any]:
    return {"set": value is not None, "infinite": False, "number": value or 0}


def _bytes(answer: dict[str, Any]) -> bytes:
    """Names keep their bytes, as Slurm hands them through: what is no UTF-8 is written as surrogates by a test."""
    return json.dumps(answer, ensure_ascii=False).encode("utf-8", errors="surrogateescape")
