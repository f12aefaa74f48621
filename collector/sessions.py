"""Sessions: on a host without Slurm, one user's processes on one GPU are an allocation.

Gaps below ten minutes are joined. During such a gap the session is still reported as lasting; where no process comes
back it ends, afterwards, when its last process was seen. Rows written meanwhile lie beyond its end and are nobody's.
"""

from collections.abc import Mapping, Sequence

from collector.carryover import OpenSession
from collector.host import user_name
from collector.readings import GpuProcess
from store.segment import Device, Holding


class Sessions:
    """Attribution by processes. ``open_sessions`` is shared with the carry-over file, so sessions outlive a restart."""

    def __init__(self, node: str, cluster: str, gap_ms: int, open_sessions: list[OpenSession]) -> None:
        self._node = node
        self._cluster = cluster
        self._gap_ms = gap_ms
        self._open = open_sessions

    def changed(self) -> bool:
        """Returns False: processes are only known at a reading, which asks anyway."""
        return False

    def holdings(
        self, now_ms: int, devices: Sequence[Device], processes: Mapping[int, tuple[GpuProcess, ...]]
    ) -> tuple[Holding, ...]:
        """Returns the sessions that last, and those that ended (see collector.holdings.Attribution)."""
        positions = {device.uuid: position for position, device in enumerate(devices)}
        working = self._working(now_ms, devices, processes)
        # A session on a device that is not known yet (driver still loading) waits, so that its end is not lost.
        ended = [s for s in self._open if s.uuid in positions and self._is_over(s, now_ms, working)]
        self._open[:] = [session for session in self._open if session not in ended]
        self._mark_shared()
        known = [session for session in self._open if session.uuid in positions]
        return tuple(
            [self._holding(session, positions, None) for session in known]
            + [self._holding(session, positions, session.seen_ms) for session in ended]
        )

    def _working(
        self, now_ms: int, devices: Sequence[Device], processes: Mapping[int, tuple[GpuProcess, ...]]
    ) -> set[tuple[str, int]]:
        """Marks or begins the session of every user with a process now; returns those (UUID, uid)."""
        working: set[tuple[str, int]] = set()
        for position, listed in processes.items():
            device = devices[position]
            for process in listed:
                if process.uid is None or (device.uuid, process.uid) in working:
                    continue
                working.add((device.uuid, process.uid))
                self._mark(device, position, process, process.uid, now_ms)
        return working

    def _mark(self, device: Device, position: int, process: GpuProcess, uid: int, now_ms: int) -> None:
        for session in self._open:
            if (session.uuid, session.uid) == (device.uuid, uid) and now_ms - session.seen_ms < self._gap_ms:
                session.seen_ms = now_ms
                return
        number = device.minor if device.minor is not None else device.index
        if device.parent_uuid is not None:
            number = None  # its GPU's is that of its neighbours, too
        gpu = str(position if number is None else number)
        self._open.append(OpenSession(uid, device.uuid, gpu, now_ms, now_ms, process.name))

    def _is_over(self, session: OpenSession, now_ms: int, working: set[tuple[str, int]]) -> bool:
        if session.seen_ms == now_ms:
            return False
        # Another user's work ends the wait: the GPU is no longer kept for the one who paused.
        taken = any(uuid == session.uuid and uid != session.uid for uuid, uid in working)
        return taken or now_ms - session.seen_ms >= self._gap_ms

    def _mark_shared(self) -> None:
        users: dict[str, set[int]] = {}
        for session in self._open:
            users.setdefault(session.uuid, set()).add(session.uid)
        for session in self._open:
            session.shared = session.shared or len(users[session.uuid]) > 1

    def _holding(self, session: OpenSession, positions: dict[str, int], end_ms: int | None) -> Holding:
        return Holding(
            kind="session",
            cluster=self._cluster,
            job_id=f"s-{self._node}-{session.uid}-{session.gpu}-{session.start_ms // 1000}",
            start_ms=session.start_ms,
            end_ms=end_ms,
            uid=session.uid,
            user=user_name(session.uid),
            name=session.name or None,
            devices=(positions[session.uuid],),
            source="process",
            shared=session.shared,
        )
