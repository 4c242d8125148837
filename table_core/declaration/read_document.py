"""Reads a declaration: all faults at once, each with file, line and column."""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from table_core.declaration.addresses import address_diagnostics
from table_core.declaration.diagnosed import diagnosed
from table_core.declaration.environment import TARGET
from table_core.declaration.grammar import CHECK_RULES, DECLARATION, GROUPS, UPKEEP_ACTIONS
from table_core.declaration.located import Diagnostic, Located, place_of, read_yaml
from table_core.declaration.model import (
    CheckDeclaration,
    Declaration,
    TableDeclaration,
    TriggerDeclaration,
    UpkeepDeclaration,
)
from table_core.declaration.names import fresh_check, name_diagnostics
from table_core.declaration.order import ordered
from table_core.declaration.references import reference_diagnostics
from table_core.declaration.steps import step_of
from table_core.declaration.table_schema import canonical
from table_core.declaration.verbs import MAKES_ROWS
from table_core.errors import TableError
from table_core.options.nearest import hint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from table_core.declaration.steps import Step
    from table_core.shapes.shape import Shape

__all__ = ["Read", "aimed", "read", "read_for_target"]


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
    diagnostics += diagnosed(DECLARATION, root, file)
    if not isinstance(root.value, dict):
        return Read(file, root, None, diagnostics)
    sound = _sound(root) if diagnostics else root
    target = (environment or {}).get(TARGET)
    if target and "targets" in root.value:
        sound, message = aimed(sound, target)
        targets = root.value["targets"].value
        if (
            message and isinstance(targets, dict) and target not in targets
        ):  # else its own fault is told
            diagnostics.append(Diagnostic(file, *place_of(root, ("targets",)), message))
        diagnostics += diagnosed(DECLARATION, sound, file)
        sound = _sound(sound) if diagnostics else sound
    declaration = _declaration(DECLARATION.plain(sound.written()))
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
            diagnostics += diagnosed(DECLARATION.members[name], aim.value[name], file)
    sound = _sound(aim) if diagnostics else aim
    declaration = _declaration(DECLARATION.plain(sound.written()))
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
            entry_shape = DECLARATION.members[name].item  # type: ignore[attr-defined]  # groups are maps
            entries = {key: one for key, one in item.value.items() if _fits(entry_shape, one)}
            members[name] = replace(item, value=entries)
        elif _fits(shape, item):
            members[name] = item
    return replace(root, value=members)


def _fits(shape: Shape, node: Located) -> bool:
    return shape.fits(node.written())


def _declaration(document: Mapping[str, Any]) -> Declaration:
    tables = {
        name: _table(table, document.get("options") or {})
        for name, table in (document.get("tables") or {}).items()
    }
    steps = [
        _step(name, step, tables)
        for group in ("sources", "flows")
        for name, step in (document.get(group) or {}).items()
    ]
    upkeep = document.get("upkeep")
    audited = tuple(name for name, table in tables.items() if table.audit)
    return Declaration(
        name=str(document.get("name") or ""),
        connection=str(document.get("connection") or "paimon_default"),
        pool=document.get("pool"),
        catalog=document.get("catalog"),
        warehouse=document.get("warehouse"),
        pipeline=document.get("pipeline") or {},
        steps=tuple(ordered(steps, audited)),
        audited=audited,
        checks=tuple(_checks(document, audited)),
        triggers=tuple(_trigger(n, t, tables) for n, t in (document.get("triggers") or {}).items()),
        upkeep=None if upkeep is None else _upkeep(upkeep),
        tables=tables,
        policies={} if upkeep is None else {name: policy_of(name, upkeep) for name in tables},
        moved=_moved(document),
        prefix=document.get("prefix"),
        include=tuple(document.get("include") or ()),
        allow=tuple(document.get("allow") or ()),
        external={
            name: _table(one, {}) if "columns" in one else None
            for name, one in (document.get("external") or {}).items()
        },
    )


