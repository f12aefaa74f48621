"""A program that answers as sacct does, from a list of records that the test writes; run as a process of its own.

It heeds the window, --jobs and --allocations, and notes every call. Times are in seconds.
"""

import json
import sys
from pathlib import Path

from store.formats.sacct import RUN_FIELDS

PROGRAM = """#!{python} -IS
import json, sys
from pathlib import Path
here = Path({folder!r})
with (here / "calls").open("a") as calls:
    calls.write(json.dumps(sys.argv[1:]) + "\\n")
if (here / "trouble").exists():
    exec((here / "trouble").read_text())
if "--helpformat" in sys.argv:
    print((here / "fields").read_text())
    sys.exit()
options = dict(word.lstrip("-").partition("=")[::2] for word in sys.argv[1:])
begin, end = (int(options[name].removeprefix("uts")) for name in ("starttime", "endtime"))
jobs = options.get("jobs", "").split(",")
for record in json.loads((here / "database").read_text()):
    first = int(record["Start"]) if record["Start"].isdigit() else int(record["Submit"])
    last = int(record["End"]) if record["End"].isdigit() else end
    wanted = ("." not in record["JobIDRaw"] or "allocations" not in options) and first <= end and last >= begin
    if wanted and (not jobs[0] or record["JobIDRaw"].split(".")[0] in jobs):
        values = [record.get(field, "") for field in options["format"].split(",")]
        print(*values, "\\n", sep=options["delimiter"], end="")
"""


class SacctProgram:
    """The program at ``path`` and its database."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "sacct"
        self.path.write_text(PROGRAM.format(python=sys.executable, folder=str(folder)))
        self.path.chmod(0o755)
        self.records: list[dict[str, str]] = []
        self.fields(*RUN_FIELDS, "Restarts")
        self.write()

    def fields(self, *names: str) -> None:
        (self.folder / "fields").write_text(" ".join(names))

    def trouble(self, code: str) -> None:
        """Lets every call run these lines of Python first; none when empty."""
        (self.folder / "trouble").write_text(code)

    def write(self) -> None:
        (self.folder / "database").write_text(json.dumps(self.records))

    def run(self, db_index: int, start_s: int, end_s: int | None = None, *, steps: str = "batch extern", **fields: str):
        """Adds a run or, under an index that is there, changes it. Its steps end with it."""
        job = fields.pop("JobIDRaw", str(db_index))
        base = {
            "Cluster": "alpha", "DBIndex": str(db_index), "Submit": str(start_s - 5), "Start": str(start_s),
            "End": "Unknown" if end_s is None else str(end_s), "State": "RUNNING" if end_s is None else "COMPLETED",
            "ElapsedRaw": "0" if end_s is None else str(end_s - start_s), "Suspended": "00:00:00",
        }  # fmt: skip
        used = "" if end_s is None else "cpu=00:00:30,mem=1048576"
        whole = {"JobIDRaw": job, "JobID": job, "User": "alice", "AllocTRES": "cpu=1,gres/gpu=2,mem=1G", **fields}
        self.records = [record for record in self.records if record["DBIndex"] != str(db_index)]
        self.records.append(base | whole)
        for step in steps.split():
            self.records.append(
                {**base, "JobIDRaw": f"{job}.{step}", "NTasks": "1", "TRESUsageInTot": used, "TotalCPU": "00:01"}
            )
        self.write()

    def calls(self) -> list[list[str]]:
        """The arguments of every call so far but those for the fields."""
        lines = (self.folder / "calls").read_text().splitlines() if (self.folder / "calls").exists() else []
        return [call for call in map(json.loads, lines) if "--helpformat" not in call]
