"""Templates and parameters of Airflow: what a run could not render, and what it would ask for and not have."""

from __future__ import annotations

import importlib
import re
from typing import TYPE_CHECKING, Any, Final

from table_core.errors import MissingPackageError
from table_core.options.nearest import hint
from table_core.shortened import shortened

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from table_core.declaration.model import Declaration

__all__ = ["has_default", "jinja_problem", "parameter_diagnostics", "template_diagnostics"]

_ASKED: Final = re.compile(r"\bparams(?:\.(\w+)|\[\s*['\"](\w+)['\"]\s*\])")
_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}
"""Of JSON Schema, by which Airflow judges parameters."""
_MEANT: Final[Mapping[str, str]] = {
    **dict.fromkeys(("int", "long", "bigint"), "write integer"),
    **dict.fromkeys(("str", "text", "varchar"), "write string"),
    **dict.fromkeys(("float", "double", "decimal"), "write number"),
    **dict.fromkeys(("bool", "flag"), "write boolean"),
    **dict.fromkeys(("list", "tuple"), "write array"),
    **dict.fromkeys(("dict", "map", "mapping"), "write object"),
    "date": "write type: string, format: date",
    "datetime": "write type: string, format: date-time",
    "timestamp": "write type: string, format: date-time",
}
Finding = tuple[tuple[str, ...], str]


def has_default(parameter: Any) -> bool:
    """Whether a run that nobody starts by hand has a value: a mapping is JSON Schema."""
    return not isinstance(parameter, dict) or "default" in parameter


def parameter_diagnostics(declaration: Declaration) -> Iterator[Finding]:
    """Parameters that a run would ask for and not have."""
    params: Mapping[str, Any] = declaration.pipeline.get("params") or {}
    open_ones = [name for name, parameter in params.items() if not has_default(parameter)]
    if declaration.pipeline.get("schedule") is not None:
        for name in open_ones:
            message = f"parameter {name!r} needs a default: a schedule gives none"
            yield ("pipeline", "params", name), message
    for name, parameter in params.items():
        for message in _schema_problems(parameter):
            yield ("pipeline", "params", name), f"parameter {name!r}: {message}"
    asked = {step.name: _asked(step.members()) for step in declaration.steps}
    for step in declaration.steps:
        for name in sorted(asked[step.name] - set(params)):
            near = hint(name, params)
            if near.startswith("did"):  # others may come from a Dag of the user's own
                yield ("flows", step.name), f"pipeline.params has no {name!r}; {near}"
    for trigger in declaration.triggers:
        for flow in trigger.flows:
            for name in sorted(asked.get(flow, set()) & set(open_ones)):
                message = f"{flow} asks for params.{name}: give it a default, a trigger gives none"
                yield ("triggers", trigger.name, "flows"), message


def _schema_problems(schema: Any) -> Iterator[str]:
    """What a mapping is not that is to be JSON Schema."""
    if not isinstance(schema, dict):
        return
    if "type" not in schema:
        yield from _of_schema(schema)
        return
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    wrong = next((kind for kind in kinds if kind not in _TYPES), None)
    if wrong is not None:
        near = _MEANT.get(str(wrong).lower()) or f"known: {', '.join(_TYPES)}"
        yield f"there is no type {wrong!r}; {near}"
    elif "default" in schema and not any(_fits(schema["default"], _TYPES[kind]) for kind in kinds):
        yield f"the default {schema['default']!r} is no {' or '.join(kinds)}"
    else:
        yield from _of_schema(schema)


def _of_schema(schema: Mapping[str, Any]) -> Iterator[str]:
    """What Airflow would say of a run with the default, by the same library."""
    try:
        library: Any = importlib.import_module("jsonschema")  # which has no types of its own
    except ImportError as error:
        raise MissingPackageError.of("pipeline.params", "cli", error) from error
    judge = library.validators.validator_for(schema)
    try:
        judge.check_schema(schema)
        if "default" in schema:
            judge(schema, format_checker=library.FormatChecker()).validate(schema["default"])
    except library.SchemaError as error:
        where = ".".join(map(str, error.absolute_path))
        yield f"it is no JSON Schema: {f'{where}: ' if where else ''}{error.message}"
    except library.ValidationError as error:
        yield f"its default breaks its own schema: {error.message}"
    except re.error as error:  # a pattern of Python's that is none
        yield f"it is no JSON Schema: pattern: {error}"


def _fits(value: Any, types: tuple[type, ...]) -> bool:
    return isinstance(value, types) and (bool in types or not isinstance(value, bool))


def _asked(argument: Any) -> set[str]:
    if isinstance(argument, str):
        matches = _ASKED.findall(argument) if "{{" in argument or "{%" in argument else []
        return {dotted or bracketed for dotted, bracketed in matches} - {"get"}
    values = argument.values() if isinstance(argument, dict) else argument
    if not isinstance(argument, dict | list | tuple):
        return set()
    return {name for value in values for name in _asked(value)}


_MARKS: Final = ("{{", "{%", "{#")


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
