"""Jobs without a drop-file, by what other sources claim: each from its oldest process to its last sight.

A job holds its GPUs also while nothing of it computes, so what was claimed once stays until the job is gone.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from collector.carryover import Carryover, FoundHold
from collector.claims import Claim
from collector.host import user_name
from collector.liveness import ControlGroups, Life
from collector.proc import PROC
from store.segment import Device, Holding


class FoundJobs:
    """The jobs that were found. ``carried`` keeps them over a restart of the daemon."""

    def __init__(self, groups: ControlGroups, cluster: str, carried: Carryover, proc: Path = PROC) -> None:
        self._groups = groups
        self._cluster = cluster
        self._carried = carried
        self._proc = proc
        self._met: set[str] = set()  # by this daemon
        self.over: set[str] = set()
        """Jobs whose end a drop-file has told while processes of them were left."""

    def holdings(
        self, claims: Mapping[str, Claim], told: Collection[Holding], now_ms: int, devices: Sequence[Device]
    ) -> list[Holding]:
        """Returns the jobs that last and those that ended.

        Args:
            claims: by job id.
            told: what drop-files say at this moment; of these jobs it is all that is to be said.
            now_ms: the moment.
            devices: the node's devices.
        """
        hooked = {holding.job_id for holding in told}
        self._carried.contained = self._carried.contained or self._groups.contained
        ended_now = {holding.job_id for holding in told if holding.end_ms is not None}
        self.over = {job for job in self.over | ended_now if self._groups.life_of(job) is Life.ALIVE}
        found = self._carried.found
        found[:] = [hold for hold in found if hold.job_id not in hooked]
        known = {device.uuid for device in devices}
        # One on a device that is not known yet (driver still loading) waits, so that its end is not lost.
        ended = [hold for hold in found if known.issuperset(hold.uuids) and not self._lives(hold, claims, now_ms)]
        found[:] = [hold for hold in found if hold not in ended]
        found += self._begun(claims, hooked, now_ms)
        for hold in found:
            _extend(hold, claims.get(hold.job_id), devices)
        lasting = [hold for hold in found if known.issuperset(hold.uuids)]
        return [*self._told(lasting, devices, lasting=True), *self._told(ended, devices, lasting=False)]

    def _lives(self, hold: FoundHold, claims: Mapping[str, Claim], now_ms: int) -> bool:
        if self._is_another(hold):
            return False
        claim = claims.get(hold.job_id)
        life = self._groups.life_of(hold.job_id)
        # A file says that an allocation lasts in which nothing runs; after a crash it says so of a job that is gone.
        told = claim is not None and claim.source == "site" and life is Life.ABSENT and not self._carried.contained
        if life is Life.ALIVE or told:
            hold.seen_ms = max(now_ms, hold.seen_ms)
            return True
        return False

    def _is_another(self, hold: FoundHold) -> bool:
        """Whether all processes of a job that was carried over are younger than its last sight: it was requeued."""
        if hold.job_id in self._met:
            return False
        self._met.add(hold.job_id)
        began_ms = self._groups.began_ms(hold.job_id, self._proc)
        return began_ms is not None and began_ms > hold.seen_ms

    def _begun(self, claims: Mapping[str, Claim], hooked: Collection[str], now_ms: int) -> Iterator[FoundHold]:
        known = {hold.job_id for hold in self._carried.found} | set(hooked) | self.over
        lives = {job_id: self._groups.life_of(job_id) for job_id in claims.keys() - known}
        self._carried.contained = self._carried.contained or self._groups.contained
        for job_id, life in sorted(lives.items()):
            claim = claims[job_id]
            if life is Life.ALIVE or (claim.source == "site" and life is Life.ABSENT and not self._carried.contained):
                self._met.add(job_id)
                began_ms = self._groups.began_ms(job_id, self._proc)
                start_ms = now_ms if began_ms is None else min(began_ms, now_ms)
                yield FoundHold(job_id, start_ms, now_ms, claim.source)

    def _told(self, holds: Sequence[FoundHold], devices: Sequence[Device], *, lasting: bool) -> Iterator[Holding]:
        for hold in holds:
            uuids = set(hold.uuids)
            yield Holding(
                kind="job",
                cluster=self._cluster,
                job_id=hold.job_id,
                start_ms=hold.start_ms,
                end_ms=None if lasting else max(hold.seen_ms, hold.start_ms),
                uid=hold.uid,
                user=None if hold.uid is None else user_name(hold.uid),
                devices=tuple(at for at, device in enumerate(devices) if device.uuid in uuids),
                source=hold.source,
            )


def _extend(hold: FoundHold, claim: Claim | None, devices: Sequence[Device]) -> None:
    if claim is None:
        return
    uuids = {devices[at].uuid for at in claim.devices}
    hold.uuids = sorted({*hold.uuids, *uuids})
    hold.uid = claim.uid if hold.uid is None else hold.uid
