"""A synthetic cluster from its start to a horizon: everything that happens, none of it measured yet."""

from collections.abc import Sequence
from functools import cached_property

from gpuledger.demo.cluster import DAY_S, Cluster, build
from gpuledger.demo.demand import requests
from gpuledger.demo.families import Family
from gpuledger.demo.incidents import Incidents, incidents
from gpuledger.demo.inventory import Inventory
from gpuledger.demo.mechanisms.activity import Activity
from gpuledger.demo.mechanisms.course import Placement
from gpuledger.demo.noise import generator
from gpuledger.demo.queueing import Backlog
from gpuledger.demo.scheduling import Run, schedule
from gpuledger.demo.settings import DemoSettings
from gpuledger.demo.workload import FAMILIES

_ACTIVITY = 4


class World:
    """Runs of every GPU from ``start_s`` to ``horizon_s``, epoch seconds.

    A later horizon changes nothing before an earlier one. ``families`` are the kinds of jobs that people submit.
    """

    def __init__(
        self, settings: DemoSettings, start_s: int, horizon_s: int, families: Sequence[Family] = FAMILIES
    ) -> None:
        self.settings = settings
        self._families = families
        self.start_s = start_s
        self.days = max(1, -(-(horizon_s - start_s) // DAY_S))
        self.horizon_s = start_s + self.days * DAY_S
        self.cluster: Cluster = build(settings)
        self.incidents: Incidents = incidents(self.cluster, settings.seed, start_s, settings.days)
        self._activities: dict[int, tuple[Activity, ...]] = {}

    @cached_property
    def runs(self) -> list[Run]:
        """Every run that starts before the horizon, in order of start."""
        asked = requests(self._families, self.cluster, self.settings.seed, self.start_s, self.days)
        return [run for run in schedule(asked, self.cluster, self.incidents) if run.start_s < self.horizon_s]

    @cached_property
    def by_node(self) -> list[list[Run]]:
        """The runs of each node, in order of start."""
        found: list[list[Run]] = [[] for _ in self.cluster.nodes]
        for run in self.runs:
            for node in run.nodes:
                found[node].append(run)
        return found

    @cached_property
    def backlog(self) -> Backlog:
        """What waits and what is held, at any moment."""
        return Backlog(self.runs, self.cluster)

    @cached_property
    def inventory(self) -> Inventory:
        """What Slurm has, at any moment."""
        return Inventory(self.runs, self.cluster, self.incidents)

    def activities(self, run: Run) -> tuple[Activity, ...]:
        """Returns what each GPU of ``run.places`` does, cut at the run's end."""
        found = self._activities.get(run.db_index)
        if found is None:
            found = self._activities[run.db_index] = self._simulate(run)
        return found

    def _simulate(self, run: Run) -> tuple[Activity, ...]:
        model = self.cluster.nodes[run.places[0][0]].model
        placement = Placement(start_s=run.start_s, gpus=len(run.places), model=model)
        rng = generator(*run.request.path, run.restart, _ACTIVITY)
        whole = run.request.family.does.activities(rng, run.fate.course, placement)
        held_s = float(run.end_s - run.start_s)
        cut = {id(activity): activity.lasting(held_s) for activity in whole}
        return tuple(cut[id(activity)] for activity in whole)
