"""With CI=true a skipped test is a failed one: what is set up there must really be exercised there.

A pytest plugin, loaded by tests/conftest.py. It also keeps the tests of one real cluster, and of the browser, on one
worker each, since two of either on two cores only wait for each other.
"""

import os
from collections.abc import Generator

import pytest

ONE_WORKER_MARKERS = ("slurm", "browser")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn the report of a skipped test into a failure that keeps its reason."""
    report = yield
    # An expected failure is reported as skipped, too.
    if not hasattr(report, "wasxfail"):
        _refuse_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """The same for a module that skips itself as a whole."""
    report = yield
    _refuse_skip(report)
    return report


@pytest.hookimpl(tryfirst=True)  # pytest-xdist's own, which reads the groups, is registered after this plugin
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put each of the heavy groups on one xdist worker."""
    for item in items:
        for name in ONE_WORKER_MARKERS:
            if item.get_closest_marker(name):
                item.add_marker(pytest.mark.xdist_group(name))


def _refuse_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    if report.skipped and os.environ.get("CI") == "true":
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"{reason} (with CI=true a skip is a failure)"
