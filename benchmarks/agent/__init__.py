"""What the node daemon costs: 8 stand-in GPUs, default configuration, a row every 10 s and every 1 s.

CPU is of the whole process, from a moment after its start to a moment before its end. The time that the driver's
library takes by itself (calls x the cost of one in a C loop) is subtracted, for peers and the plain loop as well: that
asks the same readings in pynvml and does nothing with them, which is the floor. A value is one metric of one device
that leaves the process. Peers are measured with `--peers PYTHON`, an interpreter that has gpustat and nvitop-exporter.
"""
