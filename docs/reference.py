"""Writes the reference pages of this folder from the code that they describe. Run by `make docs`.

A test compares each page with what this writes, so whatever is added there and not here fails it.
"""

from collections.abc import Callable, Iterable
from pathlib import Path

from store import catalog

FOLDER = Path(__file__).resolve().parent


def metrics() -> str:
    """Return docs/metrics.md: every line of the catalogue."""
    head = (
        "# Metrics\n\nEvery reading that a row can hold, from `store/catalog.py`. A value out of range is unknown, "
        "with that reason, and unknown is never counted as zero.\n\n"
    )
    rows = (
        (
            f"`{metric.name}`",
            metric.unit or "—",
            metric.help,
            f"{metric.low:,.12g} to {metric.high:,.12g}",
            metric.kind,
            metric.source,
        )
        for metric in catalog.METRICS
    )
    reasons = table(("reason", "why a reading is unknown"), ((f"`{k}`", v) for k, v in catalog.NULL_REASONS.items()))
    return head + table(("name", "unit", "what", "range", "rolled up as", "source"), rows) + "\n" + reasons


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table."""
    lines = [list(head)]
    lines.append(["---"] * len(lines[0]))
    lines += [[cell.replace("|", "\\|") for cell in row] for row in rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


PAGES: dict[str, Callable[[], str]] = {"metrics.md": metrics}


def main() -> None:
    """Write every page."""
    for name, text in PAGES.items():
        (FOLDER / name).write_text(text(), encoding="utf-8")


if __name__ == "__main__":
    main()
