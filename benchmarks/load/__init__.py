"""A fleet of simulated nodes that delivers segments to a hub over HTTP, each in a process of its own.

Segments are those that an agent writes (store.segment.encode) on nodes with GPUs older than Hopper, whose driver has no
GPM: 19 metrics a row, reasons for those that are missing, holds, processes, cores, records of the probes.
"""
