"""All actions by their names: those of every module of ``table_core.jobs.actions``.

The folder is the list.  A list beside it would be a second place to name a verb, and a verb that is
missing in it would be missing silently.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module
from typing import TYPE_CHECKING, Final

from table_core.errors import UnsupportedFeatureError
from table_core.jobs import actions
from table_core.options.nearest import meant

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from table_core.jobs.action import Action

__all__ = ["ACTIONS", "action_of"]


def _collected() -> Iterator[Action]:
    for module in sorted(pkgutil.iter_modules(actions.__path__), key=lambda info: info.name):
        yield from import_module(f"{actions.__name__}.{module.name}").ACTIONS


def _by_name() -> dict[str, Action]:
    by_name: dict[str, Action] = {}
    for action in _collected():
        assert action.name not in by_name, f"two actions are called {action.name}"
        by_name[action.name] = action
    return by_name


ACTIONS: Final[Mapping[str, Action]] = _by_name()


def action_of(name: str) -> Action:
    """The action of that name.

    Raises:
        UnsupportedFeatureError: there is none; the nearest spelling is told.
    """
    if name not in ACTIONS:
        raise UnsupportedFeatureError(
            f"unknown action {name!r}{meant(name, ACTIONS)}; known: {', '.join(ACTIONS)}",
            feature=name,
        )
    return ACTIONS[name]
