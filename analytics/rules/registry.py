"""How a rule declares itself. One file a rule: its function's name is the rule's id, and importing it registers it."""

from collections.abc import Callable
from typing import Annotated, Any, Final, TypeVar

import msgspec

from analytics.evidence import Outcome, RunEvidence
from analytics.gpu_models import GpuModel

# Types of thresholds: a percentage where a ratio belongs would silently switch a rule off, so it is an error.
Seconds = Annotated[float, msgspec.Meta(ge=0)]
Ratio = Annotated[float, msgspec.Meta(ge=0, le=1)]
Percent = Annotated[float, msgspec.Meta(ge=0, le=100)]
Factor = Annotated[float, msgspec.Meta(ge=0)]


class Params(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What every rule's section of the configuration may say; a rule adds its thresholds to it."""

    enabled: bool = True
    """Whether this rule is judged at all."""
    fix: str = ""
    """Lines of the site that replace the fix; $job_id and the numbers of the finding are filled in."""
    help_url: str = ""
    """Page with more help on this finding."""
    contact: str = ""
    """Whom to ask about this finding; empty: the site's contact."""


P = TypeVar("P", bound=Params)


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One rule as it was registered.

    Attributes:
        title: what people see; ``{k}`` and the like are filled from the finding's numbers.
        order: place in the order in which idle time is given away; the first to claim a second keeps it.
        version: goes up when the condition changes, so that old findings say what they were judged by.
        running: also judged while the run lasts.
        finished: judged when the run is over.
        sessions: also judged on a host without Slurm, where nobody asked a scheduler for anything.
        interactive: also judged on interactive runs.
    """

    id: str
    version: int
    title: str
    order: int
    params: type[Params]
    condition: Callable[..., Outcome]
    running: bool
    finished: bool
    sessions: bool
    interactive: bool


REGISTERED: Final[dict[str, Rule]] = {}


def rule(
    *,
    title: str,
    order: int,
    params: type[P],
    version: int = 1,
    running: bool = False,
    finished: bool = True,
    sessions: bool = True,
    interactive: bool = False,
) -> Callable[[Callable[[RunEvidence, P, "Context"], Outcome]], Callable[[RunEvidence, P, "Context"], Outcome]]:
    """Registers a condition under its function's name."""

    def register(
        condition: Callable[[RunEvidence, P, "Context"], Outcome],
    ) -> Callable[[RunEvidence, P, "Context"], Outcome]:
        name = condition.__name__
        if name in REGISTERED:
            raise ValueError(f"two rules are called {name}; rename one")
        REGISTERED[name] = Rule(
            id=name,
            version=version,
            title=title,
            order=order,
            params=params,
            condition=condition,
            running=running,
            finished=finished,
            sessions=sessions,
            interactive=interactive,
        )
        return condition

    return register


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """What a condition may know beside the run itself."""

    now_ms: int
    explained_ms: int = 0  # idle GPU time that earlier rules explained
    found: frozenset[str] = frozenset()  # rules found on this run before this one
    interactive: bool = False  # somebody sits at the run
    was_open: bool = False  # this rule's finding is open: conditions to stay are easier than to begin
    models: tuple[GpuModel, ...] = ()  # GPU models of the run's cluster

    def mean_left_pct(self, run: RunEvidence) -> float | None:
        """Returns the mean utilization over the time that earlier findings leave, None where nothing is known.

        Explained time is idle, hence adds nothing worth counting to the sum of utilization x time.
        """
        left_ms = run.covered_ms - self.explained_ms
        return None if run.util_mean_pct is None or left_ms <= 0 else run.util_mean_pct * run.covered_ms / left_ms


def params_struct(name: str, rules: list[Rule], *, partial: bool) -> type[msgspec.Struct]:
    """Returns a Struct with one field a rule, typed by its Params, so that configuration is checked down to the key.

    With ``partial`` every field may be absent: the shape of an override, which says only what differs.
    """
    fields: list[Any] = []
    for each in rules:
        if partial:
            inner = msgspec.defstruct(
                f"{each.params.__name__}Override",
                [(field.name, field.type | msgspec.UnsetType, msgspec.UNSET) for field in _fields(each.params)],
                frozen=True,
                kw_only=True,
                forbid_unknown_fields=True,
            )
            fields.append((each.id, inner, msgspec.field(default_factory=inner)))
        else:
            fields.append((each.id, each.params, msgspec.field(default_factory=each.params)))
    return msgspec.defstruct(name, fields, frozen=True, kw_only=True, forbid_unknown_fields=True)


def _fields(params: type[Params]) -> tuple[msgspec.structs.FieldInfo, ...]:
    return msgspec.structs.fields(params)