def _checks(document: Mapping[str, Any], audited: Sequence[str]) -> Iterator[CheckDeclaration]:
    for name, check in (document.get("checks") or {}).items():
        yield _check(name, check, audited)
    for name, external in (document.get("external") or {}).items():
        if "freshness" in external:
            rules = {"freshness": external["freshness"]}
            yield CheckDeclaration(name=fresh_check(name), table=name, rules=rules, gate=True)


def _check(name: str, entry: Mapping[str, Any], audited: Sequence[str]) -> CheckDeclaration:
    more = {key: item for key, item in entry.items() if key not in CHECK_RULES and key != "table"}
    if "change" in entry and entry["table"] in audited:
        more.setdefault("against", entry["table"])
    more["tags"] = tuple(entry.get("tags") or ())
    rules = {key: item for key, item in entry.items() if key in CHECK_RULES}
    return CheckDeclaration(name=name, table=entry["table"], rules=rules, **more)


def _moved(entry: Mapping[str, Any]) -> dict[str, str]:
    return {one["from"]: one["to"] for one in entry.get("moved") or ()}


def _table(entry: Mapping[str, Any], common: Mapping[str, str]) -> TableDeclaration:
    described = {n: c for n, c in entry["columns"].items() if isinstance(c, dict)}
    return TableDeclaration(
        columns={n: c["type"] if n in described else c for n, c in entry["columns"].items()},
        primary_key=tuple(entry.get("primary_key") or ()),
        partition_by=tuple(entry.get("partition_by") or ()),
        options={**common, **(entry.get("options") or {})},
        comment=entry.get("comment"),
        column_comments={n: c["comment"] for n, c in described.items() if "comment" in c},
        column_defaults={n: c["default"] for n, c in described.items() if "default" in c},
        computed={n: c["computed"] for n, c in described.items() if "computed" in c},
        moved=_moved(entry),
        allow=tuple(entry.get("allow") or ()),
        audit=bool(entry.get("audit")),
        tags=tuple(entry.get("tags") or ()),
    )


def _step(name: str, entry: Mapping[str, Any], tables: Mapping[str, TableDeclaration]) -> Step:
    table = tables.get(entry["table"])
    if isinstance(entry.get("overwrite"), dict):
        entry = {**entry, "overwrite": canonical(entry["overwrite"], table)}
    makes_rows = not MAKES_ROWS.isdisjoint(entry)
    return step_of(
        entry,
        name=name,
        table=entry["table"],
        computed=table.computed_columns if table is not None and makes_rows else (),
        after=tuple(entry.get("after") or ()),
        engine=entry.get("engine"),
        events=entry.get("events") or "changes",
        spark_conf=entry.get("spark_conf"),
        tags=tuple(entry.get("tags") or ()),
    )


def _upkeep(entry: Mapping[str, Any]) -> UpkeepDeclaration:
    return UpkeepDeclaration(
        schedule=entry.get("schedule"),
        max_concurrent_jobs=entry.get("max_concurrent_jobs"),
        engine=entry.get("engine"),
        tags=tuple(entry.get("tags") or ()),
    )


def _trigger(
    name: str, entry: Mapping[str, Any], tables: Mapping[str, TableDeclaration]
) -> TriggerDeclaration:
    other = {"table", "report", "flows", "tags"}
    watch = {key: value for key, value in entry.items() if key not in other}
    if "partitions" in watch:
        table = tables.get(entry["table"])
        watch["partitions"] = [canonical(one, table) for one in watch["partitions"]]
    return TriggerDeclaration(
        name=name,
        table=entry["table"],
        watch=watch,
        report=entry.get("report"),
        flows=tuple(entry.get("flows") or ()),
        tags=tuple(entry.get("tags") or ()),
    )


_OWN = ("include", "version", "name")
"""What each file may say for itself: the including file's holds."""


def include_names(root: Located) -> list[Located]:
    """The paths that a file includes, where they stand."""
    node = root.value.get("include") if isinstance(root.value, dict) else None
    items = node.value if node is not None and isinstance(node.value, list) else []
    return [item for item in items if isinstance(item.value, str)]


