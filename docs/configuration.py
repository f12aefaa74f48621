"""Writes config.example.toml from the settings structs: every key, its default and the sentence beneath it."""

import ast
import inspect
import json
import re
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
SECTION_NAME = re.compile(r"^\[.*?\]+[:.]? ?")


def example(settings: type[msgspec.Struct]) -> str:
    """Return the file for a struct whose fields are the sections."""
    return HEAD + "".join(line for each in msgspec.structs.fields(settings) for line in table("", each, ""))


def table(parent: str, section: msgspec.structs.FieldInfo, off: str) -> Iterator[str]:
    """Yield the lines of a section, then of the sections inside it. `off` comments all out."""
    struct, path = struct_in(section.type), f"{parent}{section.encode_name}"
    repeated = get_origin(section.type) in {tuple, list}
    if struct is not section.type:
        # A list of sections is empty by default, and an optional one is not there.
        off = "# "
    fields = msgspec.structs.fields(struct)
    if keys := [field for field in fields if struct_in(field.type) is None]:
        if struct.__doc__:
            yield "\n"
            yield from comment(section_doc(struct), off)
        yield f"{off}[[{path}]]\n" if repeated else f"{off}[{path}]\n"
    for field in keys:
        yield from key(field, struct, off)
    for field in fields:
        if field not in keys:
            yield from table(f"{path}.", field, off)


def key(field: msgspec.structs.FieldInfo, struct: type[msgspec.Struct], off: str) -> Iterator[str]:
    """Yield the sentence of a key and the key with its default."""
    default = default_of(field)
    if default is msgspec.UNSET:
        # In an override every key may be absent; they are the keys of the section that it overrides.
        return
    yield from comment(sentence(struct, field.name), off)
    # TOML has no null: unset is left out.
    yield f"{off}# {field.encode_name} =\n" if default is None else f"{off}{field.encode_name} = {literal(default)}\n"


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
    """Return what a section is for: its class or its module says it after the section's name, or the module says it."""
    module = inspect.cleandoc(sys.modules[struct.__module__].__doc__ or "")
    for doc in (inspect.cleandoc(struct.__doc__ or ""), module):
        text, named = SECTION_NAME.subn("", doc)
        if named and text:
            break
    else:
        text = module
    return text[:1].upper() + text[1:].split("\n\n")[0]


def sentence(struct: type[msgspec.Struct], name: str) -> str:
    """Return the string beneath a field, in its own class or the one that it is inherited from."""
    for owner in struct.__mro__:
        if issubclass(owner, msgspec.Struct) and name in (found := field_docs(owner)):
            return found[name]
    raise LookupError(f"{struct.__name__}.{name}: write a string beneath it that says what it does")


def field_docs(struct: type[msgspec.Struct]) -> dict[str, str]:
    """Return the string beneath each field of a class, which Python itself does not keep."""
    try:
        body = ast.parse(textwrap.dedent(inspect.getsource(struct))).body[0].body  # type: ignore[attr-defined]
    except (OSError, TypeError):
        # Made without a class statement, or msgspec's own.
        return {}
    found: dict[str, str] = {}
    for field, text in zip(body, [*body[1:], None], strict=True):
        beneath = text.value if isinstance(text, ast.Expr) else None
        if isinstance(field, ast.AnnAssign) and isinstance(beneath, ast.Constant):
            found[ast.unparse(field.target)] = inspect.cleandoc(beneath.value)
    return found


def comment(text: str, off: str) -> Iterator[str]:
    """Yield a text as comment lines."""
    for line in textwrap.wrap(" ".join(text.split()), 116):
        yield f"{off}# {line}\n"
