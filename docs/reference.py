"""Writes the reference pages of this folder from the code that they describe. Run by `make docs`.

A test compares each page with what this writes, so whatever is added there and not here fails it.
"""

import inspect
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from analytics.node_findings import NODE_RULES
from analytics.node_findings.registry import NodeRule
from analytics.rules import RULES
from analytics.rules.registry import Params, Rule
from dashboard.app import find_pages
from docs.commands import commands
from docs.configuration import default_of, example, literal, sentence
from gpuledger.settings import Settings
from store import catalog

FOLDER = Path(__file__).resolve().parent
METRICS_HEAD = """\
# Metrics

Every reading that a row can hold, from `store/catalog.py`. A value out of range is unknown, with that reason, and
unknown is never counted as zero.

"""
RULES_HEAD = """\
# Rules

What a run can be told about its GPUs, in the order in which idle time is given away: the first rule to claim a second
keeps it. A threshold is set in `[analytics.rules.<id>]`, and for one partition, QOS or account in
`[[analytics.overrides]]`.
"""
NODE_RULES_HEAD = """
## On nodes, for administrators

Never charged to a user: on the Health page, at `/api/v1/node-findings` and by `gpuledger findings --nodes`.

"""
PAGES_HEAD = """\
# Pages

Every page answers one question. Filters, ranges and sort order are in its address, so that an address can be sent on.

"""


def metrics() -> str:
    """Return docs/metrics.md: every line of the catalogue."""
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
    return METRICS_HEAD + table(("name", "unit", "what", "range", "rolled up as", "source"), rows) + "\n" + reasons


def rules() -> str:
    """Return docs/rules.md: every rule, what it looks for and the thresholds in force without configuration."""
    parts = [RULES_HEAD]
    for rule in RULES:
        module = inspect.cleandoc(sys.modules[rule.condition.__module__].__doc__ or "")
        title = rule.title.replace("{", "").replace("}", "")
        parts += [f"\n## `{rule.id}`: {title}\n\n{module}\n\n", f"Condition: {paragraph(rule.condition)}\n\n"]
        parts += [f"Judged {judged(rule)}. Version {rule.version}.\n\n", thresholds(rule)]
    return (
        "".join(parts) + NODE_RULES_HEAD + table(("id", "title", "condition", "what to do"), map(of_nodes, NODE_RULES))
    )


def of_nodes(rule: NodeRule) -> tuple[str, ...]:
    """Return a finding on nodes as a row."""
    return f"`{rule.id}`", rule.title, paragraph(rule.find), rule.fix


def paragraph(function: Callable[..., object]) -> str:
    """Return the first paragraph of a function's docstring on one line."""
    return " ".join(inspect.cleandoc(function.__doc__ or "").split("\n\n")[0].split())


def judged(rule: Rule) -> str:
    """Return when and on which runs a rule is judged."""
    moments = [
        name for name, wanted in (("while the run lasts", rule.running), ("when it is over", rule.finished)) if wanted
    ]
    others = [
        name
        for name, bar in (("sessions without Slurm", rule.sessions), ("open sessions", rule.interactive))
        if not bar
    ]
    return " and ".join(moments) + (f"; not on {' and '.join(others)}" if others else "")


def thresholds(rule: Rule) -> str:
    """Return the keys of a rule that no other rule has."""
    own = [field for field in msgspec.structs.fields(rule.params) if field.name not in Params.__struct_fields__]
    rows = ((f"`{field.name}`", literal(default_of(field)), sentence(rule.params, field.name)) for field in own)
    return table(("threshold", "default", "what"), rows)


def pages() -> str:
    """Return docs/pages.md: every page, the question it answers and the range it opens with."""
    rows = (
        (f"`{page.path}`", page.name, page.question, page.default_range, "60 s" if page.live else "—")
        for page in find_pages()
    )
    return PAGES_HEAD + table(("address", "page", "question", "opens with", "renewed every"), rows)


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table."""
    lines = [list(head)]
    lines.append(["---"] * len(lines[0]))
    lines += [[cell.replace("|", "\\|") for cell in row] for row in rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


PAGES: dict[str, Callable[[], str]] = {
    "metrics.md": metrics,
    "rules.md": rules,
    "pages.md": pages,
    "commands.md": commands,
    "../config.example.toml": lambda: example(Settings),
}


def main() -> None:
    """Write every page."""
    for name, text in PAGES.items():
        (FOLDER / name).write_text(text(), encoding="utf-8")


if __name__ == "__main__":
    main()
