"""What Slurm's accounting would say of a run."""

from gpuledger.demo.cluster import NAME, Cluster
from gpuledger.demo.people import PEOPLE
from gpuledger.demo.scheduling import Run
from store.segment import AccountingRun, Holding

MIB_PER_GIB = 1024
UNCOUNTED = ("NODE_FAIL", "RUNNING")  # Slurm gathers a step's CPU time when the step ends by itself or by signal


def record(cluster: Cluster, run: Run, as_of_s: int) -> AccountingRun:
    """Returns the run as sacct prints it at ``as_of_s``: RUNNING until its end."""
    request, family = run.request, run.request.family
    person = PEOPLE[family.user]
    ended = run.end_s <= as_of_s
    state = run.state if ended else "RUNNING"
    elapsed_s = min(run.end_s, as_of_s) - run.start_s
    cores = family.cores_per_gpu * request.gpus
    busy_s = min(elapsed_s, run.fate.course.setup_s + run.fate.course.work_s)
    mem_mib = family.mem_gib_per_gpu * request.gpus * MIB_PER_GIB
    return AccountingRun(
        cluster=NAME,
        db_index=run.db_index,
        job_id_raw=str(request.job_id_raw),
        job_id=request.job_id,
        state=state,
        user=person.name,
        uid=person.uid,
        account=person.account,
        partition=family.partition,
        qos="normal",
        name=request.name,
        submit_ms=run.submit_s * 1000,
        start_ms=run.start_s * 1000,
        end_ms=run.end_s * 1000 if ended else None,
        elapsed_s=elapsed_s,
        suspended_s=0,
        timelimit_s=request.limit_s,
        nodes=tuple(cluster.nodes[node].name for node in run.nodes),
        req_gpus=request.gpus,
        alloc_gpus=request.gpus,
        gpu_type=cluster.nodes[run.places[0][0]].model.gres,
        alloc_cpus=cores,
        req_mem_mib=mem_mib,
        max_rss_mib=int(mem_mib * 0.55) if ended else None,
        cpu_s=None if state in UNCOUNTED else round(cores * family.does.cpu_ratio * busy_s, 1),
        exit_code=run.exit_code if ended else None,
        work_dir=f"/home/{person.name}/{family.name.replace('{n}', '').strip('-_')}",
        has_batch_step=family.batch,
        restart=run.restart,
    )


def holding(run: Run, node: int, written_s: int) -> Holding:
    """Returns the run's hold of one node's GPUs as the Prolog told the agent; the end is known once it came."""
    family = run.request.family
    person = PEOPLE[family.user]
    return Holding(
        kind="job",
        cluster=NAME,
        job_id=str(run.request.job_id_raw),
        start_ms=run.start_s * 1000,
        end_ms=run.end_s * 1000 if run.end_s <= written_s else None,
        restart=run.restart,
        uid=person.uid,
        user=person.name,
        account=person.account,
        partition=family.partition,
        name=run.request.name,
        devices=tuple(gpu for place, gpu in run.places if place == node),
        source="hook",
    )
