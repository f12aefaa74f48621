"""Tables of the hub's DuckDB file, version by version; migrations.py applies them in order.

Times are UTC epoch milliseconds (BIGINT, ``_ms``). Sums are integers so that they agree exactly in any order.
Tables under "derived" can be rebuilt to equal rows while the raw rows are complete; tables under "never derived" hold
what people did and what was sent.
"""

from store.catalog import METRICS
from store.schema_gpus import SQL_TYPE, rollup_table
from store.schema_sums import SUMS

WHOLE = 840
"""Weight of a whole GPU: divisible by 1 to 8, hence by the slices of every MIG-capable model (7, A30: 4)."""

NODE_WORD_MS = 75 * 60_000
"""How long a word about a node counts where no other follows: all nodes are told once an hour."""

RELEASING_MS = 600_000
"""How long after its end a job's GPUs may still be in use for Slurm: until the node has left COMPLETING."""

UNPLACED = 0
"""gpu_key and node_key of allocated GPUs that accounting counts and no node has shown: held, and wholly unknown."""


ROW_COLUMNS = ("ts_ms", "span_ms", "node_key", "gpu_key", "run_key", "baseline_mib")
"""Columns of a raw row that are no reading; every sealed file has them."""

SAMPLE_COLUMNS = (*ROW_COLUMNS, *(metric.name for metric in METRICS))
"""Columns of a raw row, hot or sealed, in order."""


def sample_columns() -> str:
    """Returns the metric columns of ``hot`` and of every sealed file, as DDL."""
    return ", ".join(f"{metric.name} {SQL_TYPE[metric.dtype]}" for metric in METRICS)


