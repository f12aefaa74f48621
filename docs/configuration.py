"""Writes config.example.toml from the settings structs: every key, its default and the sentence beneath it."""

import ast
import inspect
import json
import sys
import textwrap
import types
from collections.abc import Iterator
from typing import Any, get_args, get_origin

import msgspec

HEAD = """\
# The configuration of GPU Ledger: every key with its default. What is left out takes the default, and an unknown key is
# an error that names the nearest known one. `gpuledger config check FILE` says whether a file is right.
# A compute node reads [site] and [collector] only.
"""


def example(settings: type[msgspec.Struct]) -> str:
    """Return the file for a struct whose fields are the sections."""
    parts = [HEAD]
    for section in msgspec.structs.fields(settings):
        parts += ["\n", *table(section.encode_name, section.type)]
    return "".join(parts)


def table(name: str, struct: type[msgspec.Struct], off: str = "") -> Iterator[str]:
    """Yield the lines of a section, then of the sections inside it. `off` comments all out."""
    sentences, inner = field_docs(struct), []
    yield from comment(section_doc(struct), off)
    yield f"{off}[{name}]\n"
    for field in msgspec.structs.fields(struct):
        if (nested := struct_in(field.type)) is not None:
            inner.append((f"{name}.{field.encode_name}", nested, get_origin(field.type)))
            continue
        yield from comment(sentences[field.name], off)
        default = default_of(field)
        yield f"# {field.encode_name} =\n" if default is None else f"{off}{field.encode_name} = {literal(default)}\n"
    for path, nested, holder in inner:
        yield "\n"
        # By default a list of sections has no entry and an optional section is not there: shown commented out.
        yield from table(f"[{path}]" if holder in {tuple, list} else path, nested, "# " if holder else off)


def default_of(field: msgspec.structs.FieldInfo) -> Any:
    """Return the default of a field; a field without one is shown empty, as its type is."""
    if field.default is not msgspec.NODEFAULT:
        return field.default
    if field.default_factory is not msgspec.NODEFAULT:
        return field.default_factory()
    kind = field.type if isinstance(field.type, type) else str
    return kind()


def literal(value: Any) -> str:
    """Return a value as TOML writes it."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {literal(item)}" for key, item in value.items()) + " }"
    if isinstance(value, tuple | list):
        return "[" + ", ".join(literal(item) for item in value) + "]"
    # TOML's basic strings, numbers and booleans are JSON's.
    return json.dumps(value, ensure_ascii=False)


def struct_in(annotation: Any) -> type[msgspec.Struct] | None:
    """Return the struct that an annotation is, or holds as an option or an item."""
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        return annotation
    if get_origin(annotation) in {tuple, list, types.UnionType}:
        return next((found for inner in get_args(annotation) if (found := struct_in(inner))), None)
    return None


def section_doc(struct: type[msgspec.Struct]) -> str:
    """Return what a section is for: the class says it, or its module does where it holds no other."""
    docs = (struct.__doc__, sys.modules[struct.__module__].__doc__)
    text = next((doc for doc in docs if doc and doc.startswith("[")), struct.__doc__ or "")
    return inspect.cleandoc(text).split("\n\n")[0]


def field_docs(struct: type[msgspec.Struct]) -> dict[str, str]:
    """Return the string beneath each field, which Python itself does not keep."""
    body = ast.parse(textwrap.dedent(inspect.getsource(struct))).body[0].body  # type: ignore[attr-defined]
    found: dict[str, str] = {}
    for field, text in zip(body, [*body[1:], None], strict=True):
        beneath = text.value if isinstance(text, ast.Expr) else None
        if isinstance(field, ast.AnnAssign) and isinstance(beneath, ast.Constant):
            found[ast.unparse(field.target)] = inspect.cleandoc(beneath.value)
    if missing := set(struct.__struct_fields__) - set(found):
        raise LookupError(f"{struct.__name__}.{missing.pop()}: write a string beneath it that says what it does")
    return found


def comment(text: str, off: str) -> Iterator[str]:
    """Yield a text as comment lines."""
    for line in textwrap.wrap(" ".join(text.split()), 116):
        yield f"{off}# {line}\n"
