"""One file for several environments: what a target says wins, setting by setting."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from table_core.options.nearest import hint

if TYPE_CHECKING:
    from table_core.declaration.located import Located

__all__ = ["aimed"]


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
