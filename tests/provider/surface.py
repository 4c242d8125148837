"""What users build on, one line for each promise: names, signatures, options, words, schemas, kinds of errors.

``python -m tests.provider.surface`` writes the recorded lines anew: look at the difference before you keep it.
"""

from __future__ import annotations

import importlib
import inspect
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer.main

import table_core
from paimon_provider.get_provider_info import get_provider_info
from table_core import dbapi, errors
from table_core.cli.json_schemas import SCHEMAS
from table_core.cli.main import COMMANDS, app
from table_core.declaration.grammar import json_schema
from table_core.jobs.registry import ACTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["RECORDED", "surface"]

RECORDED = Path(__file__).with_name("surface.txt")
_DOCUMENTED = (
    "approval",
    "assets",
    "declaration",
    "freshness",
    "hooks.sql",
    "publish",
    "table_actions",
    "operators.base",
    "sensors.base",
)
"""Modules that the documents import from, beside those that Airflow knows."""
_PLAIN = (str, int, float, bool, type(None), tuple, list, dict)


def surface() -> list[str]:
    """Every line, in order."""
    lines = (*_core(), *_provider(), *_errors(), *_commands(), *_schemas(), *_actions())
    return sorted({line.replace("\n", "\\n") for line in lines})


def _core() -> Iterator[str]:
    for name in table_core.__all__:
        yield from _named(f"table_core.{name}", getattr(table_core, name))
    for name in dbapi.__all__:
        one = getattr(dbapi, name)
        of_python = isinstance(one, type) and one.__module__ != dbapi.__name__
        line = f"table_core.dbapi.{name}"
        yield from [f"{line} = {one.__name__}"] if of_python else _named(line, one)


def _provider() -> Iterator[str]:
    info = get_provider_info()
    rooms = [room for kind in ("operators", "sensors", "hooks", "triggers") for room in info[kind]]
    modules = [name for room in rooms for name in room["python-modules"]]
    named = (f"paimon_provider.{name}" for name in _DOCUMENTED)
    for module in dict.fromkeys((*modules, *named, *_of_paths(info))):
        loaded = importlib.import_module(module)
        for name in loaded.__all__:
            yield from _named(f"{module}.{name}", getattr(loaded, name))
    for kind, told in info.items():
        if kind not in {"versions", "operators", "sensors"}:
            yield f"provider info {kind} {_json(told)}"


def _of_paths(info: dict[str, Any]) -> set[str]:
    """Modules of classes and functions that Airflow finds by their names."""
    paths = (*info["extra-links"], *info["queues"], *info["notifications"])
    decorated = [one["class-name"] for one in info["task-decorators"]]
    return {path.rpartition(".")[0] for path in (*paths, *decorated)}


def _named(path: str, value: Any) -> Iterator[str]:
    if inspect.isclass(value):
        yield from _class(path, value)
    elif callable(value):
        yield f"{path}{_signature(value)}"
    else:
        yield f"{path} = {_text(value)}"


def _class(path: str, cls: type) -> Iterator[str]:
    yield f"{path}{_signature(cls.__init__)}"
    for name, value in sorted(_members(cls).items()):
        if isinstance(value, property):
            yield f"{path}.{name} property"
        elif callable(value) and not inspect.isclass(value):
            yield f"{path}.{name}{_signature(value)}"
    for name in ("template_fields", "template_ext"):
        if hasattr(cls, name):
            yield f"{path}.{name} {sorted(getattr(cls, name))}"
    if hasattr(cls, "template_fields_renderers"):
        yield f"{path}.template_fields_renderers {_json(cls.template_fields_renderers)}"


def _members(cls: type) -> dict[str, Any]:
    """Its own public members: those of its bases stand with them."""
    own = {name: value for name, value in vars(cls).items() if not name.startswith("_")}
    return {
        name: getattr(cls, name) if callable(getattr(cls, name)) else value
        for name, value in own.items()
    }


def _signature(of: Any) -> str:
    try:
        parameters = inspect.signature(of).parameters.values()
    except (TypeError, ValueError):
        return "(…)"
    return f"({', '.join(map(_parameter, parameters))})"


def _parameter(one: inspect.Parameter) -> str:
    mark = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**", one.KEYWORD_ONLY: "-"}.get(one.kind, "")
    type_ = "" if one.annotation is one.empty else f": {one.annotation}"
    default = "" if one.default is one.empty else f" = {_text(one.default)}"
    return f"{mark}{one.name}{type_}{default}"


def _text(value: Any) -> str:
    return repr(value) if isinstance(value, _PLAIN) else f"<{type(value).__name__}>"


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)


def _errors() -> Iterator[str]:
    yield f"kinds of errors: {', '.join(sorted(kind.value for kind in errors.ErrorKind))}"
    for name, cls in vars(errors).items():
        if inspect.isclass(cls) and issubclass(cls, Exception):
            bases = ", ".join(base.__name__ for base in cls.__mro__[1:-1])
            yield f"error {name}({bases}) {getattr(cls, 'kind', '')}"


def _commands() -> Iterator[str]:
    root: Any = typer.main.get_command(app)
    for entry in COMMANDS:
        command = root
        for word in entry.path:
            command = command.commands[word]
        yield f"command {' '.join(entry.path)}: {entry.heading} | {command.help} | {command.epilog}"
        for number, one in enumerate(command.params):
            names = ", ".join((*one.opts, *one.secondary_opts))
            default = one.default if isinstance(one.default, _PLAIN) else "-"
            facts = {
                "type": str(one.type_descriptor.annotation),
                "required": one.required,
                "default": default,
                "repeated": one.multiple if hasattr(one, "multiple") else one.nargs,
                "metavar": one.metavar,
                "variable": one.envvar,
                "help": getattr(one, "help", None),
            }
            place = number if one.param_type_name == "argument" else "option"
            yield f"command {' '.join(entry.path)} {place} {names} {_json(facts)}"


def _schemas() -> Iterator[str]:
    for command, schema in SCHEMAS.items():
        yield f"json of {command}: {_json(schema)}"
    document = json_schema()
    defs, members = document.pop("$defs"), document.pop("properties")
    yield f"declaration: {_json(document)}"
    for group, parts in (("$defs", defs), ("properties", members)):
        for name, part in parts.items():
            inner = part.get("properties", {}) if isinstance(part, dict) else {}
            outer = {key: value for key, value in part.items() if key != "properties"}
            yield f"declaration {group} {name}: {_json(outer)}"
            for member, shape in inner.items():
                yield f"declaration {group} {name} {member}: {_json(shape)}"


def _actions() -> Iterator[str]:
    for action in ACTIONS.values():
        yield f"action {action.name}: {action.target} | {action.run_by} | {action.about}"
        for one in action.parameters:
            facts = {
                "default": one.default,
                "required": one.required,
                "operator": one.in_operator,
                "required by the operator": one.required_by_operator,
                "templated": one.templated,
                "job": one.job,
                "shape": one.shape.in_words,
                "about": one.about,
            }
            yield f"action {action.name} {one.name} {_json(facts)}"


if __name__ == "__main__":
    RECORDED.write_text("\n".join(surface()) + "\n", encoding="utf-8")
