"""Words, number formats and colours, said once: pages, reports, mail and commands take them from here.

Every formatter takes an unrounded value and rounds it once; None, which means unknown, becomes a dash and never a zero.
"""

from datetime import UTC, datetime
from typing import Final
from zoneinfo import ZoneInfo

import msgspec

from analytics.model import HOUR_MS, MINUTE_MS, State

UNKNOWN: Final = "—"
DAY_MS: Final = 24 * HOUR_MS
MIN_SHARE_GPU_H: Final = 10.0
"""Below this many GPU-hours no percentage is shown: a share of very little says nothing."""


class Look(msgspec.Struct, frozen=True):
    """How a state is drawn. ``pattern`` is Plotly's fill pattern shape, so that nothing depends on colour alone.

    State colours never carry text (3.1-4.0:1 on white): put a swatch beside text in the text colour.
    """

    label: str
    light: str
    dark: str
    pattern: str = ""


STATES: Final[dict[str, Look]] = {
    State.ACTIVE: Look("active", "#2E86C1", "#4FA3DD"),
    State.LOW: Look("low", "#C98500", "#E0A100"),
    State.IDLE_HELD: Look("idle, memory held", "#C0392B", "#D6483A", "x"),
    State.IDLE: Look("idle, empty", "#C0392B", "#D6483A"),
    State.UNKNOWN: Look("not measured", "#FFFFFF00", "#FFFFFF00", "/"),
    State.SUSPENDED: Look("suspended", "#6D7480", "#A3AAB5"),
    State.RELEASING: Look("releasing", "#5B6068", "#B4B9C1", "x"),
    State.TAKEN: Look("allocated, job not seen", "#8A8F98", "#8A8F98", "+"),
    State.STRAY: Look("stray", "#5B6068", "#B4B9C1", "."),
    State.OFFLINE: Look("offline", "#5B6068", "#B4B9C1", "-"),
    State.RESERVED: Look("reserved", "#8A8F98", "#8A8F98", "\\"),
    State.STRANDED: Look("stranded", "#8A8F98", "#8A8F98", "|"),
    State.FREE: Look("free", "#9AA0A9", "#7A808A"),
    State.UNALLOCATED: Look("unallocated", "#8A8F98", "#8A8F98"),
}
"""Every state in the order in which bars are stacked."""

PATTERN_INK: Final = ("#8A8F98", "#8A8F98")
"""Colour of pattern lines, light and dark."""

NEUTRAL_IDLE: Final = Look("idle, memory held", "#FFFFFF00", "#FFFFFF00", "x")
"""Idle on a person's own page and in mail to people: a pattern in grey, so that help does not look like an alarm."""

NEUTRAL_EMPTY: Final = Look("idle, empty", "#7D8794", "#8B95A3")
"""The same with memory empty: grey without a pattern, so that the two can be told apart, and both from unknown."""

GLOSSARY: Final[dict[str, str]] = {
    "capacity": "GPU-hours that existed in the window: every GPU that Slurm lists or that was seen, reported or not.",
    "allocated": "GPU-hours held by jobs, from start to end less suspended time.",
    "unallocated": "GPU-hours that no job held.",
    "releasing": "Its job had ended and Slurm was still cleaning up: for 10 minutes at most.",
    "free": "No job held it, and one could have begun on it.",
    "stranded": "No job held it, and its node had no core or no memory left for one.",
    "reserved": "No job held it, and a reservation kept it for some.",
    "offline": "No job held it, and its node was down, drained or in maintenance.",
    "allocated, job not seen": "Slurm says that jobs had it, and none is known here: called neither free nor stray.",
    "active": "Held, and utilization at least 25 %.",
    "low": "Held, and utilization at least 1 % but below 25 %.",
    "idle": "Held, and utilization below 1 %: idle, memory held + idle, empty.",
    "idle, memory held": "Idle while the job's memory or process stayed on the GPU.",
    "idle, empty": "Idle with nothing on the GPU.",
    "not measured": "Held, but no usable reading. Unknown is never counted as idle.",
    "suspended": "A job that Slurm suspended kept it: neither held nor free.",
    "stray": "Memory or work on a GPU with no allocation behind it.",
    "coverage": "Share of the held hours for which there is a usable utilization reading.",
    "effective": "Mean SM activity where the GPU offers it, else estimated from power between idle and limit.",
    "utilization": "Share of time in which at least one kernel ran. It does not say how much of the GPU was filled.",
    "below-100": "Sum of (100 % - utilization) over the measured hours. Contains idle; the two are never added.",
    "parked": "Idle with at least half of the GPU's memory held.",
    "finding": "What was seen in a job.",
    "recommendation": "What to ask for next time.",
    "notice": "A message to a person.",
}

