"""Slurm's control groups of one job as trees of files: version 1 as on a real node, version 2 as documented."""

from pathlib import Path

MIB = 1 << 20


def write_v1(root: Path, job: str, cpu_ns: int, rss_mib: int | None = None, name: str = "slurm") -> Path:
    """Writes the groups as jobacct_gather/cgroup makes them, and returns the one that counts CPU time."""
    folder = root / "cpuacct" / name / "uid_1001" / f"job_{job}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cpuacct.usage").write_text(f"{cpu_ns}\n")
    if rss_mib is not None:
        memory = root / "memory" / name / "uid_1001" / f"job_{job}"
        memory.mkdir(parents=True, exist_ok=True)
        (memory / "memory.stat").write_text(f"cache 99999999999\nrss 0\ntotal_cache 5\ntotal_rss {rss_mib * MIB}\n")
    return folder


def write_v2(root: Path, job: str, cpu_us: int, anon_mib: int, scope: str = "slurmstepd.scope") -> Path:
    """Writes the group of a unified hierarchy, and returns it."""
    folder = root / "system.slice" / scope / f"job_{job}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cpu.stat").write_text(f"usage_usec {cpu_us}\nuser_usec {cpu_us}\nsystem_usec 0\n")
    (folder / "memory.stat").write_text(f"anon {anon_mib * MIB}\nfile 99999999999\n")
    return folder
