"""No file names a registry or a path of the machine it was written on, and no text for users blames anyone."""

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# The brackets keep a pattern from finding itself.
REGISTRY = re.compile(r"p[y]pi\.org|p[y]thonhosted|n[p]mjs\.|d[e]b\.d[e]bian\.|registry\.[y]arnpkg", re.IGNORECASE)
PATHS = re.compile(r"/w[o]rk/(main|shared|steering|\.)")
# Wording is help, not blame; "finding", "recommendation" and "notice" are the words.
BLAME = re.compile(
    r"\b(wast(e|ed|es|eful|ing|age)|flagged|offenders?|violat(e|ion|ions|or|ors)|verdicts?)\b", re.IGNORECASE
)
# Where text that users or account owners read is written.
FOR_USERS = ("dashboard", "analytics/wording.py", "analytics/rules", "analytics/reports", "gpuledger/commands")


def tracked(*folders: str) -> list[Path]:
    """Return the files of the clone that git knows."""
    listed = subprocess.run(["git", "ls-files", "-z", *folders], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def shown_texts(file: Path) -> Iterator[tuple[int, str]]:
    """Yield the line and text of each string that may be shown: all of a template, the literals of a module."""
    text = file.read_text(encoding="utf-8")
    if file.suffix != ".py":
        yield from enumerate(text.splitlines(), start=1)
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def is_text(file: Path) -> bool:
    return b"\0" not in file.read_bytes()[:8000]


def test_no_registry_and_no_path_of_one_machine() -> None:
    found = [
        f"{file.relative_to(ROOT)}:{number}: {line.strip()[:100]}"
        for file in tracked()
        if is_text(file)
        for number, line in enumerate(file.read_text(encoding="utf-8", errors="replace").splitlines(), start=1)
        if REGISTRY.search(line) or PATHS.search(line)
    ]
    assert not found


def test_words_for_users_blame_nobody() -> None:
    found = [
        f"{file.relative_to(ROOT)}:{number}: {match.group()}"
        for file in tracked(*FOR_USERS)
        if is_text(file)
        for number, text in shown_texts(file)
        if (match := BLAME.search(text))
    ]
    assert not found


def test_the_patterns_find_what_they_are_for() -> None:
    assert REGISTRY.search("https://" + "pypi" + ".org/simple")
    assert PATHS.search("cd /" + "work/main")
    assert [match.group() for match in BLAME.finditer("Wasted hours; a verdict; wasteland; idle_verdict")] == [
        "Wasted",
        "verdict",
    ]
