"""The words of a SQL text, each with its place, and what reads them one after the other.

sqlglot cuts the text, as Spark does.  Hints are words here, because no hint may pass unread.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final

from sqlglot import TokenType
from sqlglot.dialects.spark import Spark
from sqlglot.errors import SqlglotError

from table_core.errors import SqlError, UnsupportedFeatureError
from table_core.options.budgets import require_bounded

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["SparkText", "Word", "Words", "near_of", "statements_of"]


class SparkText(Spark):
    """Spark's dialect, of which no statement is left uncut."""

    class Tokenizer(Spark.Tokenizer):
        """Cuts SHOW, CALL and the like into words too."""

        COMMANDS: ClassVar[set[TokenType]] = set()


_GAP: Final = re.compile(r"\s+|--[^\n]*|/\*\+?")
_COMMENT_SIGN: Final = re.compile(r"/\*|\*/")
_STRINGS: Final = (TokenType.STRING, TokenType.RAW_STRING)
_NEAR: Final = 40
_CLAUSES: Final = ("FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "UNION", "EXCEPT")
"""What ends a list."""


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a text: its characters from ``start`` to before ``end``."""

    kind: str
    """``word``, ``quoted`` (a name in backticks), ``string``, ``number``, ``hint`` or ``sign``."""
    value: str
    """Without quotes."""
    start: int
    end: int

    def means(self, *keywords: str) -> bool:
        """Whether it is one of these keywords or signs."""
        return self.kind in {"word", "sign"} and self.value.upper() in keywords


class Words:
    """The words of one statement, from the first to the last; every one is taken, or an error."""

    def __init__(self, text: str, words: Sequence[Word]) -> None:
        self.text = text
        self.words = tuple(words)
        self.at = 0

    # -------------------------------------------------------------------------------- looking
    @property
    def word(self) -> Word | None:
        """The next word, None at the end."""
        return self.words[self.at] if self.at < len(self.words) else None

    def ahead(self, *keywords: str) -> bool:
        """Whether these keywords come next, in this order."""
        next_ = self.words[self.at : self.at + len(keywords)]
        pairs = zip(next_, keywords, strict=False)
        return len(next_) == len(keywords) and all(word.means(key) for word, key in pairs)

    # --------------------------------------------------------------------------------- taking
    def take(self, *keywords: str) -> bool:
        """Take these keywords if they come next."""
        if not self.ahead(*keywords):
            return False
        self.at += len(keywords)
        return True

    def expect(self, *keywords: str) -> None:
        """Take these keywords.

        Raises:
            SqlError: something else comes.
        """
        if not self.take(*keywords):
            raise self.wrong(f"expected {' '.join(keywords)}")

    def name(self, what: str = "a name") -> str:
        """Take one name.

        Raises:
            SqlError: something else comes.
        """
        word = self.word
        if word is None or word.kind not in {"word", "quoted"}:
            raise self.wrong(f"expected {what}")
        self.at += 1
        return word.value

    def table_name(self, what: str = "the name of a table") -> tuple[str, ...]:
        """Take a name of one part or more; ``$snapshots`` and ``$branch_x`` belong to the last part.

        Raises:
            SqlError: something else comes.
        """
        parts = [self.name(what)]
        while self.take("."):
            parts.append(self.name(what))
        while (sign := self.word) is not None and sign.means("$"):
            if sign.start != self.words[self.at - 1].end:
                raise self.wrong("a blank stands before '$'")
            self.at += 1
            parts[-1] += "$" + self.name("what follows '$'")
        return tuple(parts)

    def string(self, what: str = "a text in quotes") -> str:
        """Take one text.

        Raises:
            SqlError: something else comes.
        """
        word = self.word
        if word is None or word.kind != "string":
            raise self.wrong(f"expected {what}")
        self.at += 1
        return word.value

    def whole_number(self, what: str) -> int:
        """Take one number without a fraction.

        Raises:
            SqlError: something else comes.
        """
        word = self.word
        if word is None or word.kind != "number" or not word.value.isdigit():
            raise self.wrong(f"expected {what}, a whole number")
        self.at += 1
        return int(word.value)

    def names(self, what: str = "the name of a column") -> tuple[str, ...]:
        """Take ``(a, b)``."""
        self.expect("(")
        names = [self.name(what)]
        while self.take(","):
            names.append(self.name(what))
        self.expect(")")
        return tuple(names)

    def until(self, *keywords: str) -> Words:
        """Take what comes before one of ``keywords`` outside brackets and CASE, or before the end.

        Raises:
            SqlError: nothing does, or a bracket is not closed.
        """
        begin, depth = self.at, 0
        while (word := self.word) is not None:
            if depth == 0 and word.means(*keywords):
                break
            if word.means("(", "CASE"):
                depth += 1
            elif word.means(")", "END"):
                if depth == 0:
                    break
                depth -= 1
            self.at += 1
        if self.at == begin:
            raise self.wrong("something is missing here")
        if depth:
            raise self.wrong("a bracket is not closed")
        return Words(self.text, self.words[begin : self.at])

    def rest(self) -> Words:
        """Take all that is left.

        Raises:
            SqlError: nothing is.
        """
        if self.word is None:
            raise self.wrong("something is missing here")
        rest = Words(self.text, self.words[self.at :])
        self.at = len(self.words)
        return rest

    def finish(self) -> None:
        """Require that every word is taken.

        Raises:
            SqlError: one is left.
        """
        if self.word is not None:
            raise self.wrong("this is not expected here")

    def require_lists(self) -> None:
        """Require that something stands on both sides of each comma: sqlglot skips what is missing.

        Raises:
            SqlError: nothing does.
        """
        before: Word | None = None
        for word in (*self.words, None):
            after_comma = before is not None and before.means(",")
            if after_comma and (word is None or word.means(",", ")", *_CLAUSES)):
                raise self.wrong("something is missing here", word.start if word else self._end())
            opens = before is None or before.means("(", "SELECT", "DISTINCT", "BY")
            if word is not None and word.means(",") and opens:
                raise self.wrong("something is missing here", word.start)
            before = word

    # -------------------------------------------------------------------------------- telling
    @property
    def start(self) -> int:
        """Where the first word begins."""
        return self.words[0].start if self.words else len(self.text)

    @property
    def source(self) -> str:
        """The text from the first to the last word, as it was written."""
        return self.text[self.words[0].start : self.words[-1].end] if self.words else ""

    def place(self, start: int | None = None) -> dict[str, Any]:
        """The facts of an error at ``start``, by default at the next word."""
        if start is None:
            start = self.word.start if self.word else self._end()
        return near_of(self.text, start)

    def wrong(self, message: str, start: int | None = None) -> SqlError:
        """An error that points at ``start``, by default at the next word."""
        place = self.place(start)
        near = f" at {place['near']!r}" if place["near"] else " at the end"
        where = f"line {place['line']}, column {place['column']}"
        return SqlError(f"{message}{near} ({where})", **place)

    def refused(
        self, feature: str, instead: str, start: int | None = None
    ) -> UnsupportedFeatureError:
        """An error that names what is not done here, and what to do instead."""
        place = self.place(start)
        return UnsupportedFeatureError(
            f"{feature} is not supported (line {place['line']}, column {place['column']}): {instead}",
            feature=feature,
            **place,
        )

    def only_spark(self, why: str, start: int) -> UnsupportedFeatureError:
        """An error for SQL that may mean something else to DuckDB."""
        place = self.place(start)
        return UnsupportedFeatureError(
            f"{why} (line {place['line']}, column {place['column']}): SQL here means what it means in "
            "Spark, or is refused; let the Spark engine run this statement",
            feature=why,
            **place,
        )

    def _end(self) -> int:
        return self.words[-1].end if self.words else 0


def near_of(text: str, start: int) -> dict[str, Any]:
    """Line and column, from 1, of a place in ``text``, and what stands there."""
    before = text[:start]
    return {
        "line": before.count("\n") + 1,
        "column": start - (before.rfind("\n") + 1) + 1,
        "near": text[start : start + _NEAR].split("\n", 1)[0].strip(),
    }


def statements_of(text: str) -> list[Words]:
    """The statements of ``text``, which semicolons part.

    Raises:
        SqlError: a quote or comment is not closed.
        ArgumentError: the text is longer or deeper than any honest one.
    """
    require_bounded(text)
    statements: list[list[Word]] = [[]]
    for word in _words(text):
        if word.means(";"):
            statements.append([])
        else:
            statements[-1].append(word)
    return [Words(text, words) for words in statements if words]


def _words(text: str) -> Iterator[Word]:
    try:
        tokens = SparkText().tokenize(text)
    except SqlglotError as error:
        opened = re.search(r"Missing (\S+) from (\d+):(\d+)", str(error.__cause__ or error))
        lost = "{} is not closed (line {}, column {})".format(*opened.groups()) if opened else error
        raise SqlError(f"cannot read the SQL: {lost}", line=None, column=None, near="") from error
    end, before = 0, None
    for token in tokens:
        if token.start < end:  # 5L is a number, a cast and a type to sqlglot
            continue
        hints = list(_hints(text, end, token.start))
        if hints and before is not None:
            yield before
            before = None
        yield from hints
        adjacent, end = token.start == end, token.end + 1
        for word in _of_token(token, text[token.start : end]):
            if adjacent and before is not None and _doubles(text, before, word):
                before = Word(
                    "string", before.value + text[word.start] + word.value, before.start, word.end
                )
                continue
            if before is not None:
                yield before
            before = word
    if before is not None:
        yield before
    yield from _hints(text, end, len(text))


def _doubles(text: str, before: Word, word: Word) -> bool:
    """Whether two texts are one, in which a quote is doubled."""
    both_text = before.kind == word.kind == "string"
    return both_text and text[before.end - 1] == text[word.start]


def _hints(text: str, start: int, end: int) -> Iterator[Word]:
    """The hints between two words, where nothing else may stand but blanks and comments.

    Raises:
        SqlError: something else does.
    """
    at = start
    while at < end:
        gap = _GAP.match(text, at, end)
        if gap is None:
            raise Words(text, ()).wrong("this is no comment of SQL", at)
        if gap[0].endswith("\\"):
            raise Words(text, ()).wrong("a comment ends in a backslash", at)
        at = gap.end()
        if gap[0] == "/*+":
            close = text.find("*/", at, end)
            if close < 0 or text.find("/*", at, close) >= 0:
                raise Words(text, ()).wrong("a comment in a hint", gap.start())
            yield Word("hint", text[at:close], gap.start(), close + 2)
            at = close + 2
        elif gap[0] == "/*":
            at = _end_of_comment(text, at, end)


def _end_of_comment(text: str, at: int, end: int) -> int:
    """The place behind a comment, which may have others in it."""
    depth = 1
    for sign in _COMMENT_SIGN.finditer(text, at, end):
        depth += 1 if sign[0] == "/*" else -1
        if depth == 0:
            return sign.end()
    raise Words(text, ()).wrong("a comment is not closed", at - 2)


def _of_token(token: Any, raw: str) -> list[Word]:
    """The word of one token; several of one such as ``GROUP BY``."""
    start, kind = token.start, token.token_type
    if kind is TokenType.HINT:
        return [Word("hint", raw[3:-2], start, start + len(raw))]
    if kind in _STRINGS:
        return [Word("string", token.text, start, start + len(raw))]
    if kind is TokenType.IDENTIFIER:
        return [Word("quoted", token.text, start, start + len(raw))]
    if kind is TokenType.NUMBER:
        return [Word("number", raw, start, start + len(raw))]
    if re.match(r"[^\W\d]", raw) and kind is not TokenType.HEX_STRING:
        return [
            Word("word", part[0], start + part.start(), start + part.end())
            for part in re.finditer(r"\S+", raw)
        ]
    return [Word("sign", raw, start, start + len(raw))]
