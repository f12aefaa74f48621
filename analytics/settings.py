"""[analytics]: every threshold that findings and recommendations rest on.

The thresholds of a rule live beside its condition (analytics/rules); they appear here as [analytics.rules.<id>].
"""

from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from analytics.rules import RULES
from analytics.rules.registry import Params, Rule, params_struct

Positive = Annotated[float, msgspec.Meta(gt=0)]
Count = Annotated[int, msgspec.Meta(ge=1)]
Ratio = Annotated[float, msgspec.Meta(ge=0, le=1)]

# One field a rule, made from the rules themselves: a new rule brings its own section and no list is edited.
if TYPE_CHECKING:
    RuleSettings = msgspec.Struct
    RuleOverrides = msgspec.Struct
else:
    RuleSettings = params_struct("RuleSettings", list(RULES), partial=False)
    RuleOverrides = params_struct("RuleOverrides", list(RULES), partial=True)


class FootprintSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """[analytics.footprint]: how the readings of a run become figures."""

    gap_s: Positive = 60.0
    """A longer time without a usable reading is a gap: it ends an idle stretch."""
    blip_s: Positive = 30.0
    """A single activity shorter than this, alone, is no use: context tear-down, nvidia-smi, driver initialisation."""
    blip_alone_s: Positive = 1800.0
    """How far away any other activity must be for a blip to count as alone."""
    stretch_s: Positive = 60.0
    """Idle stretches of at least this length are counted."""
    peak_busy_s: Positive = 10.0
    """A GPU counts as in use in a 5-minute window from this much busy time on."""
    gap_power_ratio: Ratio = 0.1
    """A gap is closed as idle where its mean power is at most this share above the idle rows beside it."""
    energy_limit_ratio: Positive = 1.25
    """An energy difference above this multiple of power limit x time is refused and estimated from power."""
    hollow_util_pct: Annotated[float, msgspec.Meta(ge=1, le=100)] = 90.0
    """A GPU looks busy from this utilization on ..."""
    hollow_sm_pct: Positive = 10.0
    """... and does little where its SM activity is below this ..."""
    hollow_dram_pct: Positive = 5.0
    """... and its DRAM activity below this."""
    hollow_wait_sm_pct: Positive = 25.0
    """On several GPUs at once also where SM activity is below this, DRAM activity as above ..."""
    hollow_wait_tensor_pct: Positive = 1.0
    """... tensor activity below this ..."""
    hollow_wait_link_ratio: Ratio = 0.01
    """... and less than this share of what PCIe and NVLink carry both ways goes over them: a collective that waits."""
    hollow_mem_util_pct: Positive = 1.0
    """Without these counters: where memory utilization is at most this ..."""
    hollow_power_ratio: Ratio = 0.1
    """... and power less than this share of the way from rest with a context to the limit."""
    refresh_s: Positive = 3600.0
    """Most seconds between two footprints of a run that lasts; with an open finding it is renewed every time."""
    refresh_ratio: Ratio = 0.1
    """Share by which a run that lasts must have grown for a new footprint before that time is over."""
    refresh_long_ratio: Ratio = 0.04
    """Share by which a run of more than a day must have grown, while nothing is found on it and it works."""
    rows_at_once: Count = 1_000_000
    """Raw rows worked on together; bounds the memory."""


class ConfidenceSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """[analytics.confidence]: how much evidence a finding needs. Below medium there is none."""

    high_coverage: Ratio = 0.9
    """Coverage of the worst GPU from which a finding may be of high confidence."""
    high_rows: Count = 90
    """Rows of the worst GPU from which a finding may be of high confidence."""
    high_watched_ratio: Ratio = 0.5
    """Share of the covered time that driver readings must watch for high confidence."""
    medium_coverage: Ratio = 0.7
    """Coverage below which nothing is judged."""
    medium_rows: Count = 30
    """Rows below which nothing is judged."""
    short_s: Positive = 900.0
    """Shorter runs are neither judged nor listed as not judged."""


class ExcludedSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """[analytics.excluded]: never judged. Hours still count. Names may hold * and ?."""

    users: tuple[str, ...] = ()
    """User names."""
    accounts: tuple[str, ...] = ()
    """Accounts."""
    partitions: tuple[str, ...] = ()
    """Partitions."""
    qos: tuple[str, ...] = ()
    """QOS."""
    names: tuple[str, ...] = ()
    """Job names."""


class RightsizingSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """[analytics.rightsizing]: what the next request rests on."""

    history_days: Count = 90
    """Days of finished runs that a recommendation looks at."""
    min_runs: Count = 5
    """Comparable finished runs of the family that are needed."""
    min_submissions: Count = 3
    """Submissions that those runs must come from; an array is one."""
    provisional_runs: Count = 20
    """Below this many runs a recommendation is shown as provisional and not mailed."""
    min_held_s: Positive = 600.0
    """Shorter runs are not comparable."""
    min_coverage: Ratio = 0.7
    """Runs measured for less than this share of their time are not comparable."""
    high_coverage: Ratio = 0.9
    """Coverage of every comparable run from which a recommendation may be of high confidence."""
    memory_held_s: Positive = 60.0
    """Memory of a GPU that was not used counts when it was held for at least this long."""
    memory_fill_ratio: Ratio = 0.9
    """Share of a GPU's memory that the remaining GPUs may be filled to."""
    time_p95_factor: Positive = 1.2
    """The time limit leaves this factor above the 95th percentile of elapsed time."""
    time_longest_factor: Positive = 1.1
    """The time limit leaves this factor above the longest run."""
    time_step_s: Positive = 900.0
    """Time limits are rounded up to this."""
    time_min_saving_ratio: Ratio = 0.2
    """A time limit that is shorter by less than this share is not worth a line."""
    wait_days: Count = 30
    """Days of queue waits that the gain rests on."""
    wait_min_runs: Count = 20
    """Runs needed on each side to say how long people waited."""


class ScheduleSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """[analytics.schedule]: seconds between the runs of each job, and how long their records are kept."""

    roll_up_s: Positive = 10.0
    """Hour and minute sums of the hours that new rows touched."""
    footprints_s: Positive = 30.0
    """Footprints of runs that ended or changed."""
    judge_s: Positive = 30.0
    """Findings on runs whose footprint is new."""
    rightsize_s: Positive = 900.0
    """Recommendations."""
    report_s: Positive = 300.0
    """Whether a week has ended and has no report yet."""
    keep_days: Count = 14
    """Days that the record of a job's run is kept."""


class Override(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """[[analytics.overrides]]: other thresholds for a partition, QOS or account; the narrowest wins."""

    partition: str | None = None
    """Only runs of this partition."""
    qos: str | None = None
    """Only runs of this QOS."""
    account: str | None = None
    """Only runs of this account."""
    rules: RuleOverrides = msgspec.field(default_factory=RuleOverrides)
    """The thresholds that differ, by rule."""

    def matches(self, partition: str | None, qos: str | None, account: str | None) -> bool:
        """Whether the override speaks of such a run."""
        asked = ((self.partition, partition), (self.qos, qos), (self.account, account))
        return all(wanted is None or wanted == value for wanted, value in asked)

    @property
    def width(self) -> tuple[int, bool, bool]:
        """Sorts from wide to narrow: more conditions are narrower, then account before QOS before partition."""
        given = sum(value is not None for value in (self.partition, self.qos, self.account))
        return given, self.account is not None, self.qos is not None


class AnalyticsSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """[analytics]: every key."""

    interactive_names: tuple[str, ...] = ("interactive", "*jupyter*", "*notebook*", "sys/dashboard/*")
    """Job names that mean an open session; * and ? allowed. Runs without a batch step are sessions anyway."""
    fault_events: tuple[str, ...] = ("gpu_lost", "order_disputed", "gpu_on_two_nodes", "xid", "ecc_uncorrectable")
    """Events that bar findings on the runs they happened in."""
    throttled_ratio: Ratio = 0.1
    """Share of a GPU's held time under thermal or power brake from which the run is not judged."""
    footprint: FootprintSettings = FootprintSettings()
    confidence: ConfidenceSettings = ConfidenceSettings()
    excluded: ExcludedSettings = ExcludedSettings()
    rightsizing: RightsizingSettings = RightsizingSettings()
    schedule: ScheduleSettings = ScheduleSettings()
    rules: RuleSettings = msgspec.field(default_factory=RuleSettings)
    overrides: tuple[Override, ...] = ()

    def params(self, rule: Rule, partition: str | None, qos: str | None, account: str | None) -> Params:
        """Returns a rule's thresholds for a run: the site's, then each override that matches, from wide to narrow."""
        found: Params = getattr(self.rules, rule.id)
        for override in sorted(self.overrides, key=lambda each: each.width):
            if override.matches(partition, qos, account):
                given: dict[str, Any] = msgspec.structs.asdict(getattr(override.rules, rule.id))
                changed = {key: value for key, value in given.items() if value is not msgspec.UNSET}
                found = msgspec.structs.replace(found, **changed)
        return found