RULES: Final[dict[str, str]] = {
    "cpu_only": "Ran on the CPU only",
    "gpu_never_used": "GPU not used",
    "gpus_unused": "Some GPUs not used",
    "interactive_idle": "Open session, mostly idle",
    "idle_now": "Idle right now",
    "idle_head": "Long set-up before the first GPU work",
    "idle_tail": "Kept its GPUs after the work ended",
    "memory_parked": "Model loaded, no requests",
    "low_utilization": "GPU mostly waiting, cause not clear",
    "hollow": "Looks busy, does little",
    "cpu_starved": "Waits for CPU cores",
    "launch_bound": "One CPU core sets the pace",
    "small_batch": "Room for a larger batch",
    "memory_pressed": "Held back by GPU memory",
    "stalling": "Regular pauses (checkpoints?)",
    "transfer_bound": "Waits for data copies",
    "communication_bound": "Waits for other GPUs",
    "imbalance": "One GPU slower than the rest",
    "gpu_model_oversized": "Would fit a smaller GPU",
    "walltime_oversized": "Asked for more time than used",
}
"""Titles of rules where no single finding is meant: filters, legends, totals. A finding carries its own title."""

BUSY_RULES: Final = ("hollow",)
"""Rules that explain hours in which GPUs read as busy: no idle hours."""

RECOMMENDATIONS: Final[dict[str, str]] = {
    "release": "Release",
    "gpus": "Fewer GPUs",
    "model": "Smaller GPU or slice",
    "cores": "More CPUs",
    "speed": "Speed up",
    "walltime": "Shorter time limit",
    "memory": "Less memory",
}

RUN_STATES: Final[dict[str, str]] = {
    "RUNNING": "running",
    "PENDING": "waiting",
    "COMPLETED": "completed",
    "FAILED": "failed",
    "CANCELLED": "cancelled",
    "TIMEOUT": "time limit reached",
    "OUT_OF_MEMORY": "out of memory",
    "NODE_FAIL": "node failed",
    "PREEMPTED": "preempted",
    "REQUEUED": "requeued",
    "SUSPENDED": "suspended",
    "ENDED": "ended",
}


class Words(msgspec.Struct, frozen=True):
    """Nouns that differ between a Slurm cluster and a host without Slurm, where programs are counted and not jobs."""

    run: str
    runs: str
    unallocated: str


SLURM_WORDS: Final = Words("job", "jobs", "unallocated")
SESSION_WORDS: Final = Words("session", "sessions", "free")


def words(kind: str) -> Words:
    """Returns the nouns for a site of ``kind`` slurm, sessions or empty."""
    return SESSION_WORDS if kind == "sessions" else SLURM_WORDS


def label(state: str) -> str:
    """Returns the name that people see for a GPU's state."""
    look = STATES.get(state)
    return look.label if look else state


def rule_title(rule: str) -> str:
    """Returns the general title of a rule; for a rule not listed here its id in plain letters.

    ``all`` is what stands where no rule could be judged.
    """
    return "Any finding" if rule == "all" else RULES.get(rule, rule.replace("_", " "))


def run_state(state: str) -> str:
    """Returns Slurm's job state in plain words; ``CANCELLED by 1000`` is ``cancelled``."""
    first = state.split(" ", 1)[0].upper()
    return RUN_STATES.get(first, first.replace("_", " ").lower())


def plural(count: float, noun: str, nouns: str | None = None) -> str:
    """Returns ``1 job``, ``1,204 jobs``."""
    return f"{format_count(count)} {noun if count == 1 else nouns or noun + 's'}"


# ---------------------------------------------------------------------------------------------------------- numbers


def share_pct(part: float | None, whole: float | None) -> float | None:
    """Returns 100 x part / whole in GPU-hours, or None where the whole is unknown or too little for a percentage."""
    if part is None or whole is None or whole < MIN_SHARE_GPU_H:
        return None
    return 100.0 * part / whole


def format_count(value: float | None) -> str:
    """Returns a whole number with thousands separated by commas."""
    return UNKNOWN if value is None else f"{value:z,.0f}"


def number_gpu_h(value: float | None) -> str:
    """Returns GPU-hours without the unit: 0.04, 3.4, 412, 4,840, 184 k, 1.84 M."""
    if value is None:
        return UNKNOWN
    size = abs(value)
    if size >= 999_500:
        return f"{value / 1e6:.2f} M"
    if size >= 99_999.5:
        return f"{value / 1e3:.0f} k"
    if size >= 9.95:
        return f"{value:z,.0f}"
    if size >= 0.995:
        return f"{value:z.1f}"
    return "0" if size == 0 else "<0.01" if 0 < value < 0.005 else f"{value:z.2f}"


