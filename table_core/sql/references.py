"""The tables that a query names, with what only Paimon's SQL lets stand behind a name.

sqlglot reads ``t$files`` as an alias, skips a hint, and knows a part of time travel.  So each such name becomes
one mark of the same length before sqlglot sees the text: places stay, and nothing passes unread.
"""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from table_core.sql.text import Words
from table_core.sql.values import take_value

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Reference", "is_mark", "marked", "take_state"]

_FIRST_MARK: Final = 0xE000
_MARKS: Final = 0xF8FF - _FIRST_MARK
_FUNCTIONS: Final = {
    "PAIMON_INCREMENTAL_QUERY": "incremental-between",
    "PAIMON_INCREMENTAL_BETWEEN_TIMESTAMP": "incremental-between-timestamp",
    "PAIMON_INCREMENTAL_TO_AUTO_TAG": "incremental-to-auto-tag",
}
"""Table functions, and the options that they set."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A table as a query reads it."""

    parts: tuple[str, ...]
    start: int
    """Where it stands in the text."""
    options: tuple[tuple[str, str], ...] = ()
    version: int | str | None = None
    """A snapshot, or the name of a tag."""

    @property
    def key(self) -> str:
        """The same for two that read the same."""
        return json.dumps([self.parts, self.options, self.version])


def is_mark(name: str) -> bool:
    """Whether ``name`` stands for a reference."""
    return len(name) == 1 and _FIRST_MARK <= ord(name) <= _FIRST_MARK + _MARKS


def marked(words: Words) -> tuple[str, dict[str, Reference]]:
    """The text of ``words`` at its place in the whole, with a mark for each name that sqlglot cannot read.

    Raises:
        SqlError: what stands behind a name is wrong.
        UnsupportedFeatureError: a hint that nobody takes.
    """
    text = ["\n" if sign == "\n" else " " for sign in words.text]
    references: dict[str, Reference] = {}
    begin = words.start
    text[begin : begin + len(words.source)] = words.source
    reader = Words(words.text, words.words)
    reader.require_lists()
    while (word := reader.word) is not None:
        if word.kind == "quoted" and any(is_mark(sign) for sign in word.value):
            raise reader.wrong("a name with a character for private use")
        if word.kind == "string":
            _rewrite_string(text, word.start, word.end, word.value)
        reference = _taken(reader) if word.kind in {"word", "quoted"} else None
        if reference is not None:
            if len(references) >= _MARKS:
                raise reader.wrong(f"a query names at most {_MARKS} tables in this way")
            mark = chr(_FIRST_MARK + len(references))
            references[mark] = reference
            end = reader.words[reader.at - 1].end
            text[word.start : word.start + 3] = f"`{mark}`"
            for at in range(word.start + 3, end):
                text[at] = "\n" if words.text[at] == "\n" else " "
        elif word.kind == "hint":
            raise reader.refused(
                "this hint", "only OPTIONS('key' = 'value') behind the name of a table is"
            )
        elif word.means("$"):
            raise reader.wrong("a parameter is written :name")
        elif reader.word is word:
            reader.at += 1
    return "".join(text), references


def _rewrite_string(text: list[str], start: int, end: int, value: str) -> None:
    """A doubled quote, which sqlglot takes for two texts, is written with a backslash."""
    quote = text[start]
    if quote in "'\"" and "\\" not in value and quote in value:
        body = "".join(text[start + 1 : end - 1]).replace(quote * 2, "\\" + quote)
        if len(body) == end - start - 2:
            text[start + 1 : end - 1] = body


def _taken(reader: Words) -> Reference | None:
    """The reference that begins at the next word, if sqlglot could not read it; one word at least is taken."""
    begin = reader.at
    word = reader.words[begin]
    key = word.value.upper()
    if word.kind == "word" and key in _FUNCTIONS and _opens(reader):
        return _function(reader, _FUNCTIONS[key], word.start)
    parts = [reader.name()]
    if key == "SELECT":  # a hint behind it is one of the query
        return None
    while reader.take("."):
        next_ = reader.word
        if next_ is None or next_.kind not in {"word", "quoted"}:
            return None
        parts.append(reader.name())
    plain = True
    while (sign := reader.word) is not None and sign.means("$"):
        if sign.start != reader.words[reader.at - 1].end:
            break
        reader.at += 1
        parts[-1] += "$" + reader.name("what follows '$'")
        plain = False
    options, version = take_state(reader)
    if plain and not options and version is None:
        return None
    return Reference(tuple(parts), word.start, tuple(sorted(options.items())), version)


