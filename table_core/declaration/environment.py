"""Variables in the values of a declaration: ``${NAME}``, or ``${NAME:-what else}``.

``$${NAME}`` stands for the text ``${NAME}``.  What looks like a secret is refused: a value of the file
gets into Dags, logs and manifests, and secrets belong into connections.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["TARGET", "looks_secret", "names_in", "replaced", "shows_password"]

TARGET: Final = "TABLE_CORE_TARGET"
"""The variable that chooses one of the targets of a declaration."""
_VARIABLE: Final = re.compile(r"\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<other>[^{}]*))?\}")
_MARK: Final = re.compile(r"\$\$\{|" + _VARIABLE.pattern + r"|(?P<wrong>\$\{[^}]*\}?)")
_SECRET: Final = re.compile(
    r"secret|passw|token|(access|account|private|api).?key|credential|(^|_)sas(_|$)|_pwd(_|$)",
    re.IGNORECASE,
)


_PASSWORD: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/\s:@]*:[^/\s@{]+@")


def looks_secret(name: str) -> bool:
    """Whether what has this name is likely to be a secret."""
    return _SECRET.search(name) is not None


def shows_password(text: str) -> bool:
    """Whether an address in ``text`` has a password in it."""
    return "://" in text and _PASSWORD.search(text) is not None


def replaced(text: str, environment: Mapping[str, str]) -> tuple[str, list[str]]:
    """``text`` with the values of variables, and what is wrong with them."""
    diagnostics: list[str] = []

    def value(match: re.Match[str]) -> str:
        name, other = match["name"], match["other"]
        if match["wrong"]:
            diagnostics.append(
                f"{match['wrong']} is no variable: write ${{NAME}} or ${{NAME:-what else}}, "
                "and $${…} for the text itself"
            )
            return match[0]
        if name is None:
            return "${"
        if _SECRET.search(name):
            diagnostics.append(
                f"variable {name} looks like a secret: it belongs into the connection, not here"
            )
            return match[0]
        if name in environment and (environment[name] or other is None):
            return environment[name]
        if other is None:
            diagnostics.append(f"variable {name} is not set: set it, or write ${{{name}:-…}}")
            return match[0]
        return other

    return _MARK.sub(value, text), diagnostics


def names_in(text: str) -> list[str]:
    """The variables that ``text`` speaks of, each once."""
    return sorted({match["name"] for match in _VARIABLE.finditer(text)})
