"""Reads a declaration: all faults at once, each with file, line and column."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from table_core.declaration.addresses import address_diagnostics
from table_core.declaration.environment import TARGET
from table_core.declaration.grammar import CHECK_RULES, DECLARATION, GROUPS
from table_core.declaration.included import with_included
from table_core.declaration.located import Diagnostic, Located, place_of, read_yaml
from table_core.declaration.model import (
    CheckDeclaration,
    Declaration,
    Step,
    TableDeclaration,
    TriggerDeclaration,
    UpkeepDeclaration,
)
from table_core.declaration.names import fresh_check, name_diagnostics
from table_core.declaration.order import ordered
from table_core.declaration.partition_texts import canonical
from table_core.declaration.policy import policy_of
from table_core.declaration.references import reference_diagnostics
from table_core.declaration.targets import aimed
from table_core.declaration.verbs import COMMON, MAKES_ROWS, VERBS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence


__all__ = ["Read", "read", "read_for_target"]


@dataclass(frozen=True, slots=True)
class Read:
    """What a file says, and what is wrong with it."""

    file: str
    root: Located | None
    """All that is there; None where it is no YAML."""
    sound: Declaration | None
    """What is without faults of its own; None where nothing is."""
    diagnostics: list[Diagnostic]


def read(
    text: str,
    file: str,
    environment: Mapping[str, str] | None = None,
    texts: Callable[[str], str] | None = None,
) -> Read:
    """What ``text`` says.  A fault in one place does not hide those in others."""
    root, diagnostics = read_yaml(text, file, environment)
    if root is None:
        return Read(file, None, None, diagnostics)
    root, told_of_others = with_included(root, file, texts, environment)
    diagnostics += told_of_others
    DECLARATION.check(root, file, diagnostics)
    if not isinstance(root.value, dict):
        return Read(file, root, None, diagnostics)
    sound = _sound(root) if diagnostics else root
    target = (environment or {}).get(TARGET)
    if target and "targets" in root.value:
        sound, message = aimed(sound, target)
        given = root.value["targets"].value
        if (
            message and isinstance(given, dict) and target not in given
        ):  # else its own fault is told
            diagnostics.append(Diagnostic(file, *place_of(root, ("targets",)), message))
        DECLARATION.check(sound, file, diagnostics)
        sound = _sound(sound) if diagnostics else sound
    declaration = _declaration(DECLARATION.plain(sound))
    diagnostics += [*name_diagnostics(root, file), *reference_diagnostics(declaration, root, file)]
    diagnostics += address_diagnostics(root, file)
    return Read(file, root, declaration, sorted(set(diagnostics), key=_by_place))


def read_for_target(root: Located, file: str, target: str) -> tuple[Located, Read]:
    """``root`` as it is for ``target``, and what is wrong with the members that the target has a say in."""
    aim, _ = aimed(_sound(root), target)
    diagnostics: list[Diagnostic] = []
    said = root.value["targets"].value[target].value
    for name in said if isinstance(said, dict) else ():
        if name in aim.value and name in DECLARATION.members:
            DECLARATION.members[name].check(aim.value[name], file, diagnostics)
    sound = _sound(aim) if diagnostics else aim
    declaration = _declaration(DECLARATION.plain(sound))
    return aim, Read(
        file, aim, declaration, diagnostics + reference_diagnostics(declaration, aim, file)
    )


def _by_place(diagnostic: Diagnostic) -> tuple[str, int, int, str]:
    return diagnostic.file, diagnostic.line, diagnostic.column, diagnostic.message


def _sound(root: Located) -> Located:
    """``root`` without the members, and in groups without the entries, that have faults."""
    members: dict[str, Located] = {}
    for name, item in root.value.items():
        shape = DECLARATION.members.get(name)
        if shape is None:
            continue
        if name in GROUPS and isinstance(item.value, dict):
            each = DECLARATION.members[name].item  # type: ignore[attr-defined]  # groups are maps
            entries = {key: one for key, one in item.value.items() if _fits(each, one)}
            members[name] = replace(item, value=entries)
        elif _fits(shape, item):
            members[name] = item
    return replace(root, value=members)


def _fits(shape: Any, given: Located) -> bool:
    diagnostics: list[Diagnostic] = []
    shape.check(given, "", diagnostics)
    return not diagnostics


def _declaration(given: Mapping[str, Any]) -> Declaration:
    tables = {
        name: _table(table, given.get("options") or {})
        for name, table in (given.get("tables") or {}).items()
    }
    steps = [
        _step(name, step, tables)
        for group in ("sources", "flows")
        for name, step in (given.get(group) or {}).items()
    ]
    upkeep = given.get("upkeep")
    audited = tuple(name for name, table in tables.items() if table.audit)
    return Declaration(
        name=str(given.get("name") or ""),
        connection=str(given.get("connection") or "paimon_default"),
        pool=given.get("pool"),
        catalog=given.get("catalog"),
        warehouse=given.get("warehouse"),
        pipeline=given.get("pipeline") or {},
        steps=tuple(ordered(steps, audited)),
        audited=audited,
        checks=tuple(_checks(given, audited)),
        triggers=tuple(_trigger(n, t, tables) for n, t in (given.get("triggers") or {}).items()),
        upkeep=None if upkeep is None else _upkeep(upkeep),
        tables=tables,
        policies={} if upkeep is None else {name: policy_of(name, upkeep) for name in tables},
        moved=_moved(given),
        prefix=given.get("prefix"),
        include=tuple(given.get("include") or ()),
        allow=tuple(given.get("allow") or ()),
        external={
            name: _table(one, {}) if "columns" in one else None
            for name, one in (given.get("external") or {}).items()
        },
    )


def _checks(given: Mapping[str, Any], audited: Sequence[str]) -> Iterator[CheckDeclaration]:
    for name, check in (given.get("checks") or {}).items():
        yield _check(name, check, audited)
    for name, external in (given.get("external") or {}).items():
        if "freshness" in external:
            rules = {"freshness": external["freshness"]}
            yield CheckDeclaration(name=fresh_check(name), table=name, rules=rules, gate=True)


def _check(name: str, given: Mapping[str, Any], audited: Sequence[str]) -> CheckDeclaration:
    more = {key: item for key, item in given.items() if key not in CHECK_RULES and key != "table"}
    if "change" in given and given["table"] in audited:
        more.setdefault("against", given["table"])
    more["tags"] = tuple(given.get("tags") or ())
    rules = {key: item for key, item in given.items() if key in CHECK_RULES}
    return CheckDeclaration(name=name, table=given["table"], rules=rules, **more)


def _moved(given: Mapping[str, Any]) -> dict[str, str]:
    return {one["from"]: one["to"] for one in given.get("moved") or ()}


def _table(given: Mapping[str, Any], common: Mapping[str, str]) -> TableDeclaration:
    described = {n: c for n, c in given["columns"].items() if isinstance(c, dict)}
    return TableDeclaration(
        columns={n: c["type"] if n in described else c for n, c in given["columns"].items()},
        primary_key=tuple(given.get("primary_key") or ()),
        partition_by=tuple(given.get("partition_by") or ()),
        options={**common, **(given.get("options") or {})},
        comment=given.get("comment"),
        column_comments={n: c["comment"] for n, c in described.items() if "comment" in c},
        column_defaults={n: c["default"] for n, c in described.items() if "default" in c},
        computed={n: c["computed"] for n, c in described.items() if "computed" in c},
        moved=_moved(given),
        allow=tuple(given.get("allow") or ()),
        audit=bool(given.get("audit")),
        tags=tuple(given.get("tags") or ()),
    )


def _step(name: str, given: Mapping[str, Any], tables: Mapping[str, TableDeclaration]) -> Step:
    arguments = {key: value for key, value in given.items() if key not in COMMON}
    if isinstance(arguments.get("overwrite"), dict):
        arguments["overwrite"] = canonical(arguments["overwrite"], tables.get(given["table"]))
    table, verb = tables.get(given["table"]), next(verb for verb in VERBS if verb in given)
    return Step(
        name=name,
        table=given["table"],
        verb=verb,
        computed=table.computed_columns if table is not None and verb in MAKES_ROWS else (),
        arguments=arguments,
        after=tuple(given.get("after") or ()),
        engine=given.get("engine"),
        events=given.get("events") or "changes",
        spark_conf=given.get("spark_conf"),
        tags=tuple(given.get("tags") or ()),
    )


def _upkeep(given: Mapping[str, Any]) -> UpkeepDeclaration:
    return UpkeepDeclaration(
        schedule=given.get("schedule"),
        max_concurrent_jobs=given.get("max_concurrent_jobs"),
        engine=given.get("engine"),
        tags=tuple(given.get("tags") or ()),
    )


def _trigger(
    name: str, given: Mapping[str, Any], tables: Mapping[str, TableDeclaration]
) -> TriggerDeclaration:
    other = {"table", "report", "flows", "tags"}
    watch = {key: value for key, value in given.items() if key not in other}
    if "partitions" in watch:
        table = tables.get(given["table"])
        watch["partitions"] = [canonical(one, table) for one in watch["partitions"]]
    return TriggerDeclaration(
        name=name,
        table=given["table"],
        watch=watch,
        report=given.get("report"),
        flows=tuple(given.get("flows") or ()),
        tags=tuple(given.get("tags") or ()),
    )
