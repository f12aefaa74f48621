"""sacct's output: records modelled on what Slurm 22.05 and 24.11 print, and any bytes at all."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.formats.sacct import RUN_FIELDS, STEP_FIELDS, Step, parse_runs, parse_steps, with_steps

TOKEN = "5f0c9a1b7e"
FIELDS = (*RUN_FIELDS[:-1], "Restarts", RUN_FIELDS[-1])
START_S = 1_796_064_181
RUN = {
    "Cluster": "alpha", "DBIndex": "27", "JobIDRaw": "18", "JobID": "18", "User": "alice", "UID": "1001",
    "Account": "physics", "Partition": "gpu", "QOS": "normal", "State": "COMPLETED", "ExitCode": "0:0",
    "Submit": str(START_S - 24), "Start": str(START_S), "End": str(START_S + 600), "ElapsedRaw": "600",
    "Suspended": "00:00:00", "Timelimit": "01:00:00", "TimelimitRaw": "60", "NNodes": "1", "AllocCPUS": "8",
    "ReqMem": "16G", "AllocTRES": "billing=9,cpu=8,gres/gpu:a100=2,gres/gpu=2,mem=16G,node=1",
    "ReqTRES": "billing=9,cpu=8,gres/gpu=2,mem=16G,node=1", "NodeList": "n3",
    "WorkDir": "/home/alice", "Restarts": "0", "JobName": "train",
}  # fmt: skip


def output(*records, fields=FIELDS, token=TOKEN):
    return "".join(token.join([*(record[field] for field in fields), ""]) + "\n" for record in records).encode()


def runs(*changes):
    parsed = parse_runs(output(*({**RUN, **change} for change in changes)), FIELDS, TOKEN)
    assert parsed.refusals == ()
    return parsed.runs


def run(**changes):
    (found,) = runs(changes)
    return found


def refusal(**changes):
    parsed = parse_runs(output({**RUN, **changes}), FIELDS, TOKEN)
    assert parsed.runs == ()
    (found,) = parsed.refusals
    return found.reason


def test_a_completed_run():
    assert msgspec.to_builtins(run()) == {
        "cluster": "alpha", "db_index": 27, "job_id_raw": "18", "job_id": "18", "state": "COMPLETED", "user": "alice",
        "uid": 1001, "account": "physics", "partition": "gpu", "qos": "normal", "name": "train",
        "submit_ms": (START_S - 24) * 1000, "start_ms": START_S * 1000, "end_ms": (START_S + 600) * 1000,
        "elapsed_s": 600, "suspended_s": 0, "timelimit_s": 3600, "nodes": ("n3",), "req_gpus": 2, "alloc_gpus": 2,
        "gpu_type": "a100", "alloc_cpus": 8, "req_mem_mib": 16384, "exit_code": "0:0",
        "work_dir": "/home/alice", "restart": 0,
    }  # fmt: skip


def test_a_running_run_has_no_end():
    found = run(State="RUNNING", End="Unknown", ElapsedRaw="10")
    assert (found.state, found.end_ms, found.elapsed_s) == ("RUNNING", None, 10)


def test_a_requeued_job_is_two_runs():
    """F040: one job id, each with its own DBIndex and Submit."""
    first, second = runs({"State": "REQUEUED", "DBIndex": "27"}, {"DBIndex": "54", "Restarts": "1"})
    assert (first.job_id_raw, second.job_id_raw) == ("18", "18")
    assert [(found.db_index, found.state, found.restart) for found in (first, second)] == [
        (27, "REQUEUED", 0),
        (54, "COMPLETED", 1),
    ]


@pytest.mark.parametrize(
    "never_ran",
    [
        {"State": "CANCELLED by 1060117917", "Start": "None", "NodeList": "None assigned", "AllocTRES": ""},  # F004
        {"State": "CANCELLED by 1002", "Start": "Unknown", "AllocTRES": "", "AllocCPUS": "0"},  # F008
        {"State": "FAILED", "End": str(START_S), "ElapsedRaw": "0", "NodeList": "None assigned", "AllocTRES": ""},
        {"State": "PENDING", "End": "Unknown", "ElapsedRaw": "0", "AllocTRES": ""},
        {"State": "PENDING", "End": "Unknown", "ElapsedRaw": "0"},  # the database lags behind the start
    ],
)  # fmt: skip
def test_what_never_ran_has_no_start(never_ran):
    found = run(**never_ran)
    assert (found.start_ms, found.elapsed_s) == (None, None)
    assert found.user == "alice"


@pytest.mark.parametrize(
    ("state", "word"),
    [("CANCELLED by 1977600432", "CANCELLED"), ("OUT_OF_MEMORY", "OUT_OF_MEMORY"), ("NEW_WORD", "NEW_WORD")],
)
def test_states(state, word):
    assert run(State=state).state == word


def test_a_uid_may_be_large():
    assert run(UID="3977600432").uid == 3_977_600_432


@pytest.mark.parametrize(
    ("limit", "raw", "expected"),
    [
        ("01:00:00", "60", (False, 3600)),
        ("UNLIMITED", "UNLIMITED", (True, None)),  # F002
        ("Partition_Limit", "Partition_Limit", (False, None)),  # F001
        ("Partition_limit", "partition_limit", (False, None)),
        ("INVALID", "INVALID", (False, None)),
        ("", "4294967294", (False, None)),  # F039
        ("1-00:00:00", "", (False, 86400)),
    ],
)
def test_time_limits(limit, raw, expected):
    found = run(Timelimit=limit, TimelimitRaw=raw)
    assert (found.timelimit_unlimited, found.timelimit_s) == expected


def test_a_whole_node_given_to_a_job_that_asked_for_no_gpu():
    """F034: --exclusive hands out every GPU of the node; none of them was requested."""
    found = run(ReqTRES="billing=1,cpu=1,mem=5G,node=1", AllocTRES="cpu=36,gres/gpu:rtx2080ti=4,gres/gpu=4,mem=180G")
    assert (found.req_gpus, found.alloc_gpus, found.gpu_type) == (0, 4, "rtx2080ti")


def test_where_gpus_are_not_tracked_their_number_is_unknown():
    """F035."""
    found = run(ReqTRES="cpu=64,mem=400G", AllocTRES="cpu=64,mem=400G")
    assert (found.req_gpus, found.alloc_gpus, found.start_ms) == (None, None, START_S * 1000)


@pytest.mark.parametrize(
    ("req_tres", "req_mem", "nodes", "cpus", "mib"),
    [
        ("mem=16G", "1G", "1", "8", 16384),
        ("cpu=8", "4Gc", "1", "8", 32768),  # F013
        ("cpu=8", "4Gn", "2", "8", 8192),
        ("", "90000Mn", "1", "8", 90000),  # F020
        ("", "0c", "1", "1", None),  # F012
        ("", "0", "1", "1", None),
        ("", "", "1", "1", None),
        ("", "18446744073709551615", "1", "1", None),
    ],
)
def test_requested_memory(req_tres, req_mem, nodes, cpus, mib):
    assert run(ReqTRES=req_tres, ReqMem=req_mem, NNodes=nodes, AllocCPUS=cpus).req_mem_mib == mib


def test_suspended_time_is_not_elapsed_time():
    """F055: the run lived 14,400 s and half of them count."""
    found = run(End=str(START_S + 14400), ElapsedRaw="7200", Suspended="02:00:00")
    assert (found.end_ms - found.start_ms, found.elapsed_s, found.suspended_s) == (14_400_000, 7200, 7200)


@pytest.mark.parametrize("elapsed", ["1714557600", "4294967295", "", "-2", "-3600"])
def test_an_elapsed_time_that_cannot_be_is_unknown(elapsed):
    """F060."""
    assert run(ElapsedRaw=elapsed).elapsed_s is None


def test_an_end_before_the_begin_is_refused():
    assert "ends before it begins" in refusal(End=str(START_S - 2))


def test_a_lost_end_is_the_begin_and_what_it_lasted():
    """F006."""
    found = run(State="CANCELLED by 1300204", End="Unknown", ElapsedRaw="17", Suspended="00:00:03")
    assert found.end_ms == (START_S + 20) * 1000


def test_a_zero_run():
    """F007: it keeps its GPUs and has no time."""
    found = run(State="FAILED", End=str(START_S), ElapsedRaw="0")
    assert (found.elapsed_s, found.alloc_gpus) == (0, 2)


@pytest.mark.parametrize(
    ("shown", "job_id"), [("6_0", "6_0"), ("10+1", "10+1"), ("18", "18"), ("6_[2-3%2]", "18"), ("6_[0-999]", "18")]
)
def test_ids_as_people_type_them(shown, job_id):
    assert run(JobID=shown).job_id == job_id


@pytest.mark.parametrize("raw", ["18.batch", "", "abc", "18+1", "-5"])
def test_what_is_no_job_id_is_refused(raw):
    assert "is no job id" in refusal(JobIDRaw=raw)


@pytest.mark.parametrize("change", [{"DBIndex": ""}, {"DBIndex": "0"}, {"State": ""}])
def test_a_run_without_index_or_state_is_refused(change):
    assert refusal(**change) == "job 18 has no DBIndex or no state"


def test_times_that_are_no_epoch_are_refused():
    """F052: without a zone nobody can say when that was."""
    assert "SLURM_TIME_FORMAT" in refusal(Start="2026-11-30T12:00:00")


@pytest.mark.parametrize(
    "name", ["a|b|c", "line1\nline2", "\n", "tab\there\x01\x1f", "a,b `q` \\t {x=1};$HOME", "entraînement-模型-🚀", ""]
)
def test_any_name_and_the_record_after_it(name):
    """F009."""
    first, second = runs({"JobName": name, "WorkDir": "/a\nb|c"}, {"DBIndex": "28"})
    assert (first.name, first.work_dir) == (name or None, "/a\nb|c")
    assert second.db_index == 28


def test_bytes_that_are_no_text():
    data = output(RUN).replace(b"train", b"\xff\xfe")
    (found,) = parse_runs(data, FIELDS, TOKEN).runs
    assert found.name == "\ufffd\ufffd"


def test_an_output_that_was_cut_off_keeps_its_whole_records():
    data = output(RUN, {**RUN, "DBIndex": "28"})
    for length in (len(data) - 9, len(data) - 40):
        parsed = parse_runs(data[:length], FIELDS, TOKEN)
        assert [found.db_index for found in parsed.runs] == [27]
        assert [found.record for found in parsed.refusals][:1] == [2]


def test_a_record_out_of_step_ends_the_reading():
    parsed = parse_runs(output(RUN).rstrip(b"\n") + output(RUN), FIELDS, TOKEN)
    assert [found.db_index for found in parsed.runs] == [27]
    assert parsed.refusals[0].reason == "it does not begin on a line of its own"


def test_nothing():
    assert parse_runs(b"", FIELDS, TOKEN) == parse_runs(b"\n", FIELDS, TOKEN)
    assert parse_runs(b"", FIELDS, TOKEN).runs == ()


STEP = {
    "Cluster": "alpha", "DBIndex": "27", "JobIDRaw": "18.batch", "State": "COMPLETED", "NTasks": "1",
    "MaxRSS": "3461120", "TRESUsageInTot": "cpu=00:00:30,energy=0,fs/disk=33341,mem=1073741824,pages=0,vmem=78475264",
    "TotalCPU": "00:20.500",
}  # fmt: skip


def steps(*changes):
    return parse_steps(output(*({**STEP, **change} for change in changes), fields=STEP_FIELDS), STEP_FIELDS, TOKEN)


def test_what_steps_used():
    found = steps({}, {"JobIDRaw": "18.0", "TRESUsageInTot": "cpu=01:00:00,mem=2147483648"}, {"JobIDRaw": "18"})
    assert found == {
        ("alpha", 27): [
            Step(name="batch", cpu_s=30, waited_cpu_s=20.5, mem_mib=1024),
            Step(name="0", cpu_s=3600, waited_cpu_s=20.5, mem_mib=2048),
        ]
    }
    whole = with_steps(run(), found["alpha", 27])
    assert (whole.has_batch_step, whole.cpu_s, whole.max_rss_mib) == (True, 3630, 2048)


def test_memory_is_of_the_largest_step_and_all_its_tasks():
    """F015, F016: never a sum over steps; eight tasks are eight times the largest."""
    found = steps(
        {"JobIDRaw": "18.0", "TRESUsageInTot": "", "MaxRSS": "1947276K", "NTasks": "8"},
        {"JobIDRaw": "18.1", "TRESUsageInTot": "", "MaxRSS": "1000K", "NTasks": "2"},
    )
    assert with_steps(run(), found["alpha", 27]).max_rss_mib == round(1947276 * 8 / 1024)


@pytest.mark.parametrize(
    ("state", "used", "waited", "cpu_s"),
    [
        ("COMPLETED", "cpu=00:00:10", "00:00.500", 40),
        ("COMPLETED", "cpu=00:00:10", "10:00.500", 621),
        ("COMPLETED", "", "10:00.500", 621),
        ("COMPLETED", "", "", None),
        ("COMPLETED", "cpu=00:00:00", "00:00:00", 30),
        ("FAILED", "cpu=00:00:10", "10:00.500", 40),  # children of signalled steps are left out: how many is unknown
        ("FAILED", "", "10:00.500", None),
    ],
)
def test_processor_time_is_known_where_every_step_tells_it(state, used, waited, cpu_s):
    found = steps({}, {"JobIDRaw": "18.0", "TRESUsageInTot": used, "TotalCPU": waited})["alpha", 27]
    assert with_steps(run(State=state), found).cpu_s == cpu_s


@pytest.mark.parametrize(
    ("names", "job_id", "batch"),
    [
        (["18.batch", "18.extern", "18.0"], "18", True),
        (["18.extern", "18.interactive"], "18", False),
        (["18.0"], "18", False),
        (["11.extern", "11.0"], "10+1", None),  # the batch step is on component 0
        (["10.batch"], "10+0", True),
        ([], "18", None),
    ],
)
def test_whether_there_is_a_batch_step(names, job_id, batch):
    found = steps(*({"JobIDRaw": name} for name in names))
    assert with_steps(run(JobID=job_id), found.get(("alpha", 27), ())).has_batch_step is batch


@given(st.binary(max_size=400))
def test_any_bytes_are_runs_or_refusals(data):
    for junk in (data, output(RUN) + data, data + output(RUN), data.replace(b"0", TOKEN.encode())):
        parsed = parse_runs(junk, FIELDS, TOKEN)
        assert len(parsed.runs) <= junk.count(TOKEN.encode()) // len(FIELDS)
        parse_steps(junk, STEP_FIELDS, TOKEN)


@given(
    st.lists(
        st.fixed_dictionaries({}, optional={field: st.text(max_size=12) for field in FIELDS}), min_size=1, max_size=4
    )
)
def test_any_fields_come_back_in_step(changes):
    """Whatever the fields hold, each record is a run or a refusal, and no value slips into another field."""
    records = [{**RUN, **change} for change in changes]
    if any(TOKEN in value for record in records for value in record.values()):
        return
    parsed = parse_runs(output(*records), FIELDS, TOKEN)
    assert len(parsed.runs) + len(parsed.refusals) == len(records)
    refused = {refusal.record for refusal in parsed.refusals}
    taken = [record for number, record in enumerate(records, 1) if number not in refused]
    for found, record in zip(parsed.runs, taken, strict=True):
        assert found.name == (record["JobName"] or None)
        assert found.cluster == record["Cluster"]
        for number in (found.suspended_s, found.alloc_cpus, found.req_gpus, found.alloc_gpus, found.restart):
            assert number is None or 0 <= number < 1 << 31
        for number in (found.start_ms, found.end_ms, found.elapsed_s, found.timelimit_s, found.cpu_s, found.uid):
            assert number is None or 0 <= number < 1 << 62
