"""Wires the node daemon together and runs it, for `gpuledger collect`, `collect --once` and `gpuledger up`."""

import logging
import os
import signal
import threading
import time
from pathlib import Path
from typing import Final

from collector import carryover
from collector.agent import Agent
from collector.attribution import HookAttribution
from collector.baseline import Baselines
from collector.carryover import Carryover, kernel_boot_id
from collector.claims import Witness
from collector.deliver import BadAddress, Delivery
from collector.dropfiles import DropFolder
from collector.found_jobs import FoundJobs
from collector.gpu_list import TIMEOUT_S as GPU_LIST_TIMEOUT_S
from collector.gpu_list import GpuList, Where
from collector.grid import Grid
from collector.holdings import Attribution, placed
from collector.host import has_slurm, node_name
from collector.inventory import Inventory
from collector.job_processes import JobProcesses
from collector.liveness import ControlGroups
from collector.once import Once, describe_device
from collector.outbox import Outbox
from collector.probes import Context, UnknownProbe, build_probes, run_probe
from collector.ranked import RankedAttribution
from collector.readings import Moment
from collector.segmenter import Origin
from collector.sessions import Sessions
from collector.settings import CollectorSettings
from collector.site_files import SiteFiles
from collector.slurmd import cluster_name, config_file, find_slurmd, keeps_external_step
from collector.spool import Spool, SpoolBusy, SpoolUnusable
from collector.steps import StepEnvironments
from collector.systemd import notify
from store.formats.gpu_files import dcgm_mapping, jobstats
from store.segment import Event, Segment

log = logging.getLogger(__name__)
CANNOT_START: Final = (SpoolBusy, SpoolUnusable, BadAddress, UnknownProbe)
"""What ``run`` raises before it has begun; each message is one sentence with the next step."""
_CARRYOVER_FILE: Final = "agent.json"
_LAST_TRY_S: Final = 3.0  # to deliver what is left when asked to stop; systemd and Slurm are in a hurry then
_ONCE_SPAN_S: Final = 1.0


def run(settings: CollectorSettings, *, cluster: str, version: str, stop: threading.Event | None = None) -> None:
    """Runs the daemon until ``stop`` is set, or, without one, until SIGTERM or SIGINT; then flushes and returns.

    Args:
        settings: [collector].
        cluster: the Slurm cluster's name, or the site's own word on a host without Slurm.
        version: of the agent, as it stands in the segments.
        stop: ends the daemon; given where it runs as a thread beside a hub.

    Raises:
        SpoolBusy, SpoolUnusable, BadAddress, UnknownProbe: it cannot start (see CANNOT_START).
    """
    if stop is None:
        stop = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())
    node = node_name(settings.node)
    spool = Spool(Path(settings.spool_dir), round(settings.spool_max_mib * 1024 * 1024), settings.spool_max_age_s)
    try:
        delivery = Delivery(spool, settings)
        agent = _assemble(settings, _origin(settings, node, cluster, version), Outbox(spool, delivery))
        delivery.start()
        _loop(agent, Grid(settings.interval_s, node), stop)
        delivery.finish(_LAST_TRY_S)
    finally:
        spool.close()


