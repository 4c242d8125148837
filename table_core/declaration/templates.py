"""Templates in the values of flows and checks: what Airflow could not render, said before a task runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from table_core.errors import MissingPackageError
from table_core.shortened import shortened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from table_core.declaration.model import Declaration

__all__ = ["jinja_problem", "template_diagnostics"]

_MARKS: Final = ("{{", "{%", "{#")
Finding = tuple[tuple[str, ...], str]


def template_diagnostics(declaration: Declaration) -> Iterator[Finding]:
    """Values that are no templates though they look so; SQL of queries is told with the query."""
    for step in declaration.steps:
        yield from _in(step.members(), ("flows", step.name))
    for check in declaration.checks:
        yield from _in(check.rules, ("checks", check.name))
    for trigger in declaration.triggers:
        yield from _in(trigger.watch, ("triggers", trigger.name))


def _in(argument: Any, path: tuple[str, ...]) -> Iterator[Finding]:
    if isinstance(argument, str):
        if path[-1] != "sql" and (message := jinja_problem(argument)):
            yield path, message
    elif isinstance(argument, dict):
        for name, item in argument.items():
            yield from _in(item, (*path, str(name)))
    elif isinstance(argument, list | tuple):
        for item in argument:
            yield from _in(item, path)


def jinja_problem(text: str) -> str:
    """Why Jinja does not take ``text``; '' if it does, or if it is no template."""
    if not any(mark in text for mark in _MARKS):
        return ""
    try:
        from jinja2 import Environment, TemplateSyntaxError
    except ImportError as error:
        raise MissingPackageError.of("a template of Airflow", "cli", error) from error
    try:
        Environment(autoescape=False).parse(text)
    except (TemplateSyntaxError, RecursionError) as error:
        shown = shortened(text, 100)
        return f"{shown!r} is no template: {str(error).rstrip('.')}; write e.g. {{{{ ds }}}}"
    return ""
