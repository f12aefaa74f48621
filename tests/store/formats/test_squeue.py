"""squeue --json as Slurm 22.05 and 24.11 print it: demand by what it waits for, live runs, and any bytes at all."""

import contextlib
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.formats.squeue import NoQueue, Queue, parse, waits_for
from store.segment import LiveRun, NodeGpus, PendingGpus
from tests.store.formats.squeue_answers import PENDING, RUNNING, START_S, answer_2205, answer_2411

Answer = Callable[..., bytes]
both = pytest.mark.parametrize("answer", [answer_2205, answer_2411], ids=["22.05", "24.11"])


def queue(answer: Answer, *jobs: dict[str, Any]) -> Queue:
    found = parse(answer(*jobs), "beta")
    assert found.refusals == ()
    assert found.jobs == len(jobs)
    return found


def run(answer: Answer, **changes: Any) -> LiveRun:
    (found,) = queue(answer, RUNNING | changes).runs
    return found


@both
def test_a_running_run(answer: Answer) -> None:
    assert msgspec.to_builtins(run(answer)) == {
        "cluster": "alpha", "job_id_raw": "27", "job_id": "27", "state": "RUNNING", "start_ms": START_S * 1000,
        "restart": 0, "user": "alice", "uid": 1001, "account": "physics", "partition": "gpu", "qos": "normal",
        "name": "train", "submit_ms": (START_S - 24) * 1000, "timelimit_s": 3600, "req_gpus": 1, "alloc_gpus": 1,
        "gpu_type": "a100", "places": ({"node": "n3", "positions": (2,)},),
    }  # fmt: skip


@both
def test_positions_belong_to_the_nodes_in_their_order(answer: Answer) -> None:
    details = ["gpu:a100:2(IDX:0,3)", "gpu:a100:1(IDX:0)", "gpu:a100:3(IDX:1-3)"]
    found = run(answer, nodes="n[1,3-4]", gres_detail=details)
    assert found.places == (NodeGpus("n1", (0, 3)), NodeGpus("n3", (0,)), NodeGpus("n4", (1, 2, 3)))


@both
@pytest.mark.parametrize(
    ("detail", "positions"),
    [
        ("gpu:a100:1(IDX:N/A)", None),
        ("gpu:a100:2(IDX:3)", None),
        ("gpu:a100:1", None),
        ("gpu:a100:1(IDX:99999999)", None),
        ("gpu:a100:1(IDX:0),gpu:v100:2(IDX:4-5)", (0, 4, 5)),
        ("gpu:1(IDX:0)", (0,)),
    ],
)
def test_positions_that_do_not_fit_the_count_are_not_known(
    answer: Answer, detail: str, positions: tuple[int, ...] | None
) -> None:
    assert run(answer, gres_detail=[detail]).places == (NodeGpus("n3", positions),)


@both
def test_nodes_without_details_are_places_without_positions(answer: Answer) -> None:
    assert run(answer, nodes="n[1-2]").places == (NodeGpus("n1"), NodeGpus("n2"))


@both
def test_gpus_are_counted_where_slurm_does_not_track_them(answer: Answer) -> None:
    found = run(answer, tres_alloc_str="cpu=8,node=1", tres_req_str="cpu=8,node=1", gres_detail=["gpu:2(IDX:0-1)"])
    assert (found.alloc_gpus, found.req_gpus, found.places) == (2, None, (NodeGpus("n3", (0, 1)),))
    assert queue(answer, RUNNING | {"tres_alloc_str": "cpu=8", "gres_detail": []}).runs == ()


@both
def test_shards_are_marked(answer: Answer) -> None:
    found = run(answer, tres_alloc_str="cpu=1,gres/shard=2", gres_detail=["shard:a100:2(2/8,0/8)"])
    assert (found.shared, found.alloc_gpus, found.places) == (True, None, ())


@both
def test_a_suspended_run_says_since_when_and_how_long_it_had_run(answer: Answer) -> None:
    found = run(answer, job_state="SUSPENDED", suspend_time=START_S + 300, pre_sus_time=300)
    assert (found.state, found.turned_ms, found.ran_s) == ("SUSPENDED", (START_S + 300) * 1000, 300)


