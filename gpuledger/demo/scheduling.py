"""A small backfill scheduler: first come first served, later jobs fill gaps that do not delay the first that waits."""

import heapq
from collections.abc import Iterable

import msgspec

from gpuledger.demo.cluster import Cluster, Partition
from gpuledger.demo.demand import Fate, Request, fate
from gpuledger.demo.incidents import Incidents

START_LAG_S = 1
EPILOG_S = 6  # a node is COMPLETING for some seconds
REQUEUE_S = 121  # a requeued job may begin two minutes later
FAULT_NOTICED_S = 40  # from a GPU's fall to the error that ends its program
FIRST_DB_INDEX = 9_100_000

GpuIndex = tuple[int, int]  # node ordinal, position in the node's list


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One execution, [start_s, end_s), on the GPUs of ``places``."""

    request: Request
    restart: int
    submit_s: int
    start_s: int
    end_s: int
    places: tuple[GpuIndex, ...]
    state: str
    exit_code: str
    fate: Fate
    db_index: int

    @property
    def nodes(self) -> tuple[int, ...]:
        """Node ordinals, each once, in order."""
        return tuple(dict.fromkeys(node for node, _ in self.places))


class _Waiting(msgspec.Struct, frozen=True):
    submit_s: int
    request: Request
    restart: int


class _Reserved(msgspec.Struct, frozen=True):
    """Nodes kept for the first job that waits: whoever uses them must be gone by then."""

    nodes: frozenset[int]
    from_s: int


def schedule(asked: Iterable[Request], cluster: Cluster, broken: Incidents) -> list[Run]:
    """Returns every run in order of start. Nothing before a moment depends on what is submitted after it."""
    return _Scheduler(cluster, broken).runs(asked)


class _Scheduler:
    """Queue, free GPUs, and what happens next."""

    def __init__(self, cluster: Cluster, broken: Incidents) -> None:
        self.partitions = cluster.partitions
        self.free: list[set[int]] = [set(range(cluster.gpus_per_node)) for _ in cluster.nodes]
        self.down: set[int] = set()
        self.closed: set[int] = set()  # drained or kept: what runs there goes on, nothing begins
        self.lost: set[GpuIndex] = set()
        self.queues: dict[str, list[_Waiting]] = {name: [] for name in cluster.partitions}
        self.running: dict[int, Run] = {}  # by db_index; end_s is what is planned
        self.here: list[dict[int, Run]] = [{} for _ in cluster.nodes]  # the same, by node
        self.done: list[Run] = []
        self.events: list[tuple[int, int, str, object]] = []
        self.pushed = 0
        self.stirred: set[str | int] = set()  # queues and nodes where something may fit now that did not before
        for span in broken.down:
            self.at(span.start_s, "down", span.node)
            self.at(span.end_s, "up", span.node)
        for closure in broken.closed:
            self.at(closure.start_s, "closed", closure.nodes)
            self.at(closure.end_s, "opened", closure.nodes)
        for span in broken.lost:
            self.at(span.start_s, "lost", (span.node, span.gpu))
            self.at(span.end_s, "back", (span.node, span.gpu))

    def at(self, time_s: int, what: str, subject: object) -> None:
        """Notes an event; equal times keep the order in which they were noted."""
        heapq.heappush(self.events, (time_s, self.pushed, what, subject))
        self.pushed += 1

    def runs(self, asked: Iterable[Request]) -> list[Run]:
        for request in asked:
            self.at(request.submit_s, "submit", _Waiting(request.submit_s, request, 0))
        while self.events:
            now_s, _, what, subject = heapq.heappop(self.events)
            getattr(self, f"on_{what}")(now_s, subject)
            for partition in self.partitions.values():
                if self.queues[partition.name] and self.stirred.intersection((partition.name, *partition.nodes)):
                    self.serve(partition, now_s)
            self.stirred.clear()
        return sorted(self.done, key=lambda run: run.db_index)

    # ---- events

    def on_submit(self, _now_s: int, waiting: _Waiting) -> None:
        self.queues[waiting.request.family.partition].append(waiting)
        self.stirred.add(waiting.request.family.partition)

    def on_end(self, now_s: int, db_index: int) -> None:
        run = self.running.get(db_index)
        if run is not None:  # a fault may have ended it before
            self.end(run, now_s, run.state, run.exit_code)

    def on_freed(self, _now_s: int, places: tuple[GpuIndex, ...]) -> None:
        for node, gpu in places:
            self.stirred.add(node)
            if (node, gpu) not in self.lost:
                self.free[node].add(gpu)

    def on_down(self, now_s: int, node: int) -> None:
        self.down.add(node)
        for run in list(self.here[node].values()):
            self.end(run, now_s, "NODE_FAIL", "1:0")

    def on_up(self, _now_s: int, node: int) -> None:
        self.down.discard(node)
        self.stirred.add(node)

    def on_closed(self, _now_s: int, nodes: tuple[int, ...]) -> None:
        self.closed.update(nodes)

    def on_opened(self, _now_s: int, nodes: tuple[int, ...]) -> None:
        self.closed.difference_update(nodes)
        self.stirred.update(nodes)

    def on_lost(self, now_s: int, place: GpuIndex) -> None:
        self.lost.add(place)
        self.free[place[0]].discard(place[1])
        for run in self.here[place[0]].values():
            if place in run.places:
                self.at(now_s + FAULT_NOTICED_S, "broken", run.db_index)

    def on_broken(self, now_s: int, db_index: int) -> None:
        run = self.running.get(db_index)
        if run is not None:
            self.end(run, now_s, "FAILED", "1:0")

    def on_back(self, _now_s: int, place: GpuIndex) -> None:
        self.lost.discard(place)
        self.free[place[0]].add(place[1])
        self.stirred.add(place[0])

    def end(self, run: Run, now_s: int, state: str, exit_code: str) -> None:
        """Ends a run; one that a node took with it, or that goes on by itself, queues again under its id."""
        del self.running[run.db_index]
        for node in run.nodes:
            del self.here[node][run.db_index]
        self.done.append(msgspec.structs.replace(run, end_s=now_s, state=state, exit_code=exit_code))
        self.at(now_s + EPILOG_S, "freed", run.places)
        if state in ("NODE_FAIL", "REQUEUED") and run.request.family.batch:
            again = _Waiting(now_s, run.request, run.restart + 1)
            self.at(now_s + REQUEUE_S, "submit", again)

    # ---- placing

    def serve(self, partition: Partition, now_s: int) -> None:
        """Starts what fits. The first that does not gets a reservation, which those behind it respect."""
        reserved: _Reserved | None = None
        left: list[_Waiting] = []
        refused: set[tuple[int, int, int]] = set()  # tasks of an array ask for the same: one refusal answers all
        for waiting in self.queues[partition.name]:
            asks = (waiting.request.gpus_per_node, waiting.request.family.nodes, waiting.request.limit_s)
            places = () if asks in refused else self.fit(partition, waiting, now_s, reserved)
            if places:
                self.start(waiting, places, now_s + START_LAG_S)
                continue
            refused.add(asks)
            left.append(waiting)
            reserved = reserved or self.reserve(partition, waiting)
        self.queues[partition.name] = left

    def fit(
        self, partition: Partition, waiting: _Waiting, now_s: int, reserved: _Reserved | None
    ) -> tuple[GpuIndex, ...]:
        request = waiting.request
        held_back: frozenset[int] = frozenset()
        if reserved is not None and now_s + request.limit_s > reserved.from_s:
            held_back = reserved.nodes
        able = [
            node
            for node in partition.nodes
            if len(self.free[node]) >= request.gpus_per_node
            and node not in self.down
            and node not in self.closed
            and node not in held_back
        ]
        if len(able) < request.family.nodes:
            return ()
        able.sort(key=lambda node: len(self.free[node]))  # the fullest first, as Slurm's best fit does
        chosen = sorted(able[: request.family.nodes])
        return tuple((node, gpu) for node in chosen for gpu in sorted(self.free[node])[: request.gpus_per_node])

    def reserve(self, partition: Partition, waiting: _Waiting) -> _Reserved:
        """Returns when and where the job can start at the latest: as the limits of what runs say."""
        ready = sorted((self.ready_s(node, waiting.request.gpus_per_node), node) for node in partition.nodes)
        chosen = ready[: waiting.request.family.nodes]
        return _Reserved(frozenset(node for _, node in chosen), chosen[-1][0])

    def ready_s(self, node: int, gpus: int) -> int:
        free = len(self.free[node])
        latest = 0
        ends = sorted(
            (run.start_s + run.request.limit_s, run.request.gpus_per_node) for run in self.here[node].values()
        )
        for end_s, count in ends:
            if free >= gpus:
                break
            free, latest = free + count, end_s
        return latest

    def start(self, waiting: _Waiting, places: tuple[GpuIndex, ...], start_s: int) -> None:
        request = waiting.request
        for node, gpu in places:
            self.free[node].discard(gpu)
        how = fate(request, waiting.restart)
        run = Run(
            request=request,
            restart=waiting.restart,
            submit_s=waiting.submit_s,
            start_s=start_s,
            end_s=start_s + how.ends_after_s,
            places=places,
            state=how.state,
            exit_code=how.exit_code,
            fate=how,
            db_index=FIRST_DB_INDEX + len(self.running) + len(self.done),
        )
        self.running[run.db_index] = run
        for node in run.nodes:
            self.here[node][run.db_index] = run
        self.at(run.end_s, "end", run.db_index)
