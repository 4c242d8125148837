"""Parameters of the pipeline's Dag: which runs have them, and who asks for some that are not there."""

from __future__ import annotations

import importlib
import re
from typing import TYPE_CHECKING, Any, Final

from table_core.declaration.hints import hint
from table_core.errors import MissingPackageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from table_core.declaration.model import Declaration

__all__ = ["has_default", "parameter_diagnostics"]

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


def has_default(given: Any) -> bool:
    """Whether a run that nobody starts by hand has a value: a mapping is JSON Schema."""
    return not isinstance(given, dict) or "default" in given


def parameter_diagnostics(found: Declaration) -> Iterator[Finding]:
    """Parameters that a run would ask for and not have."""
    params: Mapping[str, Any] = found.pipeline.get("params") or {}
    open_ones = [name for name, given in params.items() if not has_default(given)]
    if found.pipeline.get("schedule") is not None:
        for name in open_ones:
            message = f"parameter {name!r} needs a default: a schedule gives none"
            yield ("pipeline", "params", name), message
    for name, given in params.items():
        for message in _schema_problems(given):
            yield ("pipeline", "params", name), f"parameter {name!r}: {message}"
    asked = {step.name: _asked(step.arguments) for step in found.steps}
    for step in found.steps:
        for name in sorted(asked[step.name] - set(params)):
            near = hint(name, params)
            if near.startswith("did"):  # others may come from a Dag of the user's own
                yield ("flows", step.name), f"pipeline.params has no {name!r}; {near}"
    for trigger in found.triggers:
        for flow in trigger.flows:
            for name in sorted(asked.get(flow, set()) & set(open_ones)):
                message = f"{flow} asks for params.{name}: give it a default, a trigger gives none"
                yield ("triggers", trigger.name, "flows"), message


def _schema_problems(given: Any) -> Iterator[str]:
    """What a mapping is not that is to be JSON Schema."""
    if not isinstance(given, dict):
        return
    if "type" not in given:
        yield from _of_schema(given)
        return
    kinds = given["type"] if isinstance(given["type"], list) else [given["type"]]
    wrong = next((kind for kind in kinds if kind not in _TYPES), None)
    if wrong is not None:
        near = _MEANT.get(str(wrong).lower()) or f"known: {', '.join(_TYPES)}"
        yield f"there is no type {wrong!r}; {near}"
    elif "default" in given and not any(_fits(given["default"], _TYPES[kind]) for kind in kinds):
        yield f"the default {given['default']!r} is no {' or '.join(kinds)}"
    else:
        yield from _of_schema(given)


def _of_schema(given: Mapping[str, Any]) -> Iterator[str]:
    """What Airflow would say of a run with the default, by the same library."""
    try:
        library: Any = importlib.import_module("jsonschema")  # which has no types of its own
    except ImportError as error:
        raise MissingPackageError.of("pipeline.params", "cli", error) from error
    judge = library.validators.validator_for(given)
    try:
        judge.check_schema(given)
        if "default" in given:
            judge(given, format_checker=library.FormatChecker()).validate(given["default"])
    except library.SchemaError as error:
        where = ".".join(map(str, error.absolute_path))
        yield f"it is no JSON Schema: {f'{where}: ' if where else ''}{error.message}"
    except library.ValidationError as error:
        yield f"its default breaks its own schema: {error.message}"
    except re.error as error:  # a pattern of Python's that is none
        yield f"it is no JSON Schema: pattern: {error}"


def _fits(value: Any, types: tuple[type, ...]) -> bool:
    return isinstance(value, types) and (bool in types or not isinstance(value, bool))


def _asked(given: Any) -> set[str]:
    if isinstance(given, str):
        found = _ASKED.findall(given) if "{{" in given or "{%" in given else []
        return {dotted or bracketed for dotted, bracketed in found} - {"get"}
    values = given.values() if isinstance(given, dict) else given
    if not isinstance(given, dict | list | tuple):
        return set()
    return {name for value in values for name in _asked(value)}
