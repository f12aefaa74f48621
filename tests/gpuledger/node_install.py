"""`gpuledger` as on a compute node: a program that cannot find what only the extra `hub` brings."""

import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]


def _packages_of_the_hub() -> frozenset[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    listed = project["optional-dependencies"]["hub"]
    # Flask and Werkzeug come with Dash and are imported by their own names.
    return frozenset({Requirement(line).name.replace("-", "_") for line in listed} | {"flask", "werkzeug"})


class Missing:
    """A finder that comes first and finds nothing of the hub."""

    packages = _packages_of_the_hub()

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: object = None) -> None:
        if name.partition(".")[0] in self.packages:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


if __name__ == "__main__":
    sys.meta_path.insert(0, Missing())  # type: ignore[arg-type] # a finder needs no more than find_spec
    from gpuledger.cli import main

    main()
