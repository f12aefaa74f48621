"""Slurm's numbers become devices only where nothing can be mistaken."""

import msgspec
import pytest

from collector.carryover import KeptList, ListedGpu
from collector.gpu_order import UnknownDevice, positions_of, resolve
from store.segment import Device


def node(*changes):
    devices = [
        Device(uuid=f"GPU-{letter}000", index=at, minor=at, pci_bus_id=f"00000000:{bus:02X}:00.0")
        for at, (letter, bus) in enumerate(zip("abcd", (0x1B, 0x3D, 0xB1, 0xDB), strict=True))
    ]
    for at, change in changes:
        devices[at] = msgspec.structs.replace(devices[at], **change)
    return devices


@pytest.mark.parametrize(("gpus", "expected"), [("0", (0,)), ("3,1", (1, 3)), ("0,1,2,3", (0, 1, 2, 3)), ("2,2", (2,))])
def test_where_all_orders_are_one_a_place_is_a_device(gpus, expected):
    assert resolve(gpus.split(","), gpus.split(","), node(), ()) == expected


def test_it_is_the_driver_s_index_that_is_counted_and_not_the_order_of_first_sight():
    devices = node()
    assert resolve(["0"], [], [devices[2], devices[0], devices[1], devices[3]], ()) == (1,)


@pytest.mark.parametrize(
    "devices",
    [
        node((0, {"minor": 1}), (1, {"minor": 0})),  # F081
        node((0, {"pci_bus_id": "00000000:FF:00.0"})),
        node((3, {"pci_bus_id": None})),
        node((2, {"minor": None})),
        node((2, {"index": 3}), (3, {"index": 2})),
        node()[:2] + node()[3:],  # one was lost before the daemon began
        [],
    ],
)
def test_where_orders_differ_nothing_is_said(devices):
    with pytest.raises(UnknownDevice):
        resolve(["0"], [], devices, ())


@pytest.mark.parametrize("gpus", ["4", "x", "", "0-1", "-1", "GPU-zzzz", "MIG-1", "GPU-a000,1", "\u0661"])
def test_what_names_no_device_is_unknown(gpus):
    with pytest.raises(UnknownDevice):
        resolve(gpus.split(",") if gpus else [], [], node(), ())


def test_a_lost_gpu_makes_places_unknown_and_leaves_uuids():
    with pytest.raises(UnknownDevice):
        resolve(["0"], [], node(), {2})
    assert resolve([], ["GPU-b000"], node(), {2}) == (1,)


def test_no_place_is_taken_for_a_gpu_on_a_node_in_mig_mode():
    """Slurm counts the instances of a GPU that is cut as GPUs: every place after it is another's."""
    devices = node((3, {"in_mig_mode": True}))
    with pytest.raises(UnknownDevice):
        resolve(["0"], [], devices, ())
    assert resolve([], ["GPU-b000"], devices, ()) == (1,)


def test_uuids_outrank_numbers():
    """F084: from 25.11 on CUDA_VISIBLE_DEVICES may hold UUIDs."""
    disordered = node((0, {"minor": 1}), (1, {"minor": 0}))
    assert resolve(["0", "1"], ["GPU-c000", "GPU-a000"], disordered, ()) == (0, 2)


def test_the_beginning_of_a_uuid_is_enough_where_it_is_one_device_s():
    assert resolve([], ["GPU-a"], node(), ()) == (0,)
    with pytest.raises(UnknownDevice):
        resolve([], ["GPU-"], node(), ())


def test_a_mig_instance_is_found_by_its_uuid_and_no_place_is_taken_for_its_parent():
    devices = [*node(), Device(uuid="MIG-1", parent_uuid="GPU-a000")]
    assert resolve(["0"], ["MIG-1"], devices, ()) == (4,)
    with pytest.raises(UnknownDevice):
        resolve(["0"], ["MIG-2"], devices, ())


def listed(*minors, doubt=""):
    return KeptList("", "slurmd -G", tuple(ListedGpu(minor) for minor in minors), doubt)


def test_a_list_in_doubt_counts_where_it_says_what_every_order_says():
    assert resolve(["2"], [], node(), (), listed(0, 1, 2, 3, doubt="it was changed")) == (2,)
    for minors in ((1, 2, 3), (0, 1, 2, 3, 4), (0, 1, 3, 2)):
        with pytest.raises(UnknownDevice, match="changed"):
            resolve(["2"], [], node(), (), listed(*minors, doubt="it was changed"))


@pytest.mark.parametrize(
    ("gpus", "minors", "expected"),
    [
        ("0", (3, 1, 2, 0), (3,)),
        ("2,0", (3, 1, 2, 0), (2, 3)),
        ("1", (2, 3), (3,)),  # File=/dev/nvidia[2-3]
        ("0,2", (0, 1, 3), (0, 3)),  # one was lost before slurmd began
    ],
)
def test_a_place_is_counted_in_slurm_s_list(gpus, minors, expected):
    assert resolve(gpus.split(","), [], node(), (), listed(*minors)) == expected


def test_minor_numbers_unlike_the_order_on_the_bus():
    devices = node((0, {"minor": 3}), (3, {"minor": 0}))
    assert resolve(["0"], ["0"], devices, (), listed(0, 1, 2, 3)) == (3,)
    assert positions_of(devices, (), listed(0, 1, 2, 3)) == {3: 0, 1: 1, 2: 2, 0: 3}
    assert positions_of(devices, (), None) == {}


def test_the_list_outranks_orders_that_agree():
    assert resolve(["0"], [], node(), (), listed(2, 3)) == (2,)
    assert positions_of(node(), (), listed(2, 3)) == {2: 0, 3: 1}


def test_with_the_list_a_lost_gpu_leaves_the_others_known_and_is_known_itself():
    assert resolve(["2"], [], node(), {2}, listed(0, 1, 2, 3)) == (2,)
    assert resolve(["3"], [], node(), {2}, listed(0, 1, 2, 3)) == (3,)
    after_reload = node((3, {"minor": 2}))
    assert resolve(["2"], [], after_reload, {2}, listed(0, 1, 2)) == (3,), "the number is another's now"


@pytest.mark.parametrize(
    ("gpus", "minors", "devices"),
    [
        ("4", (0, 1, 2, 3), node()),
        ("0", (), node()),
        ("1", (0, 9), node()),
        ("1", (0, None), node()),
        ("0,1", (0, 9), node()),
        ("0", (0,), node((0, {"in_mig_mode": True}))),
    ],
)
def test_a_place_for_which_the_driver_shows_no_gpu_is_unknown(gpus, minors, devices):
    with pytest.raises(UnknownDevice):
        resolve(gpus.split(","), [], devices, (), listed(*minors))


def test_a_mig_instance_is_in_the_list_by_its_uuid():
    devices = [*node((0, {"in_mig_mode": True})), Device(uuid="MIG-1", minor=0, parent_uuid="GPU-a000")]
    names = KeptList("", "slurmd -G", (ListedGpu(0, "MIG-1"), ListedGpu(1)))
    assert resolve(["0"], [], devices, (), names) == (4,)
    assert resolve(["1"], [], devices, (), names) == (1,)
