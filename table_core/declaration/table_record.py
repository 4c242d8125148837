"""What may be said of a table: its columns, keys and options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from table_core.declaration.difference import WORDS
from table_core.declaration.step_arguments import TAGS, TEXTS
from table_core.options import parse
from table_core.options.table import OPTIONS
from table_core.shapes.containers import ListOf, MapOf, Record
from table_core.shapes.lengths import length_of_time
from table_core.shapes.problem import Written, value_of
from table_core.shapes.shape import Flag, OneOf, Text

__all__ = [
    "ALLOW",
    "EXTERNAL",
    "FRESHNESS",
    "MOVED",
    "TABLE",
    "TABLE_NAME",
    "TABLE_OPTIONS",
    "Options",
]

_FLAGS: Final = frozenset(
    name
    for option in OPTIONS.values()
    if option.parse is parse.boolean
    for name in (option.key, *option.aliases)
)
TABLE_NAME: Final = r"[^./\\\s$][^./\\$]*\.[^./\\\s$][^./\\$]*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(MapOf):
    """Options: their texts, and ``yes`` where an option asks for a flag."""

    def plain(self, value: Any) -> dict[str, Any]:
        """Key to text."""
        return {key: _option_text(key, item) for key, item in value.items()}


def _option_text(key: str, setting: Any) -> str:
    text = setting.text if isinstance(setting, Written) else str(setting)
    flag = value_of(setting)
    if isinstance(flag, bool) and (key in _FLAGS or text.lower() in {"true", "false"}):
        return "true" if flag else "false"
    return text


TABLE_OPTIONS: Final = Options(item=Text(), about="Table options of Paimon.")
_DESCRIBED: Final = {"type": Text(), "comment": Text(), "default": Text()}
_COMPUTED: Final = Text(
    about="How flows and syncs compute it from another column, e.g. year(order_time)."
)
_COLUMN: Final = OneOf(
    about="A type, e.g. BIGINT NOT NULL or MAP<STRING, DATE>; or {type, comment, default, computed}.",
    what="a type or {type, comment, default, computed}",
    shapes=[
        Text(),
        Record(members={**_DESCRIBED, "computed": _COMPUTED}, required=["type"]),
    ],
    named="column",
)
_COLUMN_OF_OTHERS: Final = OneOf(
    about="A type, e.g. BIGINT NOT NULL or MAP<STRING, DATE>; or {type, comment, default}.",
    what="a type or {type, comment, default}",
    shapes=[Text(), Record(members=_DESCRIBED, required=["type"])],
    named="column_of_others",
)
FRESHNESS: Final = Text(
    about="The largest age of the newest rows, e.g. 2 h.",
    pattern=length_of_time("s|sec", "min", "m", "h", "d"),
    what="a length of time with its unit, e.g. 2 h",
)
_WORD: Final = Text(one_of=tuple(WORDS))
MOVED: Final = Record(members={"from": Text(), "to": Text()}, required=["from", "to"])
ALLOW: Final = ListOf(item=_WORD, about="What an apply may take away, by words.")
TABLE: Final = Record(
    named="table",
    members={
        "columns": MapOf(item=_COLUMN, about="Column name to type, in order.", least=1),
        "primary_key": TEXTS,
        "partition_by": TEXTS,
        "options": TABLE_OPTIONS,
        "comment": Text(),
        "moved": ListOf(item=MOVED, about="Columns that get another name."),
        "allow": ALLOW,
        "audit": Flag(
            about="Whether readers see what a run writes only after the table's checks have passed."
        ),
        "tags": TAGS,
    },
    required=["columns"],
)
EXTERNAL: Final = Record(
    named="external",
    about="A table that somebody else maintains. It can be read, watched and checked, and is never changed.",
    members={
        "columns": MapOf(
            item=_COLUMN_OF_OTHERS,
            about="The columns that the table needs, with the widest type that each may have.",
            least=1,
        ),
        "comment": Text(),
        "freshness": FRESHNESS,
    },
)
