"""Which runs are the same job again, and which runs were submitted together: SQL expressions over table ``run``.

Family = cluster, user, account, partition, GPU model, nodes x GPUs requested and the job name with digits and hashes
masked; a name that says nothing, such as bash or run.sh, counts only together with its working directory.
"""

from typing import Final

GENERIC_NAMES: Final = (
    "bash", "sh", "zsh", "python", "python3", "interactive", "wrap", "sbatch", "srun", "salloc",
    "run", "run.sh", "job", "job.sh", "test", "test.sh", "train", "train.sh", "main", "main.py", "submit.sh",
    "script.sh",
)  # fmt: skip
"""Job names that Slurm or habit gives; ``wrap`` is what `sbatch --wrap` gives."""

_UUID: Final = r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_HEX: Final = r"(^|[^0-9A-Za-z])[0-9a-fA-F]{7,64}($|[^0-9A-Za-z])"

# UUIDs first, then words of 7 and more hex digits (git and content hashes), then digits; what is masked and only
# separated by . _ or - becomes one, so that v1.2 and v1.2.3 are the same name. Hashes are masked twice: a match takes
# the character behind it, which the next of two in a row needs before it.
_MASKS: Final = ((_UUID, "#"), (_HEX, r"\1#\2"), (_HEX, r"\1#\2"), ("[0-9]+", "#"), ("#([._-]*#)+", "#"))


def masked(column: str) -> str:
    """Returns SQL for a column of job names with what differs from run to run as ``#``."""
    sql = f"coalesce({column}, '')"
    for pattern, replacement in _MASKS:
        sql = f"regexp_replace({sql}, '{pattern}', '{replacement}', 'g')"
    return sql


MASKED_NAME_SQL: Final = masked("run.name")
"""The job name with what differs from run to run as ``#``."""

_generic = ", ".join(f"'{name}'" for name in GENERIC_NAMES)

FAMILY_SQL: Final = f"""md5(concat_ws(chr(31),
    run.cluster, coalesce(run.user_name, ''), coalesce(run.account, ''), coalesce(run."partition", ''),
    coalesce(model, ''), coalesce(run.nodes, 0)::VARCHAR, coalesce(run.req_gpus, run.alloc_gpus, 0)::VARCHAR,
    {MASKED_NAME_SQL},
    CASE WHEN lower(coalesce(run.name, '')) IN ('', {_generic}) THEN coalesce(run.work_dir, '') ELSE '' END))"""
"""Key of a run's family, 32 hexadecimal digits. The query has to offer the GPUs' ``model``."""

SUBMISSION_SQL: Final = "run.cluster || ':' || regexp_extract(run.job_id, '^[^_+.]+')"
"""One array, one heterogeneous job or one chain of requeues: what was submitted at once and is one line to people."""
