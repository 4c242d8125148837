"""Names of a declaration, checked once: what two things would share, and what is taken already.

A name becomes the id of a Dag or a task, a table or a view of SQL, and each of these has its own idea
of what is the same name.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from table_core.declaration.located import Diagnostic, Located, place_of
from table_core.declaration.steps import PendingRows
from table_core.declaration.verbs import VERBS
from table_core.options.shown import shown
from table_core.shapes.texts import FILE_NAME

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = [
    "APPLY_TASK",
    "AUDIT_TASKS",
    "CHECK_PREFIX",
    "UPKEEP_SUFFIX",
    "audit_group",
    "name_diagnostics",
]

APPLY_TASK: Final = "apply_declaration"
"""The first task of a pipeline."""
CHECK_PREFIX: Final = "check_"
UPKEEP_SUFFIX: Final = "upkeep"
"""The upkeep's Dag is called ``<name>_upkeep``."""
AUDIT_TASKS: Final = ("branch", "publish", "clean_up")
"""The tasks that an audited table has besides its writers and checks: ``audit_shop_orders_branch``."""
_ID_MAX: Final = 250
_GROUP_MAX: Final = 180
"""Of a group's id, to which the names of its tasks are added."""
_RESERVED_DATABASE: Final = "sys"
_QUOTES: Final = "`'\""


def name_diagnostics(root: Located, file: str) -> list[Diagnostic]:
    """Names that are there twice or taken, of Dags, tasks, tables, columns and views."""
    findings = [
        *_tasks(root),
        *_dags(root),
        *_same_but_for_case(root, ("tables",)),
        *_databases(root),
        *_columns(root),
        *_views(root),
    ]
    return [Diagnostic(file, *place_of(root, path), message) for path, message in findings]


Finding = tuple[tuple[str, ...], str]


def _members(root: Located, *path: str) -> Mapping[str, Located]:
    node: Any = root
    for name in path:
        if not isinstance(node.value, dict) or name not in node.value:
            return {}
        node = node.value[name]
    return node.value if isinstance(node.value, dict) else {}


def _tasks(root: Located) -> Iterator[Finding]:
    taken: dict[str, str] = {}
    for group in ("sources", "flows"):
        for name in _members(root, group):
            if name in taken:
                other = taken[name]
                both = f"{name!r} names a source and a flow"
                message = both if other == "a source" else f"{name!r} is the name of {other}"
                yield (group, name), message
            taken[name] = f"a {group.removesuffix('s')}"
    for name in _members(root, "checks"):
        task = f"{CHECK_PREFIX}{name}"
        if task in taken:
            yield ("checks", name), f"its task is called {task!r}, as is {taken[task]}"
        taken.setdefault(task, f"the task of check {name!r}")
    for name, table in _members(root, "external").items():
        task = f"{CHECK_PREFIX}{fresh_check(name)}"
        if isinstance(table.value, dict) and "freshness" in table.value:
            if task in taken:
                message = f"its task is called {task!r}, as is {taken[task]}"
                yield ("external", name, "freshness"), message
            taken[task] = f"the freshness of {name}"
    yield from _audits(root, taken)


def fresh_check(table: str) -> str:
    """The name of the check that ``freshness`` of an external table asks for."""
    return f"fresh_{re.sub('[^A-Za-z0-9_-]', '_', table)}"


def audit_group(table: str) -> str:
    """The id of the group of tasks that write an audited table, check it and publish it."""
    return f"audit_{re.sub('[^A-Za-z0-9_-]', '_', table)}"


def _audits(root: Located, taken: dict[str, str]) -> Iterator[Finding]:
    for name, table in _members(root, "tables").items():
        if not isinstance(table.value, dict) or "audit" not in table.value:
            continue
        if table.value["audit"].value is not True:
            continue
        group = audit_group(name)
        if len(group) > _GROUP_MAX:
            yield ("tables", name), f"too long for a group of tasks: {len(group)} characters"
        for task in (group, *(f"{group}_{one}" for one in AUDIT_TASKS)):
            if task in taken:
                yield ("tables", name, "audit"), f"it makes {task!r}, as does {taken[task]}"
            taken[task] = f"the audit of {name}"


def _dags(root: Located) -> Iterator[Finding]:
    node = root.value.get("name") if isinstance(root.value, dict) else None
    name = str(node.text) if node is not None and node.text else ""
    for trigger in _members(root, "triggers"):
        if len(name) + 1 + len(trigger) > _ID_MAX:
            yield ("triggers", trigger), f"the id of its Dag is longer than {_ID_MAX} characters"


def _same_but_for_case(root: Located, path: tuple[str, ...]) -> Iterator[Finding]:
    seen: dict[str, str] = {}
    for name in _members(root, *path):
        other = seen.setdefault(name.casefold(), name)
        if other != name:
            yield (*path, name), f"{name!r} and {other!r} differ in case alone"


def _databases(root: Located) -> Iterator[Finding]:
    for name in _members(root, "tables"):
        if name.partition(".")[0] == _RESERVED_DATABASE:
            yield ("tables", name), f"database {_RESERVED_DATABASE!r} is reserved"
        for part in name.split("."):
            for problem in FILE_NAME.problems(part):
                yield ("tables", name), problem.message
        if (mark := shown(name, one_line=True)) != name:
            yield ("tables", name), f"a mark in it cannot be seen: {mark}"
        if any(quote in name for quote in _QUOTES):
            plain = name.translate(dict.fromkeys(map(ord, _QUOTES)))
            yield ("tables", name), f"{name} has quotes in it: write {plain}"


def _columns(root: Located) -> Iterator[Finding]:
    for table in _members(root, "tables"):
        yield from _same_but_for_case(root, ("tables", table, "columns"))
        for name in _members(root, "tables", table, "columns"):
            if not name.strip():
                yield ("tables", table, "columns", name), "a column has no name"


def _views(root: Located) -> Iterator[Finding]:
    for group in ("sources", "flows"):
        for name, step in _members(root, group).items():
            verbs = [verb for verb in VERBS if isinstance(step.value, dict) and verb in step.value]
            inner = ("merge", "source") if verbs == ["merge"] else ()
            for reads in ("reads", "sources"):
                path = (group, name, *inner, reads)
                views = _members(root, *path)
                yield from _same_but_for_case(root, path)
                yield from _beside_pending(root, (group, name), views)


def _beside_pending(
    root: Located, step: tuple[str, str], views: Iterable[str]
) -> Iterator[Finding]:
    members = _members(root, *step, "pending")
    texts = {name: one.text for name, one in members.items() if one.text}
    pending = PendingRows(**{"sql": "", **texts}).shown_as if "table" in texts else ""
    for view in views:
        if pending and view.casefold() == pending.casefold():
            message = (
                f"view {view!r} is what the rows of the pending table are called: rename the view"
            )
            yield (*step, "reads", view), message
