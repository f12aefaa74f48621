"""The driver, through pynvml: every call isolated, every answer a value or the reason why there is none.

Nothing else in the project imports pynvml. Facts about the driver that the code leans on:

- A handle belongs to one nvmlInit. The handle of a GPU that fell off the bus may crash the caller, so it is dropped at
  the first "GPU is lost" and the device is not asked again before it was enumerated anew.
- What a device does not offer it does not offer later either, short of a new enumeration: asked once, then remembered.
- nvmlDeviceGetSamples answers NOT_FOUND when nothing is newer than the time stamp given; its buffer then holds rubbish.
- Memory v2 keeps the driver's reserve apart; v1 adds it to ``used`` (close to 1 GiB on an idle A100).
- A MIG instance has a handle of its own, which answers for memory, processes and GPM, and for nothing of the board.
"""

from collector.nvml.driver import Enumeration, close_driver, open_driver
from collector.nvml.gpu import ActivityPair, Gpu

__all__ = ["ActivityPair", "Enumeration", "Gpu", "close_driver", "open_driver"]
