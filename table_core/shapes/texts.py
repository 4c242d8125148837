"""Texts that name something: a table, a branch, a position, a view."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from table_core.errors import ArgumentError
from table_core.options.branch_name import require_branch_name
from table_core.options.spark_settings import require_printable
from table_core.position.reader import require_position_name
from table_core.shapes.shape import Text

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "BRANCH",
    "COMMENT",
    "FILE_NAME",
    "FILLED",
    "LINE",
    "POSITION_NAME",
    "PREFIX",
    "STATE",
    "TABLE",
    "VIEW",
]

VIEW: Final = r"[^\W\d]\w*"
"""The name of a view or a parameter: what SQL takes without quotes."""
_NAME_MAX: Final = 255
"""Bytes that a file system gives a name."""


def _refused_by(require: Callable[[str], object]) -> Callable[[str], str]:
    """A judge that asks ``require``, which raises."""

    def judge(text: str) -> str:
        try:
            require(text)
        except ArgumentError as error:
            return str(error)
        return ""

    return judge


def _of_line(text: str) -> str:
    return "it is blank" if not text.strip() else _refused_by(_printable)(text)


def _printable(text: str) -> None:
    require_printable(text, "it")


def _of_several_lines(text: str) -> str:
    return "" if text.strip() and "\0" not in text else "it is blank, or has a zero byte"


def _of_file(text: str) -> str:
    if (
        re.search(r"[/\\]", text)
        or text in {".", ".."}
        or len(text.encode(errors="replace")) > _NAME_MAX
    ):
        return f"no slash, at most {_NAME_MAX} bytes"
    return _of_line(text)


def _of_table(text: str) -> str:
    if not all(part.strip() for part in text.split(".")):
        return "a part of it is blank"
    return _of_line(text)


def _of_branch(text: str) -> str:
    return _of_file(text) or _refused_by(require_branch_name)(text)


def _of_position(text: str) -> str:
    return _of_line(text) or _refused_by(lambda name: require_position_name("it", name))(text)


LINE: Final = Text(what="text of one line", judge=_of_line)
FILLED: Final = Text(what="text", judge=_of_several_lines)
"""Text that may have several lines."""
COMMENT: Final = Text(judge=lambda text: "it has a zero byte" if "\0" in text else "")
FILE_NAME: Final = Text(what="a name", judge=_of_file)
"""What a file or a folder can be called: a tag, a database."""
PREFIX: Final = Text(
    what="the beginning of a name, or ''", judge=lambda text: text and _of_file(text)
)
STATE: Final = Text(what="a state, or ''", judge=lambda text: text and _of_line(text))
"""``''`` is that of a branch without a snapshot: a template cannot give None."""
TABLE: Final = Text(what="database.table", pattern=r"[^./\\]+(\.[^./\\]+)+", judge=_of_table)
BRANCH: Final = Text(what="the name of a branch", judge=_of_branch)
"""``main`` is the table itself."""
POSITION_NAME: Final = Text(what="the name of a position", judge=_of_position)