@pytest.mark.parametrize(
    ("states", "word"),
    [
        (["RUNNING", "CONFIGURING"], "RUNNING"),
        (["COMPLETED", "COMPLETING"], "COMPLETING"),
        (["RUNNING", "COMPLETING"], "COMPLETING"),
        (["SUSPENDED", "COMPLETING"], "SUSPENDED"),
        (["COMPLETED"], None),
    ],
)
def test_of_several_states_the_one_that_counts(states: list[str], word: str | None) -> None:
    assert [found.state for found in queue(answer_2411, RUNNING | {"job_state": states}).runs] == (
        [word] if word else []
    )


@both
@pytest.mark.parametrize("state", ["COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "A_LATER_WORD", ""])
def test_what_ended_is_neither_live_nor_pending(answer: Answer, state: str) -> None:
    found = queue(answer, RUNNING | {"job_state": state})
    assert (found.runs, found.pending) == ((), ())


@both
def test_ids_are_as_people_type_them(answer: Answer) -> None:
    assert run(answer, array_job_id=6, array_task_id=0).job_id == "6_0"
    assert run(answer, het_job_id=26, het_job_offset=1).job_id == "26+1"


@both
def test_a_limit_may_be_none_or_not_known(answer: Answer) -> None:
    endless = run(answer, time_limit={"set": False, "infinite": True, "number": 0})
    assert (endless.timelimit_s, endless.timelimit_unlimited) == (None, True)
    unknown = run(answer, time_limit=None)
    assert (unknown.timelimit_s, unknown.timelimit_unlimited) == (None, False)
    assert run(answer, time_limit=4_294_967_294).timelimit_s is None


@both
def test_the_settings_name_the_cluster_where_the_answer_does_not(answer: Answer) -> None:
    assert run(answer, cluster="").cluster == "beta"


@both
def test_demand_is_summed_by_partition_type_and_what_it_waits_for(answer: Answer) -> None:
    typed = {"tres_req_str": "cpu=8,gres/gpu=4,gres/gpu:h100=4"}
    found = queue(
        answer,
        PENDING,
        PENDING | {"state_reason": "Priority"},
        PENDING | {"state_reason": "None"} | typed,
        PENDING | {"state_reason": "JobHeldUser"} | typed,
        PENDING | {"partition": "gpu,debug", "state_reason": "QOSMaxGRESPerUser"},
        PENDING | {"tres_req_str": "cpu=8", "tres_per_node": ""},
    )
    assert found.pending == (
        PendingGpus(partition="gpu", waits_for="hardware", jobs=2, gpus=2),
        PendingGpus(partition="gpu", gpu_type="h100", waits_for="hardware", jobs=1, gpus=4),
        PendingGpus(partition="gpu", gpu_type="h100", waits_for="release", jobs=1, gpus=4),
        PendingGpus(partition="gpu,debug", waits_for="limit", jobs=1, gpus=1),
    )


@both
@pytest.mark.parametrize(
    ("tasks", "count"), [("2-9%2", 8), ("0,5,7-8", 4), ("0-9:5", 2), ("7", 1), ("0x0F1", 5), ("0-4000000", 4_000_001)]
)
def test_one_record_stands_for_all_tasks_that_wait(answer: Answer, tasks: str, count: int) -> None:
    waiting = PENDING | {"array_job_id": 27, "array_task_string": tasks, "tres_req_str": "gres/gpu=2"}
    assert queue(answer, waiting).pending == (PendingGpus(partition="gpu", jobs=count, gpus=2 * count),)


@both
def test_a_task_of_its_own_is_one_job(answer: Answer) -> None:
    task = PENDING | {"array_job_id": 27, "array_task_id": 3, "array_task_string": "3"}
    assert queue(answer, task).pending == (PendingGpus(partition="gpu", jobs=1, gpus=1),)


@both
@pytest.mark.parametrize("tasks", ["0-99,102,...", "a-b", "0-9999999"])
def test_an_array_that_is_no_whole_list_is_refused(answer: Answer, tasks: str) -> None:
    found = parse(answer(PENDING | {"array_task_string": tasks}, PENDING), "alpha")
    assert [refusal.record for refusal in found.refusals] == [1]
    assert found.pending == (PendingGpus(partition="gpu", jobs=1, gpus=1),)


@both
@pytest.mark.parametrize(
    ("asked", "gpus"),
    [
        ({"tres_per_node": "gres:gpu:a100:2", "node_count": 3}, 6),
        ({"tres_per_node": "gres:gpu"}, 1),
        ({"tres_per_job": "gres:gpu:5"}, 5),
        ({"tres_per_task": "gres:gpu:1", "tasks": 8}, 8),
        ({"tres_per_node": "gres:craynetwork:1"}, None),
        ({"tres_per_node": "gres:shard:4"}, None),
    ],
)
def test_requests_are_read_as_typed_where_slurm_does_not_track_gpus(
    answer: Answer, asked: dict[str, Any], gpus: int | None
) -> None:
    bare = {"tres_req_str": "cpu=8", "tres_per_node": "", "tres_per_job": "", "tres_per_task": ""}
    assert [each.gpus for each in queue(answer, PENDING | bare | asked).pending] == ([gpus] if gpus else [])


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("Resources", "hardware"), ("Priority", "hardware"), ("None", "hardware"), (None, "hardware"),
        ("JobHeldAdmin", "release"), ("BeginTime", "release"), ("Dependency", "release"),
        ("AssocGrpGRES", "limit"), ("QOSGrpCpuLimit", "limit"), ("JobArrayTaskLimit", "limit"),
        ("PartitionTimeLimit", "limit"), ("MaxGRESPerAccount", "limit"),
        ("ReqNodeNotAvail, UnavailableNodes:n1", "other"), ("Reservation", "other"), ("BadConstraints", "other"),
    ],
)  # fmt: skip
def test_what_a_job_waits_for(reason: str | None, said: str) -> None:
    assert waits_for(reason) == said