def with_included(
    root: Located,
    file: str,
    texts: Callable[[str], str] | None,
    environment: Mapping[str, str] | None,
) -> tuple[Located, list[Diagnostic]]:
    """``root`` with the members of the files that it includes, and what is wrong with those.

    ``texts`` gives the text of a path as it is written, which is from the folder of ``file``.
    """
    diagnostics: list[Diagnostic] = []
    for item in include_names(root):
        path = str(item.text)
        if texts is None:
            diagnostics.append(
                Diagnostic(file, *item.place, "files can be included only by a file")
            )
            continue
        try:
            text = texts(path)
        except TableError as error:
            diagnostics.append(Diagnostic(file, *item.place, str(error)))
            continue
        more, message = read_yaml(text, path, environment, named=True)
        diagnostics += message
        if more is None:
            continue
        if not isinstance(more.value, dict) or "include" in more.value:
            rule = "an included file is a mapping, and includes nothing itself"
            diagnostics.append(Diagnostic(file, *item.place, f"{path}: {rule}"))
            continue
        root = _joined(root, more, path, diagnostics)
    return root, diagnostics


def _joined(root: Located, more: Located, path: str, diagnostics: list[Diagnostic]) -> Located:
    members, keys = dict(root.value), dict(root.keys or {})
    for name, item in more.value.items():
        at = (more.keys or {}).get(name, more.place)
        node = members.get(name)
        if node is None:
            members[name], keys[name] = item, at
        elif isinstance(node.value, dict) and isinstance(item.value, dict):
            members[name] = _entries(node, item, path, diagnostics)
        elif name not in _OWN:
            diagnostics.append(Diagnostic(path, *at, f"{name!r} is in another file too"))
    return replace(root, value=members, keys=keys)


def _entries(node: Located, more: Located, path: str, diagnostics: list[Diagnostic]) -> Located:
    entries: dict[str, Any] = dict(node.value)
    keys = dict(node.keys or {})
    for name, item in more.value.items():
        at = (more.keys or {}).get(name, more.place)
        if name in entries:
            diagnostics.append(Diagnostic(path, *at, f"{name!r} is in another file too"))
        else:
            entries[name], keys[name] = item, at
    return replace(node, value=entries, keys=keys)


def aimed(root: Located, target: str) -> tuple[Located, str]:
    """``root`` as it is for ``target``, without its targets; and what is wrong, '' if nothing is."""
    members = dict(root.value)
    targets = members.pop("targets", None)
    plain = replace(root, value=members)
    known = {} if targets is None or not isinstance(targets.value, dict) else targets.value
    if target not in known:
        if not known:
            return (
                plain,
                f"no target {target!r}: this file has no targets; add targets: {{{target}: …}}",
            )
        return plain, f"no target {target!r}; {hint(target, known)}"
    return _over(plain, known[target]), ""


def _over(base: Located, over: Located) -> Located:
    if not isinstance(base.value, dict) or not isinstance(over.value, dict):
        return over
    members = dict(base.value)
    for name, item in over.value.items():
        members[name] = _over(members[name], item) if name in members else item
    return replace(base, value=members, keys={**(base.keys or {}), **(over.keys or {})})


def policy_of(table: str, upkeep: Mapping[str, Any]) -> dict[str, Any]:
    """Action to its settings for ``table``; an action that is ``false`` is off.

    What is nearer wins, setting by setting; of several patterns that match, the later one.  What was
    switched off and is switched on again has the settings that it would have inherited.
    """
    database = table.partition(".")[0]
    layers = [upkeep.get("policy") or {}]
    patterns: Mapping[str, Any] = upkeep.get("databases") or {}
    layers += [rules for name, rules in patterns.items() if fnmatch.fnmatchcase(database, name)]
    layers.append((upkeep.get("tables") or {}).get(table) or {})
    policy: dict[str, Any] = {}
    off: set[str] = set()
    for rules in layers:
        for name, settings in rules.items():
            if settings is False:
                off.add(name)
                continue
            off.discard(name)
            more = {} if settings is True else settings
            policy[name] = {**policy.get(name, {}), **more}
    actions = [*UPKEEP_ACTIONS, "thresholds"]
    return {name: policy[name] for name in actions if name in policy and name not in off}
