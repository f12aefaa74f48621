"""What nodes and hub share stays importable on a compute node: the import-linter contracts say the rest."""

import ast
import sys
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).resolve().parents[2]
SHARED = ("store.catalog", "store.metric", "store.segment", "store.formats")
ALLOWED = {"msgspec", "ClusterShell"}


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph("store", include_external_packages=True, cache_dir=None)


def test_only_the_standard_library_msgspec_and_clustershell(graph: grimp.ImportGraph) -> None:
    shared = {module for module in graph.modules if module.startswith(SHARED)}
    strange = {
        f"{module} -> {imported}"
        for module in shared
        for imported in graph.find_modules_directly_imported_by(module)
        if imported not in shared and imported not in ALLOWED and imported.split(".")[0] not in sys.stdlib_module_names
    }
    assert set(SHARED) <= shared
    assert not strange


@pytest.mark.parametrize("package", ["collector", "store", "analytics", "dashboard"])
def test_a_package_imports_nothing_by_itself(package: str) -> None:
    """Importing one module of a package must not pull in its neighbours."""
    tree = ast.parse((ROOT / package / "__init__.py").read_text())
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
