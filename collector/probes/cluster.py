"""What the Slurm cluster has, by scontrol, sacctmgr, sreport on one host: nodes, partitions, reservations, accounts.

Nodes cost slurmctld two requests (it is asked for partitions beside them), partitions and reservations one each,
accounts and what they used none; docs/adr/0006 says why nodes are read every five minutes and the others more seldom.
(This host's own GPUs are collector.inventory.)
"""

from datetime import UTC, datetime
from typing import Final, TypeVar

import msgspec

from collector.probes import Context
from collector.readings import Moment, Report
from collector.slurm_command import SlurmCommand, SlurmProblem
from store.formats.sacctmgr import FIELDS, parse_accounts
from store.formats.scontrol import Parsed, Refusal, parse_nodes, parse_partitions, parse_reservations
from store.formats.sreport import FIELDS as USAGE_FIELDS
from store.formats.sreport import parse_usage
from store.segment import (
    AccountSeen,
    AccountUsage,
    Event,
    InventoryReading,
    NodeSeen,
    PartitionSeen,
    ReservationSeen,
    standing,
)

T = TypeVar("T")

_LAYOUT_EVERY_S: Final = 600  # partitions and reservations
_ACCOUNTS_EVERY_S: Final = 3600
_ALL_NODES_EVERY_S: Final = 3600
_USAGE_DAYS: Final = 3  # whole days before today
_DAY_MS: Final = 86_400_000
_EARLY_S: Final = 30.0  # readings come a little early or late: a rhythm is kept to its nearest reading
_CALLS_FOR_NODES: Final = 2
_CALLS_FOR_LAYOUT: Final = 2


