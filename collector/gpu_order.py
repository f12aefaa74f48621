"""From what Slurm calls a GPU to the device: a UUID says it, a number only where there is one way to count.

SLURM_JOB_GPUS holds positions in the node's own list of GPUs: the order of File= in gres.conf, or what AutoDetect
found, possibly by PCI bus. The driver counts by PCI bus, and minor numbers follow the order in which the kernel module
met the boards. A position is taken for a device only where all these orders are one, and unknown otherwise.
"""

from collections.abc import Collection, Sequence

from store.segment import Device


class UnknownDevice(ValueError):
    """It cannot be told which device is meant. The message says why."""


def resolve(
    positions: Sequence[str], visible: Sequence[str], devices: Sequence[Device], lost: Collection[int]
) -> tuple[int, ...]:
    """Returns which ``devices`` a job holds, by their positions there, ascending; raises UnknownDevice.

    Args:
        positions: SLURM_JOB_GPUS in pieces.
        visible: CUDA_VISIBLE_DEVICES of the hook in pieces; the only place with UUIDs and MIG UUIDs.
        devices: this node's devices.
        lost: those of them that do not answer now.
    """
    by_uuid = {device.uuid: at for at, device in enumerate(devices)}
    for words in (visible, positions):
        if words and all(word.startswith(("GPU-", "MIG-")) for word in words):
            return tuple(sorted({_of_uuid(word, by_uuid) for word in words}))
    numbers = positions or visible
    if not numbers or not all(word.isascii() and word.isdigit() for word in numbers):
        raise UnknownDevice(f"{','.join(numbers) or 'nothing'} names no GPU of this node")
    order = _only_order(devices, lost)
    places = {int(word) for word in numbers}
    if beyond := [place for place in places if place >= len(order)]:
        raise UnknownDevice(f"Slurm counts to GPU {max(beyond)} and the driver shows {len(order)}")
    return tuple(sorted(order[place] for place in places))


def _of_uuid(word: str, by_uuid: dict[str, int]) -> int:
    # CUDA takes any unambiguous beginning of a UUID.
    matching = [at for uuid, at in by_uuid.items() if uuid.startswith(word)]
    if len(matching) != 1:
        raise UnknownDevice(f"{word} is no device that the driver shows here")
    return matching[0]


def _only_order(devices: Sequence[Device], lost: Collection[int]) -> list[int]:
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
    return by_index
