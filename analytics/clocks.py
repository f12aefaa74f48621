"""What holds a GPU's clocks down: the driver's bit mask ``event_reasons`` in plain words.

Bits as NVIDIA documents them (nvml.h, nvmlClocksEventReasons). Those left out say nothing about a run: the GPU is idle,
somebody set its clocks, or it follows others of its board.
"""

from typing import Final

import msgspec

POWER_CAP: Final = 0x4  # SwPowerCap
HARDWARE: Final = 0x8  # HwSlowdown: heat, the power brake or a too high draw; mostly beside the bit that says which
HEAT: Final = 0x20 | 0x40  # SwThermalSlowdown, HwThermalSlowdown
POWER_BRAKE: Final = 0x80  # HwPowerBrakeSlowdown: the machine's power supply asks for less

BRAKES: Final = HARDWARE | HEAT | POWER_BRAKE
"""What slows a GPU by a fault of its surroundings. The power cap is none: a GPU that works hard runs into its limit."""


class Slowdown(msgspec.Struct, frozen=True, kw_only=True):
    """One reason: it holds where a bit of ``any_of`` is set and none of ``none_of``."""

    id: str
    words: str
    any_of: int
    none_of: int = 0
    fault: bool = True


SLOWDOWNS: Final = (
    Slowdown(id="heat", words="slowed by heat", any_of=HEAT),
    Slowdown(id="power_brake", words="slowed by the power brake", any_of=POWER_BRAKE),
    Slowdown(id="hardware", words="slowed by the hardware", any_of=HARDWARE, none_of=HEAT | POWER_BRAKE),
    Slowdown(id="power_cap", words="power cap reached", any_of=POWER_CAP, fault=False),
)
"""In the order in which they are shown: faults first."""