VERSION_1: tuple[str, ...] = (
    "CREATE TABLE meta (key VARCHAR PRIMARY KEY, value VARCHAR NOT NULL)",
    # ---- what exists
    "CREATE SEQUENCE node_keys START 1",
    """CREATE TABLE node (
        node_key INTEGER PRIMARY KEY, name VARCHAR NOT NULL UNIQUE, cluster VARCHAR NOT NULL, slurm BOOLEAN NOT NULL,
        interval_ms INTEGER NOT NULL, agent_version VARCHAR, driver_version VARCHAR,
        first_ms BIGINT NOT NULL, last_ms BIGINT NOT NULL, received_ms BIGINT NOT NULL, skew_ms BIGINT)""",
    # A row a change: what the newest segment says stands in ``node`` itself.
    """CREATE TABLE node_driver (node_key INTEGER NOT NULL, driver_version VARCHAR NOT NULL, from_ms BIGINT NOT NULL,
        PRIMARY KEY (node_key, from_ms))""",
    "CREATE SEQUENCE gpu_keys START 1",
    """CREATE TABLE gpu (
        gpu_key INTEGER PRIMARY KEY, uuid VARCHAR NOT NULL UNIQUE, node_key INTEGER NOT NULL, model VARCHAR,
        idx INTEGER, minor INTEGER, pci_bus_id VARCHAR, mem_total_mib INTEGER, power_limit_w DOUBLE,
        slices INTEGER NOT NULL, slices_of INTEGER NOT NULL, parent_uuid VARCHAR,
        first_ms BIGINT NOT NULL, last_ms BIGINT NOT NULL, position INTEGER,
        pcie_mib_s BIGINT, nvlink_mib_s BIGINT -- what one direction carries at most; NULL: not known, or no such link
        )""",
    "CREATE SEQUENCE run_keys START 1",
    # One row an execution. Filled at first sight by a node's holding, described later by accounting; db_index is NULL
    # until then. end_ms NULL: still running. kind: job | session. state: Slurm's word once accounting has it; before
    # that RUNNING, or ENDED where the nodes saw it end and nobody has said how. updated_ms: when the accounting row was
    # written that describes the run (0: none yet). seen_ms: last moment at which anybody said that the run lives.
    # polled_ms: last poll of the queue that listed it (0: none).
    # shares: 2 where a node saw it share a GPU, 1 where it may hold a shard, which accounting tells; shared follows.
    """CREATE TABLE run (
        run_key INTEGER PRIMARY KEY, kind VARCHAR NOT NULL, cluster VARCHAR NOT NULL, job_id_raw VARCHAR NOT NULL,
        job_id VARCHAR NOT NULL, restart INTEGER NOT NULL, db_index BIGINT, user_name VARCHAR, uid BIGINT,
        account VARCHAR, "partition" VARCHAR, qos VARCHAR, name VARCHAR, state VARCHAR NOT NULL, exit_code VARCHAR,
        interactive BOOLEAN, submit_ms BIGINT, start_ms BIGINT NOT NULL, end_ms BIGINT, suspended_ms BIGINT,
        elapsed_ms BIGINT, timelimit_ms BIGINT, timelimit_unlimited BOOLEAN NOT NULL, nodes INTEGER, node_list VARCHAR,
        req_gpus INTEGER, alloc_gpus INTEGER, gpu_type VARCHAR, alloc_cpus INTEGER, req_mem_mib BIGINT,
        max_rss_mib BIGINT, cpu_ms BIGINT, work_dir VARCHAR, shared BOOLEAN NOT NULL, updated_ms BIGINT NOT NULL,
        seen_ms BIGINT, polled_ms BIGINT, shares INTEGER NOT NULL DEFAULT 0)""",
    "CREATE INDEX run_by_id ON run (cluster, job_id_raw)",
    # One row per run and GPU: half open [start_ms, end_ms), end NULL while it lasts. A session's end is known only by
    # its processes' absence, so its rows always end where it was last seen.
    """CREATE TABLE allocation (
        run_key INTEGER NOT NULL, gpu_key INTEGER NOT NULL, node_key INTEGER NOT NULL, start_ms BIGINT NOT NULL,
        end_ms BIGINT, source VARCHAR NOT NULL, PRIMARY KEY (run_key, gpu_key))""",
    # When runs were suspended, from polls of the queue; ran_s: how long the run had run before. end_ms NULL: it lasts.
    """CREATE TABLE suspension (
        run_key INTEGER NOT NULL, ran_s INTEGER NOT NULL, told_start_ms BIGINT, told_end_ms BIGINT, start_ms BIGINT,
        end_ms BIGINT, PRIMARY KEY (run_key, ran_s))""",
    # GPUs of runs to which rows were given that their node sent as nobody's (store/claims.py).
    "CREATE TABLE claim (run_key INTEGER NOT NULL, gpu_key INTEGER NOT NULL, PRIMARY KEY (run_key, gpu_key))",
    # ---- raw
    # gen: of the batch that brought the row; sealing takes the rows up to a generation and leaves later ones alone.
    f"""CREATE TABLE hot (
        ts_ms BIGINT NOT NULL, span_ms UINTEGER NOT NULL, node_key INTEGER NOT NULL, gpu_key INTEGER NOT NULL,
        run_key INTEGER, baseline_mib UINTEGER, gen BIGINT NOT NULL DEFAULT 0, {sample_columns()})""",
    # The manifest: a Parquet file under raw/ that is not listed here does not exist. Times are those of its rows' ends;
    # columns says which ones it has, in order, since files of earlier versions lack later metrics.
    """CREATE TABLE sealed (
        file VARCHAR PRIMARY KEY, day BIGINT NOT NULL, from_ms BIGINT NOT NULL, to_ms BIGINT NOT NULL,
        rows BIGINT NOT NULL, bytes BIGINT NOT NULL, columns VARCHAR NOT NULL,
        made_ms BIGINT NOT NULL)""",
    # Off the manifest, and still there for whoever read it a moment ago.
    "CREATE TABLE sealed_gone (file VARCHAR PRIMARY KEY, gone_ms BIGINT NOT NULL)",
    "CREATE SEQUENCE sealed_files START 1",
    # Sealed minutes of the nodes first_node to last_node, and of which nodes they count no more, having been computed
    # anew (store/minutes.py).
    """CREATE TABLE sealed_minute (
        file VARCHAR PRIMARY KEY, day BIGINT NOT NULL, first_node INTEGER NOT NULL, last_node INTEGER NOT NULL,
        rows BIGINT NOT NULL, bytes BIGINT NOT NULL, columns VARCHAR NOT NULL, made_ms BIGINT NOT NULL)""",
    "CREATE TABLE thawed_minute (file VARCHAR NOT NULL, node_key INTEGER NOT NULL, PRIMARY KEY (file, node_key))",
    # Days with sealed rows in which holds of GPUs changed since: the merge gives rows to their runs (store/repair.py).
    "CREATE TABLE repair_day (day BIGINT PRIMARY KEY, gen BIGINT NOT NULL)",
    # Runs that turned out to be another one after rows of theirs had been sealed under the old key.
    "CREATE TABLE run_alias (old_key INTEGER PRIMARY KEY, run_key INTEGER NOT NULL)",
    # Which segments are stored (store/sequences.py): [from_seq, to_seq] of one start of a node's agent, as far as no
    # number is missing. last_ms: of its newest row.
    """CREATE TABLE segment_stretch (node_key INTEGER NOT NULL, boot_id VARCHAR NOT NULL, from_seq BIGINT NOT NULL,
        to_seq BIGINT NOT NULL, last_ms BIGINT NOT NULL)""",
    # Segments by the minute in which they were stored.
    """CREATE TABLE arrival (minute_ms BIGINT PRIMARY KEY, segments BIGINT NOT NULL, rows BIGINT NOT NULL,
        late BIGINT NOT NULL)""",
    # Columns of newer agents, which are kept aside.
    "CREATE TABLE unknown_column (name VARCHAR PRIMARY KEY)",
    "CREATE TABLE quarantine (name VARCHAR NOT NULL, received_ms BIGINT NOT NULL, reason VARCHAR NOT NULL)",
    """CREATE TABLE event (node_key INTEGER NOT NULL, gpu_key INTEGER, ts_ms BIGINT NOT NULL, kind VARCHAR NOT NULL,
        detail VARCHAR NOT NULL)""",
    """CREATE TABLE null_reason (gpu_key INTEGER NOT NULL, metric VARCHAR NOT NULL, reason VARCHAR NOT NULL,
        from_ms BIGINT NOT NULL, to_ms BIGINT NOT NULL, PRIMARY KEY (gpu_key, metric, reason))""",
    # run_key NULL: no run is known to hold the GPU. pid 0: not one process but those that are only counted.
    """CREATE TABLE process (gpu_key INTEGER NOT NULL, run_key INTEGER, pid BIGINT NOT NULL, name VARCHAR NOT NULL,
        uid BIGINT, first_ms BIGINT NOT NULL, last_ms BIGINT NOT NULL, mem_max_mib INTEGER,
        processes INTEGER NOT NULL)""",
    """CREATE TABLE probe_log (node_key INTEGER NOT NULL, probe VARCHAR NOT NULL, at_ms BIGINT NOT NULL,
        duration_ms DOUBLE NOT NULL, ok BOOLEAN NOT NULL, rows INTEGER NOT NULL, runs INTEGER NOT NULL,
        error VARCHAR NOT NULL, PRIMARY KEY (node_key, probe))""",
    # What a run did on the cores of a node within a minute, several rows a minute: readers sum them. span_ms: how much
    # of the minute was measured; cpu_ms: of all cores together; mem_max_mib NULL: memory is not counted there.
    """CREATE TABLE host_minute (minute_ms BIGINT NOT NULL, node_key INTEGER NOT NULL, run_key INTEGER NOT NULL,
        span_ms BIGINT NOT NULL, cpu_ms BIGINT NOT NULL, mem_max_mib BIGINT)""",
    # A poll of a cluster's queue stands from at_ms to the next poll, not beyond until_ms: between is a gap, no zero.
    # whole: it listed every live run. held_gpus: by all live runs that the poll may see (PrivateData hides others'), to
    # compare with what nodes say is in use.
    """CREATE TABLE queue_poll (node_key INTEGER NOT NULL, cluster VARCHAR NOT NULL, at_ms BIGINT NOT NULL,
        until_ms BIGINT NOT NULL, whole BOOLEAN, held_gpus INTEGER, PRIMARY KEY (node_key, at_ms))""",
    # What pending jobs asked for at a poll; waits_for: hardware | limit | release | other (store/segment_slurm.py).
    """CREATE TABLE queue_pending (node_key INTEGER NOT NULL, at_ms BIGINT NOT NULL, "partition" VARCHAR,
        gpu_type VARCHAR, waits_for VARCHAR NOT NULL, jobs INTEGER NOT NULL, gpus INTEGER NOT NULL)""",
    # ---- what Slurm has (store/inventory.py)
    # A node as slurmctld had it from at_ms on: until the next word about it, and for NODE_WORD_MS at most.
    # standing: up | offline | reserved. gpu_units: of all its GPUs, a whole one being WHOLE. gpu_type: the only one.
    """CREATE TABLE node_state (
        cluster VARCHAR NOT NULL, name VARCHAR NOT NULL, at_ms BIGINT NOT NULL, state VARCHAR NOT NULL,
        flags VARCHAR NOT NULL, standing VARCHAR NOT NULL, gpus INTEGER NOT NULL, gpu_units BIGINT NOT NULL,
        gpu_type VARCHAR, gpus_used INTEGER, cpus INTEGER, cpus_used INTEGER, mem_mib BIGINT, mem_used_mib BIGINT,
        partitions VARCHAR NOT NULL, reason VARCHAR, reason_ms BIGINT, boot_ms BIGINT, version VARCHAR,
        PRIMARY KEY (cluster, name, at_ms))""",
    # The others from the first to the last reading that found them so; lists are written with commas.
    """CREATE TABLE slurm_partition (
        cluster VARCHAR NOT NULL, name VARCHAR NOT NULL, nodes VARCHAR NOT NULL, max_time_ms BIGINT NOT NULL,
        is_default BOOLEAN NOT NULL, state VARCHAR NOT NULL, first_ms BIGINT NOT NULL, last_ms BIGINT NOT NULL,
        PRIMARY KEY (cluster, name, nodes, max_time_ms, is_default, state))""",
    """CREATE TABLE reservation (
        cluster VARCHAR NOT NULL, name VARCHAR NOT NULL, start_ms BIGINT NOT NULL, end_ms BIGINT NOT NULL,
        nodes VARCHAR NOT NULL, flags VARCHAR NOT NULL, first_ms BIGINT NOT NULL, last_ms BIGINT NOT NULL,
        PRIMARY KEY (cluster, name, start_ms, end_ms, nodes, flags))""",
    """CREATE TABLE account (
        cluster VARCHAR NOT NULL, name VARCHAR NOT NULL, parent VARCHAR NOT NULL, first_ms BIGINT NOT NULL,
        last_ms BIGINT NOT NULL, PRIMARY KEY (cluster, name, parent))""",
    # What sreport counted for an account on a day of UTC, by the newest reading, that of at_ms.
    """CREATE TABLE slurm_usage (cluster VARCHAR NOT NULL, account VARCHAR NOT NULL, day_ms BIGINT NOT NULL,
        gpu_s BIGINT NOT NULL, at_ms BIGINT NOT NULL, PRIMARY KEY (cluster, account, day_ms))""",
    # Requests to slurmctld that readings cost.
    """CREATE TABLE slurm_request (cluster VARCHAR NOT NULL, at_ms BIGINT NOT NULL, probe VARCHAR NOT NULL,
        requests INTEGER NOT NULL, PRIMARY KEY (cluster, at_ms, probe))""",
    # ---- derived
    # [from_ms, to_ms) is the part of the hour that has to be computed anew.
    """CREATE TABLE dirty_hour (hour_ms BIGINT NOT NULL, node_key INTEGER NOT NULL, gen BIGINT NOT NULL,
        from_ms BIGINT NOT NULL, to_ms BIGINT NOT NULL, PRIMARY KEY (hour_ms, node_key))""",
    # Up to when what lasts on a node, open holds and Slurm's words about it, is computed or marked.
    "CREATE TABLE opened (node_key INTEGER PRIMARY KEY, to_ms BIGINT NOT NULL)",
    # from_ms: from when on the run's time has changed, which for data that comes late lies within its footprint.
    "CREATE TABLE dirty_run (run_key INTEGER PRIMARY KEY, gen BIGINT NOT NULL, from_ms BIGINT)",
    "CREATE SEQUENCE generations START 1",
    rollup_table("gpu_hour", "hour_ms"),
    rollup_table("gpu_minute", "minute_ms"),
    # Time in which nobody held a GPU, by why nobody could: releasing | offline | taken | reserved |
    # stranded (store/spare.py). units: WHOLE x ms.
    *(
        f"""CREATE TABLE spare_{bucket} ({bucket}_ms BIGINT NOT NULL, node_key INTEGER NOT NULL,
        gpu_key INTEGER NOT NULL, kind VARCHAR NOT NULL, units BIGINT NOT NULL)"""
        for bucket in ("hour", "minute")
    ),
    *SUMS,
    """CREATE TABLE footprint_gpu (
        run_key INTEGER NOT NULL, gpu_key INTEGER NOT NULL, node_key INTEGER NOT NULL, start_ms BIGINT NOT NULL,
        end_ms BIGINT NOT NULL, held_ms BIGINT NOT NULL, rows INTEGER NOT NULL, readings BIGINT NOT NULL,
        covered_ms BIGINT NOT NULL, watched_ms BIGINT NOT NULL, longest_gap_ms BIGINT NOT NULL,
        gaps_closed BOOLEAN, -- every gap > 60 s explained as idle by the energy counter; NULL: cannot be said
        active_ms BIGINT NOT NULL, low_ms BIGINT NOT NULL, idle_held_ms BIGINT NOT NULL, idle_ms BIGINT NOT NULL,
        unknown_ms BIGINT NOT NULL, parked_ms BIGINT NOT NULL,
        busy_ms BIGINT NOT NULL, -- time at >= 1 %
        util_mean_pct DOUBLE, util_p50_pct DOUBLE, util_p95_pct DOUBLE, util_max_pct DOUBLE,
        tensor_mean_pct DOUBLE, tensor_p95_pct DOUBLE, dram_mean_pct DOUBLE, dram_p95_pct DOUBLE,
        pcie_rx_mib BIGINT, pcie_tx_mib BIGINT, nvlink_rx_mib BIGINT, nvlink_tx_mib BIGINT,
        engine_p95_pct DOUBLE, -- of the video engines
        sm_mean_pct DOUBLE, sm_p95_pct DOUBLE, mem_mean_mib DOUBLE, mem_p99_mib DOUBLE, mem_max_mib DOUBLE,
        power_mean_w DOUBLE, power_p95_w DOUBLE, power_max_w DOUBLE, energy_j DOUBLE, energy_estimated BOOLEAN,
        leading_idle_ms BIGINT, trailing_idle_ms BIGINT, longest_idle_ms BIGINT, idle_stretches INTEGER,
        first_active_ms BIGINT, last_active_ms BIGINT,
        hollow_ms BIGINT, hollow_longest_ms BIGINT, -- looks busy and does little; NULL: no rows
        hollow_from_ms BIGINT, hollow_to_ms BIGINT, hollow_sm_pct DOUBLE, hollow_power_w DOUBLE, rest_power_w DOUBLE,
        hollow_unsaid_ms BIGINT, -- busy time of which neither counters nor power say whether it is that
        throttled_ms BIGINT, -- by a fault; then each reason by itself, NULL where the driver does not tell
        heat_ms BIGINT, power_brake_ms BIGINT, hardware_ms BIGINT, power_cap_ms BIGINT,
        PRIMARY KEY (run_key, gpu_key))""",
    """CREATE TABLE footprint_run (
        run_key INTEGER PRIMARY KEY, start_ms BIGINT NOT NULL, end_ms BIGINT NOT NULL, finished BOOLEAN NOT NULL,
        gpus INTEGER NOT NULL, gpus_seen INTEGER NOT NULL, gpus_active INTEGER NOT NULL, gpus_requested INTEGER,
        gpus_peak INTEGER, -- the most GPUs with >= 10 s at >= 1 % in any 5-min window
        held_ms BIGINT NOT NULL, covered_ms BIGINT NOT NULL, coverage DOUBLE NOT NULL, -- of the worst GPU
        watched_ratio DOUBLE, min_rows INTEGER NOT NULL,
        active_ms BIGINT NOT NULL, low_ms BIGINT NOT NULL, idle_held_ms BIGINT NOT NULL, idle_ms BIGINT NOT NULL,
        unknown_ms BIGINT NOT NULL, util_mean_pct DOUBLE, util_p95_pct DOUBLE, sm_mean_pct DOUBLE,
        mem_max_ratio DOUBLE, mem_sum_max_mib DOUBLE, power_mean_ratio DOUBLE, energy_j DOUBLE,
        leading_idle_ms BIGINT, trailing_idle_ms BIGINT, recent_idle_ms BIGINT, -- all GPUs idle, up to the last row
        idle_together_ms BIGINT, -- all GPUs idle at once, wherever in the run
        last_row_ms BIGINT, spatial_imbalance DOUBLE, temporal_imbalance DOUBLE, busy_cores DOUBLE,
        cpu_efficiency DOUBLE, -- of the allocated cores; may reach the threads that a core has
        cpu_source VARCHAR, -- cgroup | accounting
        family VARCHAR,
        judged BOOLEAN NOT NULL -- whether the rules have seen this footprint
        )""",
    "CREATE SEQUENCE finding_ids START 1",
    # numbers and thresholds are JSON objects; hours are GPU-ms explained. closed_ms NULL: still true.
    """CREATE TABLE finding (
        finding_id INTEGER PRIMARY KEY, run_key INTEGER, rule VARCHAR NOT NULL, rule_version INTEGER NOT NULL,
        start_ms BIGINT NOT NULL, end_ms BIGINT NOT NULL, gpu_ms BIGINT NOT NULL, confidence VARCHAR NOT NULL,
        coverage DOUBLE NOT NULL, title VARCHAR NOT NULL, sentence VARCHAR NOT NULL, fix VARCHAR NOT NULL,
        numbers VARCHAR NOT NULL, thresholds VARCHAR NOT NULL, found_ms BIGINT NOT NULL, closed_ms BIGINT,
        UNIQUE (run_key, rule))""",
    # In which hours a finding's GPU-ms lie, so that a week counts its own part of them: they add up to finding.gpu_ms.
    """CREATE TABLE finding_hour (run_key INTEGER NOT NULL, rule VARCHAR NOT NULL, hour_ms BIGINT NOT NULL,
        gpu_ms BIGINT NOT NULL, PRIMARY KEY (run_key, rule, hour_ms))""",
    # Runs on which a rule could not be judged, with the sentence that says why.
    """CREATE TABLE unjudged (run_key INTEGER NOT NULL, rule VARCHAR NOT NULL, reason VARCHAR NOT NULL,
        gpu_ms BIGINT NOT NULL, PRIMARY KEY (run_key, rule))""",
    """CREATE TABLE recommendation (
        recommendation_id VARCHAR PRIMARY KEY, family VARCHAR NOT NULL, kind VARCHAR NOT NULL, cluster VARCHAR NOT NULL,
        user_name VARCHAR, account VARCHAR, "partition" VARCHAR, model VARCHAR, name VARCHAR,
        current VARCHAR NOT NULL, proposed VARCHAR NOT NULL,
        before_lines VARCHAR NOT NULL, after_lines VARCHAR NOT NULL, gain VARCHAR NOT NULL, gpu_ms_week BIGINT NOT NULL,
        energy_j_week DOUBLE, confidence VARCHAR NOT NULL, provisional BOOLEAN NOT NULL, runs INTEGER NOT NULL,
        submissions INTEGER NOT NULL, would_have_failed INTEGER NOT NULL, run_keys VARCHAR NOT NULL,
        missing VARCHAR, made_ms BIGINT NOT NULL, last_run_ms BIGINT NOT NULL,
        family_runs INTEGER NOT NULL, over_ms BIGINT NOT NULL -- all runs of the family and the time they stand for
        )""",
    # One row a scheduled run, same columns as probe_log.
    """CREATE TABLE job_log (job VARCHAR NOT NULL, at_ms BIGINT NOT NULL, duration_ms DOUBLE NOT NULL,
        ok BOOLEAN NOT NULL, rows INTEGER NOT NULL, error VARCHAR NOT NULL)""",
    # ---- never derived
    """CREATE TABLE act (at_ms BIGINT NOT NULL, who VARCHAR NOT NULL, kind VARCHAR NOT NULL, subject VARCHAR NOT NULL,
        note VARCHAR NOT NULL)""",
    """CREATE TABLE sent (at_ms BIGINT NOT NULL, kind VARCHAR NOT NULL, recipient VARCHAR NOT NULL,
        subject VARCHAR NOT NULL, body VARCHAR NOT NULL)""",
    """CREATE TABLE report (scope VARCHAR NOT NULL, week VARCHAR NOT NULL, revision INTEGER NOT NULL,
        made_ms BIGINT NOT NULL, data_to_ms BIGINT NOT NULL, html VARCHAR NOT NULL, text VARCHAR NOT NULL,
        figures VARCHAR NOT NULL,
        PRIMARY KEY (scope, week, revision))""",
    # Thresholds and versions as they were when a hub started with other ones; value '': in force no more.
    """CREATE TABLE in_force (name VARCHAR NOT NULL, value VARCHAR NOT NULL, from_ms BIGINT NOT NULL,
        PRIMARY KEY (name, from_ms))""",
    "CREATE SEQUENCE note_ids START 1",
    """CREATE TABLE note (note_id INTEGER PRIMARY KEY, at_ms BIGINT NOT NULL, until_ms BIGINT, kind VARCHAR NOT NULL,
        text VARCHAR NOT NULL, who VARCHAR NOT NULL, made_ms BIGINT NOT NULL)""",
    """CREATE TABLE token (name VARCHAR PRIMARY KEY, sha256 VARCHAR NOT NULL, made_ms BIGINT NOT NULL,
        revoked_ms BIGINT)""",
)

VERSIONS: tuple[tuple[str, ...], ...] = (VERSION_1,)
