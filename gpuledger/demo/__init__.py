"""The one generator of synthetic clusters: people, jobs and GPUs simulated as mechanisms, sent as real segments.

Order of work: :mod:`cluster` and :mod:`families` say what exists, :mod:`demand` draws submissions, :mod:`scheduling`
places them as runs, :mod:`mechanisms` say what a run does to its GPUs, :mod:`telemetry` reads that as an agent would,
:mod:`stream` cuts it into segments, :mod:`fill` sends them, and :mod:`labels` writes down what was really the case.
"""