@both
def test_a_requeued_job_waits_again(answer: Answer) -> None:
    states = "REQUEUED" if answer is answer_2205 else ["PENDING", "REQUEUED"]
    found = queue(answer, PENDING | {"job_state": states, "state_reason": "BeginTime", "restart_cnt": 1})
    assert found.pending == (PendingGpus(partition="gpu", waits_for="release", jobs=1, gpus=1),)


@both
@pytest.mark.parametrize(
    "name", ["bad\udcff\udcfename", "日本 \n\t|\x1f\"'", "x" * 1024, '"],"jobs":[{"job_id":1}', ""]
)
def test_a_name_may_be_anything(answer: Answer, name: str) -> None:
    shown = name.encode("utf-8", errors="surrogateescape").decode("utf-8", errors="replace")
    assert run(answer, name=name).name == (shown or None)


@both
def test_one_strange_job_costs_itself_alone(answer: Answer) -> None:
    strange = [RUNNING | {"nodes": 7}, RUNNING | {"start_time": 0}, RUNNING | {"job_id": None}]
    found = parse(answer(*strange, RUNNING), "alpha")
    assert [refusal.record for refusal in found.refusals] == [1, 2, 3]
    assert len(found.runs) == 1


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"slurm_load_jobs error: Unable to contact slurm controller",
        b'{"meta":{}}',
        b'{"jobs":[',
        answer_2205(errors=[{"error": "Unable to contact slurm controller", "errno": -1}]),
        answer_2411(errors=[{"description": "Socket timed out", "source": "slurm_load_jobs"}]),
        b"[" * 100_000,
    ],
)
def test_what_is_no_answer_is_said(data: bytes) -> None:
    with pytest.raises(NoQueue):
        parse(data, "alpha")


@both
def test_an_empty_queue_is_an_answer(answer: Answer) -> None:
    assert queue(answer) == Queue()


@given(data=st.binary(), place=st.integers(0, 10_000), cut=st.integers(0, 50))
def test_damaged_bytes_never_raise_anything_else(data: bytes, place: int, cut: int) -> None:
    whole = answer_2411(RUNNING, PENDING)
    place %= len(whole)
    with contextlib.suppress(NoQueue):
        parse(whole[:place] + data + whole[place + cut :], "alpha")