def _opens(reader: Words) -> bool:
    after = reader.words[reader.at + 1 : reader.at + 2]
    return bool(after) and after[0].means("(")


def take_state(reader: Words) -> tuple[dict[str, str], int | str | None]:
    """Take hints and time travel behind the name of a table: its options, and its version.

    Raises:
        SqlError: one is wrong, or is said twice.
        UnsupportedFeatureError: a hint that nobody takes.
    """
    options: dict[str, str] = {}
    version: int | str | None = None
    while True:
        word = reader.word
        if word is not None and word.kind == "hint":
            _merge(reader, options, _hint_options(reader))
        elif _as_of(reader, "VERSION", "SYSTEM_VERSION"):
            value = take_value(reader)
            if isinstance(value, bool) or not isinstance(value, int | str) or version is not None:
                raise reader.wrong("VERSION AS OF takes a snapshot, as a number, or a tag, once")
            version = value
        elif _as_of(reader, "TIMESTAMP", "SYSTEM_TIME"):
            _merge(reader, options, {"scan.timestamp-millis": str(_moment(reader))})
        else:
            return options, version


def _merge(reader: Words, options: dict[str, str], more: Mapping[str, str]) -> None:
    if twice := options.keys() & more.keys():
        raise reader.wrong(f"{', '.join(sorted(twice))} is said twice of one table")
    options.update(more)


def _as_of(reader: Words, *kinds: str) -> bool:
    at = reader.at
    reader.take("FOR")
    if any(reader.take(kind, "AS", "OF") for kind in kinds):
        return True
    reader.at = at
    return False


def _moment(reader: Words) -> int:
    """Epoch milliseconds of a time: text in UTC unless it says otherwise, or seconds since 1970."""
    reader.take("TIMESTAMP")
    value = take_value(reader)
    if isinstance(value, int) and not isinstance(value, bool):
        return value * 1000
    try:
        moment = dt.datetime.fromisoformat(str(value))
    except ValueError as error:
        raise reader.wrong(
            "TIMESTAMP AS OF takes a time such as '2026-01-31 10:00:00', or seconds since 1970"
        ) from error
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=dt.UTC)
    return int(moment.timestamp() * 1000)


def _hint_options(reader: Words) -> dict[str, str]:
    """The options of ``/*+ OPTIONS('key' = 'value') */``."""
    from table_core.sql.text import statements_of

    hint = reader.words[reader.at]
    inner = statements_of(hint.value)
    options: dict[str, str] = {}
    refusal = reader.refused(
        "this hint", "only OPTIONS('key' = 'value') behind the name of a table is"
    )
    if len(inner) != 1 or not inner[0].take("OPTIONS", "("):
        raise refusal
    while not inner[0].take(")"):
        key = inner[0].string("an option in quotes")
        inner[0].expect("=")
        options[key] = inner[0].string("a value in quotes")
        if not inner[0].take(",") and not inner[0].ahead(")"):
            raise refusal
    inner[0].finish()
    reader.at += 1
    return options


def _function(reader: Words, option: str, start: int) -> Reference:
    """``paimon_incremental_query('db.t', 3, 7)``."""
    reader.at += 1
    reader.expect("(")
    name = reader.string("the name of a table in quotes")
    ends = []
    while reader.take(","):
        ends.append(str(take_value(reader)))
    reader.expect(")")
    wanted = 1 if option == "incremental-to-auto-tag" else 2
    if len(ends) != wanted:
        raise reader.wrong(f"expected {wanted} arguments behind the table, not {len(ends)}", start)
    return Reference(tuple(name.split(".")), start, ((option, ",".join(ends)),))
