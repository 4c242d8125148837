"""A declaration from its text: as it is meant, or everything that is wrong with it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from table_core.declaration.read_document import read
from table_core.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from table_core.declaration.located import Diagnostic
    from table_core.declaration.model import Declaration

__all__ = ["faults_of", "parse", "warnings_of"]


def parse(
    text: str,
    file: str = "<declaration>",
    *,
    environment: Mapping[str, str] | None = None,
    texts: Callable[[str], str] | None = None,
) -> Declaration:
    """The declaration in ``text``.

    ``environment`` are the variables that ``${NAME}`` stands for; ``texts`` gives the text of a file that
    is included, by its path from the folder of ``file``.

    Raises:
        ArgumentError: it has faults; facts list all of them as ``file:line:column: message``.
    """
    document = read(text, file, environment, texts)
    if document.diagnostics or document.sound is None:
        problems = [str(diagnostic) for diagnostic in document.diagnostics]
        raise ArgumentError(
            f"{len(problems)} faults in {file}:\n" + "\n".join(problems),
            argument="declaration",
            problems=problems,
        )
    return prefixed(document.sound)


def faults_of(
    text: str,
    file: str = "<declaration>",
    *,
    environment: Mapping[str, str] | None = None,
    texts: Callable[[str], str] | None = None,
) -> list[Diagnostic]:
    """Everything that is wrong with ``text``, in the order of the file; tables and SQL in depth."""
    from table_core.declaration import depth  # brings an SQL parser and clients of sources along

    return depth.faults_of(text, file, environment=environment, texts=texts)


def warnings_of(
    text: str,
    file: str = "<declaration>",
    *,
    environment: Mapping[str, str] | None = None,
    texts: Callable[[str], str] | None = None,
) -> list[Diagnostic]:
    """What ``text``, which is sound, asks for and never happens, in the order of the file."""
    from table_core.declaration import depth

    return depth.warnings_of(text, file, environment=environment, texts=texts)


def prefixed(declaration: Declaration) -> Declaration:
    """``declaration`` with its prefix before the databases of its own tables, wherever they are named.

    Tables of others keep their names, and so do the views of SQL.
    """
    if not declaration.prefix:
        return declaration
    ours = {*declaration.tables, *declaration.moved, *declaration.also_written}

    def named(name: str) -> str:
        plain, dollar, rest = name.partition("$")
        return f"{declaration.prefix}{plain}{dollar}{rest}" if plain in ours else name

    return replace(
        declaration,
        prefix=None,
        tables={named(name): table for name, table in declaration.tables.items()},
        policies={named(name): policy for name, policy in declaration.policies.items()},
        moved={named(old): named(new) for old, new in declaration.moved.items()},
        audited=tuple(named(name) for name in declaration.audited),
        pipeline=_pipeline(declaration.pipeline, named),
        steps=tuple(step.renamed(named) for step in declaration.steps),
        checks=tuple(
            replace(
                check,
                table=named(check.table),
                against=None if check.against is None else named(check.against),
            )
            for check in declaration.checks
        ),
        triggers=tuple(replace(one, table=named(one.table)) for one in declaration.triggers),
    )


def _pipeline(pipeline: Mapping[str, Any], named: Callable[[str], str]) -> dict[str, Any]:
    schedule = pipeline.get("schedule")
    if not isinstance(schedule, dict):
        return dict(pipeline)
    return {**pipeline, "schedule": {"changes": [named(table) for table in schedule["changes"]]}}
