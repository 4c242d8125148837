"""One declaration out of several files: what ``include`` names is added to what the file says itself."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from table_core.declaration.located import Diagnostic, Located, read_yaml
from table_core.errors import TableError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["include_names", "with_included"]

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