def format_gpu_h(value: float | None) -> str:
    """Returns GPU-hours with the unit: ``4,840 GPU-h``."""
    return UNKNOWN if value is None else f"{number_gpu_h(value)} GPU-h"


def format_pct(value: float | None) -> str:
    """Returns a percentage (0-100) without decimals from 10 up: ``3.4 %``, ``38 %``."""
    if value is None:
        return UNKNOWN
    if value == 0 or abs(value) >= 9.95:
        return f"{value:z.0f} %"
    return "<0.1 %" if 0 < value < 0.05 else f"{value:z.1f} %"


def format_ratio(value: float | None) -> str:
    """Returns a ratio (0-1) as a percentage."""
    return format_pct(None if value is None else 100 * value)


def _scaled(value: float, step: float, units: tuple[str, ...]) -> str:
    index = 0
    while abs(value) >= step - 0.5 and index < len(units) - 1:
        value, index = value / step, index + 1
    digits = 0 if index == 0 or abs(value) >= 9.95 else 1
    return f"{value:z,.{digits}f} {units[index]}"


def format_bytes(value: float | None) -> str:
    """Returns bytes in binary units: ``640 MiB``, ``1.4 GiB``."""
    return UNKNOWN if value is None else _scaled(value, 1024, ("B", "KiB", "MiB", "GiB", "TiB"))


def format_mib(value: float | None) -> str:
    """Returns MiB as ``640 MiB`` or ``79 GiB``."""
    return UNKNOWN if value is None else _scaled(value, 1024, ("MiB", "GiB", "TiB"))


def format_mib_per_s(value: float | None) -> str:
    """Returns MiB a second in the decimal units in which links are sold: ``640 MB/s``, ``1.4 GB/s``."""
    return UNKNOWN if value is None else _scaled(value * 1.048576, 1000, ("MB/s", "GB/s", "TB/s"))


def format_cores(value: float | None) -> str:
    """Returns CPU cores: ``0.4 cores``, ``12 cores``."""
    if value is None:
        return UNKNOWN
    said = f"{value:.0f}" if value >= 9.95 or value == round(value) else f"{value:.1f}"
    return f"{said} core" if said == "1" else f"{said} cores"


def format_power(value_w: float | None) -> str:
    """Returns watts as ``312 W`` or ``44 kW``."""
    return UNKNOWN if value_w is None else _scaled(value_w, 1000, ("W", "kW", "MW"))


def format_energy(value_kwh: float | None, *, estimated: bool = False) -> str:
    """Returns energy as ``318 kWh`` or ``1.2 MWh``; an estimate is marked ``about``."""
    if value_kwh is None:
        return UNKNOWN
    if 0 < value_kwh < 0.05:
        text = "<0.1 kWh"
    elif 0 < value_kwh < 9.95:
        text = f"{value_kwh:.1f} kWh"
    else:
        text = _scaled(value_kwh, 1000, ("kWh", "MWh", "GWh"))
    return f"about {text}" if estimated else text


def format_duration(value_ms: float | None) -> str:
    """Returns a length of time in its two largest units: ``2 d 3 h``, ``3 h 5 min``, ``42 min``, ``40 s``."""
    if value_ms is None:
        return UNKNOWN
    if abs(value_ms) < MINUTE_MS - 500:
        return f"{value_ms / 1000:z.0f} s"
    minutes = round(value_ms / MINUTE_MS)
    if minutes >= 24 * 60:
        days, hours = divmod(round(value_ms / HOUR_MS), 24)
        return f"{days} d {hours} h" if hours else f"{days} d"
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    return f"{minutes} min"


def format_time(value_ms: int | None, zone: str = "UTC") -> str:
    """Returns a moment in the site's zone: ``Mon 7 Dec 14:32``."""
    if value_ms is None:
        return UNKNOWN
    moment = local(value_ms, zone)
    return f"{moment:%a} {moment.day} {moment:%b %H:%M}"


def format_iso(value_ms: int | None) -> str | None:
    """Returns a moment as ISO 8601 in UTC for API and CSV: ``2026-12-07T14:32:00Z``."""
    if value_ms is None:
        return None
    return datetime.fromtimestamp(value_ms / 1000, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def local(value_ms: int, zone: str) -> datetime:
    """Returns a moment as wall-clock time of ``zone``."""
    return datetime.fromtimestamp(value_ms / 1000, ZoneInfo(zone))
