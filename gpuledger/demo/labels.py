"""What a run really is, known because it was simulated."""

from enum import StrEnum


class Label(StrEnum):
    """What a run really is. The first group is sound use, however it may look from afar."""

    HEALTHY = "healthy"
    SHORT = "short"  # a try of a few minutes, or one that failed at once
    BURSTY = "bursty"  # works file by file, pauses in between
    PAUSES = "pauses"  # evaluation or checkpoints stop the GPUs now and then
    STAGED = "staged"  # copies its data first, for minutes
    SESSION_USED = "session_used"
    SERVER_USED = "server_used"
    CPU_CODE = "cpu_code"  # a program without GPU code, computing on its cores
    UNTOUCHED = "untouched"  # GPUs asked for, never touched, cores idle too
    SOME_UNUSED = "some_unused"
    SLEEPS = "sleeps"  # work over, script still there
    LONG_SETUP = "long_setup"
    SESSION_OPEN = "session_open"  # left open, used now and then
    SERVER_QUIET = "server_quiet"  # a model loaded, hardly any request
    SLOW_INPUT = "slow_input"
    FEW_CORES = "few_cores"  # the next batch is made on fewer cores than the node has for each GPU
    STUCK = "stuck"  # a collective spins for a peer that is gone


RULE: dict[Label, str | None] = {
    Label.HEALTHY: None,
    Label.SHORT: None,
    Label.BURSTY: None,
    Label.PAUSES: None,
    Label.STAGED: None,
    Label.SESSION_USED: None,
    Label.SERVER_USED: None,
    Label.CPU_CODE: "cpu_only",
    Label.UNTOUCHED: "gpu_never_used",
    Label.SOME_UNUSED: "gpus_unused",
    Label.SLEEPS: "idle_tail",
    Label.LONG_SETUP: "idle_head",
    Label.SESSION_OPEN: "interactive_idle",
    Label.SERVER_QUIET: "memory_parked",
    Label.SLOW_INPUT: "low_utilization",
    Label.FEW_CORES: "cpu_starved",
    Label.STUCK: "hollow",
}
"""The rule that should find a run of this kind, None where none should."""
