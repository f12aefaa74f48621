"""From what Slurm calls a GPU to the device: a UUID says it, a number is a place in Slurm's own list of the node.

SLURM_JOB_GPUS holds positions in that list: the order of File= in gres.conf, or what AutoDetect found, possibly by PCI
bus. The driver counts by PCI bus, and minor numbers follow the order in which the kernel module met the boards. Without
the list (collector/gpu_list.py) a position is taken for a device only where all these orders are one.
"""

from collections.abc import Collection, Sequence

from collector.carryover import KeptList, ListedGpu
from store.segment import Device


class UnknownDevice(ValueError):
    """It cannot be told which device is meant. The message says why."""


def resolve(
    positions: Sequence[str],
    visible: Sequence[str],
    devices: Sequence[Device],
    lost: Collection[int],
    listed: KeptList | None = None,
) -> tuple[int, ...]:
    """Returns which ``devices`` a job holds, by their positions there, ascending; raises UnknownDevice.

    Args:
        positions: SLURM_JOB_GPUS in pieces.
        visible: CUDA_VISIBLE_DEVICES of the hook in pieces; the only place with UUIDs and MIG UUIDs.
        devices: this node's devices.
        lost: those of them that do not answer now.
        listed: Slurm's list; None where it is not known.
    """
    by_uuid = {device.uuid: at for at, device in enumerate(devices)}
    for words in (visible, positions):
        if words and all(word.startswith(("GPU-", "MIG-")) for word in words):
            return tuple(sorted({_of_uuid(word, by_uuid) for word in words}))
    numbers = positions or visible
    if not numbers or not all(word.isascii() and word.isdigit() for word in numbers):
        raise UnknownDevice(f"{','.join(numbers) or 'nothing'} names no GPU of this node")
    order = _order(devices, lost, listed)
    places = {int(word) for word in numbers}
    if beyond := [place for place in places if place >= len(order)]:
        raise UnknownDevice(f"Slurm counts to GPU {max(beyond)} and {len(order)} are known")
    found = {place: at for place in places if (at := order[place]) is not None}
    if unknown := places - found.keys():
        raise UnknownDevice(f"GPU {min(unknown)} of Slurm's list is none that the driver shows whole")
    return tuple(sorted(found.values()))


def positions_of(devices: Sequence[Device], lost: Collection[int], listed: KeptList | None) -> dict[int, int]:
    """Returns the place in Slurm's list of each device whose place is known."""
    try:
        order = _order(devices, lost, listed)
    except UnknownDevice:
        return {}
    return {at: place for place, at in enumerate(order) if at is not None}


def _order(devices: Sequence[Device], lost: Collection[int], listed: KeptList | None) -> list[int | None]:
    """Returns the device of each place; a list that may be another counts only where it changes nothing."""
    if listed is None:
        return _only_order(devices, lost)
    order = _listed_order(devices, lost, listed.gpus)
    if listed.doubt and order != _only_order(devices, lost):
        raise UnknownDevice(listed.doubt)
    return order


def _listed_order(devices: Sequence[Device], lost: Collection[int], gpus: Sequence[ListedGpu]) -> list[int | None]:
    """Returns the device of each place; None where the driver shows none for it, or one that is cut into instances."""
    by_uuid = {device.uuid: at for at, device in enumerate(devices)}
    # A minor number that a lost GPU had may be another's after the driver was loaded again.
    by_minor = {
        device.minor: at
        for answers in (False, True)
        for at, device in enumerate(devices)
        if (at not in lost) is answers and device.parent_uuid is None and not device.in_mig_mode
    }
    return [
        by_uuid.get(gpu.uuid) if gpu.uuid else None if gpu.minor is None else by_minor.get(gpu.minor) for gpu in gpus
    ]


def _of_uuid(word: str, by_uuid: dict[str, int]) -> int:
    # CUDA takes any unambiguous beginning of a UUID.
    matching = [at for uuid, at in by_uuid.items() if uuid.startswith(word)]
    if len(matching) != 1:
        raise UnknownDevice(f"{word} is no device that the driver shows here")
    return matching[0]


def _only_order(devices: Sequence[Device], lost: Collection[int]) -> list[int | None]:
    """Returns the devices in the one order in which they can be counted."""
    if lost:
        raise UnknownDevice(f"{len(lost)} of {len(devices)} GPUs do not answer, so places cannot be told")
    if any(device.in_mig_mode for device in devices):
        raise UnknownDevice("a GPU here is cut into MIG instances, which Slurm counts as GPUs")
    whole = [at for at, device in enumerate(devices) if device.parent_uuid is None]
    if not whole:
        raise UnknownDevice("the driver shows no GPU")
    by_index = sorted(whole, key=lambda at: -1 if (index := devices[at].index) is None else index)
    counted = list(range(len(whole)))
    if [devices[at].index for at in by_index] != counted:
        raise UnknownDevice("the driver's numbers have gaps")
    if [devices[at].minor for at in by_index] != counted:
        raise UnknownDevice("the device files are numbered in another order than the driver's")
    buses = [(devices[at].pci_bus_id or "").lower() for at in by_index]
    if "" in buses or buses != sorted(buses):
        raise UnknownDevice("the GPUs sit on the PCI bus in another order than the driver's")
    return [*by_index]
