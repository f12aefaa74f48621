"""Who holds which GPU of a Slurm node, from every source that it has.

Drop-files of our hooks say it all. Of a job without one, or whose places cannot be told, the best other source counts:
a site's own files, then the environment of its steps, then the GPUs on which its processes are. Where sources
contradict each other that is told; where a process contradicts a list, nobody is judged (collector/disputes.py).
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence

import msgspec

from collector.attribution import HookAttribution
from collector.claims import Claim, Scene, Witness
from collector.disputes import Disputes
from collector.found_jobs import FoundJobs
from collector.holdings import TellingAttribution
from collector.readings import GpuProcess
from collector.site_files import SiteFiles
from store.segment import Device, Event, Holding

Placing = Callable[[Sequence[str], Sequence[Device]], tuple[int, ...] | None]


class RankedAttribution:
    """The sources of one node, the hooks first and ``witnesses`` in the order of their rank."""

    def __init__(self, hooks: HookAttribution, witnesses: Sequence[Witness], found: FoundJobs) -> None:
        self._hooks = hooks
        self._witnesses = witnesses
        self._found = found
        self._filled: dict[str, Claim] = {}  # of jobs whose drop-file names places that cannot be told
        self._disputes = Disputes()
        self._known: frozenset[str] = frozenset()  # jobs at the look before
        self._disagreed: set[str] = set()
        self._events: list[Event] = []

    def changed(self) -> bool:
        """Returns whether drop-files, or files of the site's, have come or gone: the others take more than a look."""
        return self._hooks.changed() or any(each.changed() for each in self._witnesses if isinstance(each, SiteFiles))

    def take_events(self) -> tuple[Event, ...]:
        """Returns what could not be attributed since the last call, and why."""
        events = [*self._hooks.take_events(), *self._events]
        for witness in self._witnesses:
            events += witness.take_events() if isinstance(witness, TellingAttribution) else ()
        self._events = []
        return tuple(events)

    def positions(self, devices: Sequence[Device]) -> dict[int, int]:
        """Returns the place in Slurm's list of each device whose place is known."""
        return self._hooks.positions(devices)

    def holdings(
        self, now_ms: int, devices: Sequence[Device], processes: Mapping[int, tuple[GpuProcess, ...]]
    ) -> tuple[Holding, ...]:
        """Returns the holds that last, and those that ended (see collector.holdings.Attribution)."""
        told = self._hooks.holdings(now_ms, devices)
        by_hook = {holding.job_id: holding for holding in told if holding.end_ms is None}
        claims = self._claims(Scene(now_ms, processes, lambda words: self._hooks.place(words, devices)), by_hook)
        found = self._found.holdings(claims, told, now_ms, devices)
        everything = [*(self._completed(holding, claims) for holding in told), *found]
        self._note_disputes(everything, found, processes, now_ms)
        return _marked(everything, may_share=self._hooks.may_share)

    def _claims(self, scene: Scene, by_hook: Mapping[str, Holding]) -> dict[str, Claim]:
        """Returns the best claim for each job. One that need not be whole is added to by those of lower rank."""
        best: dict[str, Claim] = {}
        for witness in self._witnesses:
            for job_id, claim in witness.claims(scene).items():
                known = best.get(job_id)
                held = by_hook[job_id].devices if job_id in by_hook else known.devices if known is not None else ()
                if known is None:
                    best[job_id] = claim
                elif not known.is_whole:
                    best[job_id] = msgspec.structs.replace(known, devices=known.devices | claim.devices)
                whole = job_id in by_hook or (known is not None and known.is_whole)
                if held and whole and not claim.devices <= set(held) and claim.source != "cgroup":
                    self._disagree(job_id, claim, scene.now_ms)
        return best

    def _disagree(self, job_id: str, claim: Claim, now_ms: int) -> None:
        if job_id not in self._disagreed:
            self._disagreed.add(job_id)
            detail = f"job {job_id} holds other GPUs by source {claim.source} than by a better one"
            self._tell(now_ms, "sources_disagree", detail)

    def _completed(self, holding: Holding, claims: Mapping[str, Claim]) -> Holding:
        """Returns a hold of the hooks, with the devices of another source where its places cannot be told."""
        job_id = holding.job_id
        if holding.devices:
            self._filled.pop(job_id, None)
            return holding
        before, claim = self._filled.get(job_id), claims.get(job_id)
        if before is not None and claim is not None:
            claim = msgspec.structs.replace(claim, devices=claim.devices | before.devices)
        claim = claim or before
        if claim is None:
            return holding
        self._filled[job_id] = claim
        if holding.end_ms is not None:
            del self._filled[job_id]
        return msgspec.structs.replace(holding, devices=tuple(sorted(claim.devices)), source=claim.source)

    def _note_disputes(
        self,
        everything: Sequence[Holding],
        found: Sequence[Holding],
        processes: Mapping[int, tuple[GpuProcess, ...]],
        now_ms: int,
    ) -> None:
        live = [holding for holding in everything if holding.end_ms is None]
        jobs = frozenset(holding.job_id for holding in live)
        # What processes themselves have shown contradicts no process.
        held = {h.job_id: None if h.source == "cgroup" or not h.devices else h.devices for h in live}
        hooked = jobs - {holding.job_id for holding in found if self._hooks.installed} | self._found.over
        disputed = self._disputes.disputed
        self._events += self._disputes.events(held, hooked, processes, now_ms)
        if disputed and jobs - self._known:
            # The event must lie within a run's life to keep findings from it.
            self._tell(now_ms, "order_disputed", "a job began while it is disputed which GPU is whose here")
        self._known = jobs

    def _tell(self, now_ms: int, kind: str, detail: str) -> None:
        self._events.append(Event(ts_ms=now_ms, kind=kind, detail=detail))


def _marked(holdings: Collection[Holding], *, may_share: bool) -> tuple[Holding, ...]:
    """Returns the holds, those on a device with another one marked: nobody can say whose work it does."""
    lasting = Counter(device for holding in holdings if holding.end_ms is None for device in holding.devices)
    return tuple(
        msgspec.structs.replace(
            holding,
            shared=holding.shared
            or (holding.end_ms is None and any(lasting[device] > 1 for device in holding.devices)),
            may_share=may_share,
        )
        for holding in holdings
    )
