"""Writes api.md from the docstrings of the public names: ``python docs/api_page.py``."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import textwrap
from itertools import pairwise
from pathlib import Path
from typing import Any

from generated import foot

import table_core as tc
from table_core.table.api.plots import Plots
from table_core.table.maintenance.branches import Branches
from table_core.table.maintenance.tags import Tags
from table_core.table.metadata.refs.consumers import Consumers
from table_core.table.write.writer import TableWriter

PAGE = Path(__file__).with_name("api.md")
WIDTH = 76
HEAD = """\
# Python API reference

Everything that a program may use of `table_core`: what you call, what comes back, and which errors it raises. `import table_core as tc` loads nothing
heavy. Rows go in and come out as Arrow. [Errors](errors.md) lists all errors with what to do; a verb that changes something returns a
[result document](upkeep.md#what-every-verb-has-in-common). For Spark, [`table_core.spark`](spark.md) has the same verbs. For tools that speak
to databases there is [DB-API 2.0](sql.md#db-api-20).
"""
GROUPS: dict[str, tuple[Any, ...]] = {
    "Open a warehouse": (tc.open_catalog, tc.open_table, tc.Catalog),
    "A table": (tc.Table,),
    "What a table gives": (tc.Scan, TableWriter, Tags, Branches, Consumers, Plots),
    "Commits and results": (tc.CommitAs, tc.Commit, tc.ResultDocument),
    "Conditions": (tc.col, tc.lit),
    "Clauses of a merge": (
        tc.MatchedUpsert,
        tc.MatchedDelete,
        tc.NotMatchedInsert,
        tc.NotMatchedBySourceUpsert,
        tc.NotMatchedBySourceDelete,
    ),
    "Changes of a schema": (
        tc.AddColumn,
        tc.DropColumn,
        tc.RenameColumn,
        tc.UpdateColumnType,
        tc.UpdateColumnNullability,
        tc.UpdateColumnDefault,
        tc.UpdateColumnPosition,
        tc.UpdateColumnComment,
        tc.SetOption,
        tc.RemoveOption,
        tc.UpdateComment,
        tc.DropPrimaryKey,
    ),
    "Joins with a table that is looked up": (tc.lookup_join,),
    "Change capture": (
        tc.sync_table,
        tc.sync_database,
        tc.MySqlSource,
        tc.PostgresSource,
        tc.KafkaSource,
        tc.FilesSource,
        tc.source_doctor,
        tc.source_audit,
        tc.resync,
        tc.replay,
    ),
}
INSIDE = {
    "Catalog": ("directory", "root", "split"),
    "Table": ("delivers", "rows_came_ms", "partition_values", "partition_key"),
    "Scan": ("reader", "own_reader", "as_inserts", "read_by", "shown_by", "state"),
    "TableWriter": ("end_run",),
    "Branches": ("maker",),
    "Consumers": ("forget",),
}
"""What other parts of this project call."""
SECTION = re.compile(
    r"^(Raises|Args|Arguments|Returns|Yields):\n((?:[ ]{4}.*\n|\n)+)", re.MULTILINE
)
ENTRY = re.compile(r"^ {4}(\w[\w, ]*): (.*(?:\n {5,}.*)*)", re.MULTILINE)


def told(thing: Any) -> str:
    """A docstring as Markdown."""
    text = (inspect.getdoc(thing) or "") + "\n"
    text = SECTION.sub(_section, text)
    text = re.sub(r"^(.*)::\n\n((?:    .*\n|\n)+)", _example, text, flags=re.MULTILINE)
    text = re.sub(r":\w+:`~?([\w.]+)`", r"`\1`", text)
    return re.sub(r"(?<!`)``(?!`)", "`", text).strip()


def _section(found: re.Match[str]) -> str:
    lines = [f"- `{name}`: {' '.join(about.split())}" for name, about in ENTRY.findall(found[2])]
    return f"{found[1]}:\n\n" + "\n".join(lines) + "\n"


def _example(found: re.Match[str]) -> str:
    return f"{found[1]}:\n\n```py\n{inspect.cleandoc(chr(10) + found[2])}\n```\n"


def signature(name: str, function: Any) -> str:
    """The call with its types, in lines of at most ``WIDTH``."""
    found = inspect.signature(function)
    words = [
        _parameter(one) for one in found.parameters.values() if one.name not in ("self", "cls")
    ]
    kinds = [one.kind for one in found.parameters.values() if one.name not in ("self", "cls")]
    starts = [n for n, kind in enumerate(kinds) if kind is inspect.Parameter.KEYWORD_ONLY]
    if starts and inspect.Parameter.VAR_POSITIONAL not in kinds:
        words.insert(starts[0], "*")
    gives = found.return_annotation
    end = "" if gives in (inspect.Signature.empty, None) else f" -> {gives}"
    whole = f"{name}({', '.join(words)}){end}"
    if len(whole) <= WIDTH:
        return whole
    inner = "".join(f"    {word},\n" for word in words)
    return f"{name}(\n{inner}){end}"


def _parameter(one: inspect.Parameter) -> str:
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    typed = one.annotation is not inspect.Parameter.empty
    text = f"{stars.get(one.kind, '')}{one.name}" + (f": {one.annotation}" if typed else "")
    if one.default is inspect.Parameter.empty:
        return text
    return f"{text} = {one.default!r}" if typed else f"{text}={one.default!r}"


def fields(cls: type) -> str:
    """The members of a record: a table with types, defaults and what its source says below each."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(cls)))
    body = tree.body[0].body  # type: ignore[attr-defined]  # a class
    about = {
        node.target.id: " ".join(after.value.value.split())
        for node, after in pairwise(body)
        if isinstance(node, ast.AnnAssign)
        and isinstance(node.target, ast.Name)
        and isinstance(after, ast.Expr)
        and isinstance(after.value, ast.Constant)
    }
    rows = []
    for one in dataclasses.fields(cls):
        if one.init and not one.name.startswith("_"):
            default = "" if one.default is dataclasses.MISSING else f"`{one.default!r}`"
            kind = str(one.type).replace(" | ", " or ")
            text = about.get(one.name, "").replace("``", "`").replace("|", "\\|")
            rows.append(f"| `{one.name}` | `{kind}` | {default} | {text} |")
    return "\n".join(["| member | type | default | meaning |", "|---|---|---|---|", *rows])


def members(cls: type) -> list[tuple[str, Any]]:
    """Its public methods and properties, in the order of the source, those of its bases after them."""
    found: dict[str, Any] = {}
    for base in cls.__mro__:
        if base.__module__.startswith("table_core"):
            for name, value in vars(base).items():
                hidden = name.startswith("_") or name in INSIDE.get(cls.__name__, ())
                plain = not hidden and inspect.getdoc(value)
                if plain and (
                    inspect.isfunction(value) or isinstance(value, (property, classmethod))
                ):
                    found.setdefault(name, value)
    return list(found.items())


def described(thing: Any) -> str:
    name = thing.__name__
    if not inspect.isclass(thing):
        return f"### {name}\n\n```py\n{signature(f'tc.{name}', thing)}\n```\n\n{told(thing)}\n"
    parts = [f"### {name}\n\n{told(thing)}\n"]
    if dataclasses.is_dataclass(thing) and thing not in (tc.Catalog, tc.Scan, TableWriter):
        parts.append(fields(thing) + "\n")
    handle = name.lower() if thing in (tc.Catalog, tc.Table, tc.Scan) else HANDLES.get(name, name)
    for member, value in (
        members(thing) if name in HANDLES or thing in (tc.Catalog, tc.Table, tc.Scan) else ()
    ):
        call = f"{handle}.{member}"
        if isinstance(value, property):
            shown = f"{call}: {value.fget.__annotations__.get('return', '')}"
        else:
            shown = signature(call, getattr(value, "__func__", value))
        parts.append(f"#### {name}.{member}\n\n```py\n{shown}\n```\n\n{told(value)}\n")
    return "\n".join(parts)


HANDLES = {
    "TableWriter": "writer",
    "Tags": "table.tags",
    "Branches": "table.branches",
    "Consumers": "table.consumers",
    "Plots": "table.plot",
}
"""How one has such an object at hand."""


def page() -> str:
    parts = [HEAD]
    for title, things in GROUPS.items():
        parts.append(f"## {title}\n")
        parts += map(described, things)
    return "\n".join(parts).rstrip() + "\n" + foot("api_page.py", "the docstrings")


if __name__ == "__main__":
    PAGE.write_text(page())