def run_once(settings: CollectorSettings, *, cluster: str) -> Once:
    """Returns one reading of every probe, for printing; raises UnknownProbe. Touches neither spool nor hub."""
    node = node_name(settings.node)
    slurm = has_slurm(settings.slurm)
    inventory = Inventory()
    probes = build_probes(Context(settings, inventory, node, cluster))
    for probe in probes:
        if probe.needs_driver:
            run_probe(probe, Moment.now())  # primes: a row covers the time back to the reading before it
    time.sleep(_ONCE_SPAN_S)
    moment = Moment.now()
    read = [run_probe(probe, moment) for probe in probes]
    reports = [report for report, _ in read]
    processes = {position: listed for report in reports for position, listed in report.processes.items()}
    kept = Carryover(boot=kernel_boot_id())
    gpu_list = GpuList(Where(node, settings.slurmd, settings.slurm_conf), kept, GPU_LIST_TIMEOUT_S)
    attribution = _attribution(settings, node, cluster, inventory, kept, gpu_list, removes=False)
    holdings = attribution.holdings(moment.wall_ms, inventory.devices, processes)
    found = placed(attribution, inventory.devices)
    devices = tuple(describe_device(device, at, reports) for at, device in enumerate(found))
    problems = tuple(dict.fromkeys(report.error for report in reports if report.error))
    inventory.close()
    return Once(
        node=node,
        cluster=cluster,
        slurm=slurm,
        devices=devices,
        holdings=holdings,
        probes=tuple(probe_run for _, probe_run in read),
        problems=problems,
        gpu_list="" if gpu_list.listed is None else gpu_list.listed.source,
        gpu_list_problem=gpu_list.problem,
    )


def _origin(settings: CollectorSettings, node: str, cluster: str, version: str) -> Origin:
    return Origin(
        node=node,
        boot_id=os.urandom(16).hex(),
        cluster=cluster,
        agent=version,
        interval_ms=round(settings.interval_s * 1000),
        slurm=has_slurm(settings.slurm),
    )


def _assemble(settings: CollectorSettings, origin: Origin, outbox: Outbox) -> Agent:
    inventory = Inventory()
    kept_file = Path(settings.spool_dir) / _CARRYOVER_FILE
    kept = carryover.load(kept_file, kernel_boot_id())
    gpu_list = GpuList(Where(origin.node, settings.slurmd, settings.slurm_conf), kept)

    def ship(segment: Segment) -> tuple[Event, ...]:
        carryover.save(kept_file, kept)
        return outbox.ship(segment)

    return Agent(
        settings,
        origin,
        inventory,
        build_probes(Context(settings, inventory, origin.node, origin.cluster)),
        _attribution(settings, origin.node, origin.cluster, inventory, kept, gpu_list, removes=True),
        Baselines(kept.floors_mib),
        ship,
    )


def _attribution(
    settings: CollectorSettings,
    node: str,
    cluster: str,
    inventory: Inventory,
    kept: Carryover,
    gpu_list: GpuList,
    *,
    removes: bool,
) -> Attribution:
    if not has_slurm(settings.slurm):
        return Sessions(node, cluster, round(settings.session_gap_s * 1000), kept.sessions)
    # Accounting calls runs by Slurm's own name of the cluster; so must a source that does not know it.
    config = config_file(settings.slurm_conf, find_slurmd(node, None))
    cluster = cluster_name(config) or cluster
    folder = DropFolder(Path(settings.dropfile_dir))
    groups = ControlGroups(Path(settings.cgroup_root), node, keeps_external_step=keeps_external_step(config))
    hooks = HookAttribution(folder, groups, cluster, lambda: inventory.absent, kept, gpu_list, removes=removes)
    witnesses: list[Witness] = [SiteFiles(Path(settings.gpustat_dir), jobstats)]
    if settings.dcgm_job_dir:
        witnesses.append(SiteFiles(Path(settings.dcgm_job_dir), dcgm_mapping))
    witnesses += [StepEnvironments(groups), JobProcesses()]
    return RankedAttribution(hooks, witnesses, FoundJobs(groups, cluster, kept))


def _loop(agent: Agent, grid: Grid, stop: threading.Event) -> None:
    agent.start(Moment.now())
    notify("READY=1")
    failure = ""
    while True:
        beat = grid.next(time.time())
        if stop.wait(beat.wait_s):
            break
        try:
            agent.beat(Moment.now(), reads=beat.reads)
            failure = ""
        except Exception as error:
            # A surprise costs this beat, not the daemon; the same one is logged once, not every second.
            if str(error) != failure:
                log.exception("reading failed")
            failure = str(error)
        notify("WATCHDOG=1")
    notify("STOPPING=1")
    agent.finish(Moment.now())