class ClusterProbe:
    """Passes on the nodes of which something is new; every hour, and after a start, all of them."""

    name = "cluster"
    needs_driver = False

    def __init__(
        self, scontrol: SlurmCommand, sacctmgr: SlurmCommand | None, sreport: SlurmCommand | None, every_s: float
    ) -> None:
        """``sacctmgr`` and ``sreport`` are None on a cluster without slurmdbd."""
        self.every_s = every_s
        self._scontrol = scontrol
        self._sacctmgr = sacctmgr
        self._sreport = sreport
        self._known: dict[str, NodeSeen] = {}
        self._read_ms: int | None = None  # the last reading of the nodes
        self._last_s: dict[str, float] = {}  # by kind, on the steady clock
        self._told: set[str] = set()

    def read(self, moment: Moment) -> Report:
        """Returns what is new. What cannot be read costs itself alone, and is asked for again at the next reading."""
        problems: list[str] = []
        refused: list[Refusal] = []
        reading = InventoryReading(at_ms=moment.wall_ms)
        for part in (self._nodes, self._layout, self._accounts, self._usage):
            try:
                reading = part(moment, reading, refused)
            except SlurmProblem as error:
                problems.append(str(error))
        fresh = sorted({refusal.reason for refusal in refused} - self._told)
        self._told.update(fresh)
        kinds = (reading.nodes, reading.partitions, reading.reservations, reading.accounts, reading.usage)
        found = sum(map(len, kinds))
        return Report(
            inventory=reading if found or reading.calls else None,
            count=found,
            events=tuple(Event(ts_ms=moment.wall_ms, kind="inventory_refused", detail=reason) for reason in fresh),
            error=problems[0] if problems else "",
        )

    def _nodes(self, moment: Moment, reading: InventoryReading, refused: list[Refusal]) -> InventoryReading:
        output = self._scontrol.ask("--oneliner", "show", "node", "--details")
        nodes = _kept(parse_nodes(output, moment.wall_ms), refused)
        whole = self._is_due("all nodes", _ALL_NODES_EVERY_S, moment)
        told = tuple(self._dated(node) for node in nodes if whole or self._is_news(node))
        self._known = {node.name: node for node in nodes}
        self._read_ms = moment.wall_ms
        if whole:
            self._last_s["all nodes"] = moment.steady_s
        return msgspec.structs.replace(reading, nodes=told, calls=reading.calls + _CALLS_FOR_NODES)

    def _layout(self, moment: Moment, reading: InventoryReading, refused: list[Refusal]) -> InventoryReading:
        if not self._is_due("layout", _LAYOUT_EVERY_S, moment):
            return reading
        partitions: tuple[PartitionSeen, ...] = _kept(
            parse_partitions(self._scontrol.ask("--oneliner", "show", "partition")), refused
        )
        reservations: tuple[ReservationSeen, ...] = _kept(
            parse_reservations(self._scontrol.ask("--oneliner", "show", "reservation")), refused
        )
        self._last_s["layout"] = moment.steady_s
        return msgspec.structs.replace(
            reading, partitions=partitions, reservations=reservations, calls=reading.calls + _CALLS_FOR_LAYOUT
        )

    def _accounts(self, moment: Moment, reading: InventoryReading, refused: list[Refusal]) -> InventoryReading:
        if self._sacctmgr is None or not self._is_due("accounts", _ACCOUNTS_EVERY_S, moment):
            return reading
        output = self._sacctmgr.ask(
            "--noheader", "--parsable2", "--readonly", "show", "associations", f"format={','.join(FIELDS)}"
        )
        accounts: tuple[AccountSeen, ...] = _kept(parse_accounts(output), refused)
        self._last_s["accounts"] = moment.steady_s
        return msgspec.structs.replace(reading, accounts=accounts)

    def _usage(self, moment: Moment, reading: InventoryReading, refused: list[Refusal]) -> InventoryReading:
        """Slurm rolls up hour by hour, and again where runs came late: the last days are asked for again."""
        if self._sreport is None or not self._is_due("usage", _ACCOUNTS_EVERY_S, moment):
            return reading
        today_ms = moment.wall_ms // _DAY_MS * _DAY_MS
        usage: list[AccountUsage] = []
        for day_ms in range(today_ms - _USAGE_DAYS * _DAY_MS, today_ms, _DAY_MS):
            start, end = (
                f"{datetime.fromtimestamp(at / 1000, UTC):%Y-%m-%dT00:00:00}" for at in (day_ms, day_ms + _DAY_MS)
            )
            output = self._sreport.ask(
                *(
                    "--noheader",
                    "--parsable2",
                    "-t",
                    "Seconds",
                    "-T",
                    "gres/gpu",
                    "cluster",
                    "AccountUtilizationByUser",
                ),
                *(f"start={start}", f"end={end}", f"format={','.join(USAGE_FIELDS)}"),
            )
            usage += _kept(parse_usage(output, day_ms), refused)
        self._last_s["usage"] = moment.steady_s
        return msgspec.structs.replace(reading, usage=tuple(usage))

    def _is_due(self, kind: str, every_s: float, moment: Moment) -> bool:
        last_s = self._last_s.get(kind)
        return last_s is None or moment.steady_s - last_s >= every_s - _EARLY_S

    def _is_news(self, node: NodeSeen) -> bool:
        """Whether a node is worth a word: it has changed, or it is out of use and that lasts."""
        before = self._known.get(node.name)
        if before is None or standing(node.state, node.flags) != "up":
            return True
        return msgspec.structs.replace(before, at_ms=node.at_ms) != node

    def _dated(self, node: NodeSeen) -> NodeSeen:
        """Returns the node from the moment on that its reason is of, where that lies between two readings."""
        before = self._known.get(node.name)
        if before is None or before.reason_ms == node.reason_ms or node.reason_ms is None or self._read_ms is None:
            return node
        if not self._read_ms < node.reason_ms < node.at_ms:
            return node
        return msgspec.structs.replace(node, at_ms=node.reason_ms)


def build(context: Context) -> ClusterProbe:
    """Returns the probe for this host."""
    settings = context.settings
    scontrol = SlurmCommand(
        settings.scontrol,
        settings.cluster_timeout_s,
        setting="collector.scontrol",
        probe="cluster",
        look="see whether slurmctld answers (scontrol ping)",
    )
    sacctmgr = SlurmCommand(
        settings.sacctmgr,
        settings.cluster_timeout_s,
        setting="collector.sacctmgr",
        probe="cluster",
        look="see whether slurmdbd answers (sacctmgr ping), or set collector.sacctmgr to nothing where there is none",
    )
    sreport = SlurmCommand(
        settings.sreport,
        settings.cluster_timeout_s,
        setting="collector.sreport",
        probe="cluster",
        look="see whether slurmdbd answers (sacctmgr ping), or set collector.sreport to nothing where there is none",
        environment={"TZ": "UTC"},  # days are those of UTC, whatever the zone of this host
    )
    return ClusterProbe(
        scontrol,
        sacctmgr if settings.sacctmgr else None,
        sreport if settings.sreport else None,
        settings.cluster_every_s,
    )


def _day(at_ms: int) -> str:
    return f"{datetime.fromtimestamp(at_ms / 1000, UTC):%Y-%m-%dT00:00:00}"


def _kept(parsed: Parsed[T], refused: list[Refusal]) -> tuple[T, ...]:
    refused += parsed.refusals
    return parsed.found
