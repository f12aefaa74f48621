"""What a GPU's links can carry in one direction, in MiB a second, from what the driver says of them."""

from typing import Final

_LANE_MB_S: Final = (0, 250, 500, 985, 1969, 3938, 7563)  # by PCIe generation, encoding apart
_MB: Final = 1_000_000
_MIB: Final = 1 << 20
_MOST_LANES: Final = 32
_MOST_LINKS: Final = 64


def pcie_mib_s(generation: int, lanes: int) -> int | None:
    """Returns the rate of a PCIe link; None of a generation that is not known here."""
    if not (0 < generation < len(_LANE_MB_S) and 0 < lanes <= _MOST_LANES):
        return None
    return _LANE_MB_S[generation] * lanes * _MB // _MIB


def nvlink_mib_s(links: int, each_mb_s: int) -> int | None:
    """Returns the rate of all NVLinks together; None where there is none."""
    return links * each_mb_s * _MB // _MIB if 0 < links <= _MOST_LINKS and each_mb_s > 0 else None
