"""A clause of a merge as it is typed: ``matched-upsert set a = source.a, b = 1 where source.a > 0``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from table_core.cli.arguments import named_once
from table_core.errors import ArgumentError
from table_core.options.nearest import require_one_of

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["clause_of"]

_ACTIONS: Final = (
    "matched-upsert",
    "matched-delete",
    "not-matched-insert",
    "not-matched-by-source-upsert",
    "not-matched-by-source-delete",
)
_WORDS: Final = re.compile(r"\s+(set|where)\s+", re.IGNORECASE)
_PIECES: Final = re.compile(
    r"""'(?:[^']|'')*' | "(?:[^"]|"")*" | `[^`]*` | [()] | , | [^'"`(),]+ | .""",
    re.VERBOSE | re.DOTALL,
)


def clause_of(text: str) -> dict[str, Any]:
    """The clause as the action takes it.

    Raises:
        ArgumentError: it begins with no clause, a value is not ``column = SQL``, or a column comes twice.
    """
    action, _, rest = text.strip().partition(" ")
    require_one_of("when", action, _ACTIONS)
    values, condition = _parts(f" {rest.strip()}", text)
    clause: dict[str, Any] = {"action": action}
    if values is not None:
        assignments = (_assignment(one, text) for one in _split(values, ","))
        clause["values"] = named_once(assignments, "--when")
    if condition is not None:
        clause["condition"] = condition
    return clause


def _parts(rest: str, whole: str) -> tuple[str | None, str | None]:
    """What stands behind ``set``, and what behind ``where``."""
    parts: dict[str, str] = {}
    word, held = "", ""
    for piece, outside in _pieces(rest):
        at = 0
        for match in _WORDS.finditer(piece) if outside else ():
            held += piece[at : match.start()]
            _keep(parts, word, held, whole)
            word, held, at = match[1].lower(), "", match.end()
        held += piece[at:]
    _keep(parts, word, held, whole)
    return parts.get("set"), parts.get("where")


def _keep(parts: dict[str, str], word: str, text: str, whole: str) -> None:
    if word in parts or (not word and text.strip()) or (word and not text.strip()):
        raise ArgumentError(
            f"--when {whole!r}: write a clause, then 'set column = SQL, …', then 'where SQL'",
            argument="when",
            value=whole,
        )
    if word:
        parts[word] = text.strip()


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Parts of ``text``, and whether each is outside of quotes and parentheses."""
    depth = 0
    for match in _PIECES.finditer(text):
        piece = match[0]
        depth += (piece == "(") - (piece == ")")
        yield piece, depth == 0 and piece[0] not in "'\"`()"


def _split(text: str, mark: str) -> list[str]:
    pieces = [""]
    for piece, outside in _pieces(text):
        if outside and piece == mark:
            pieces.append("")
        else:
            pieces[-1] += piece
    return pieces


def _assignment(text: str, whole: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign or not name.strip() or not value.strip():
        raise ArgumentError(
            f"--when {whole!r}: {text.strip()!r} is no 'column = SQL'", argument="when", value=whole
        )
    return name.strip().strip("`"), value.strip()
