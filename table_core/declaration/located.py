"""YAML as values that know where they stand, and how they were written.

A scalar keeps its source text: ``07``, ``NO`` and ``2026`` are what the file says until a member asks
for a number or a flag.  Sizes, depth and what anchors multiply are bounded.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import yaml

from table_core.declaration.environment import replaced, shows_password
from table_core.errors import ArgumentError
from table_core.shapes.problem import Written

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Diagnostic", "Located", "Place", "decoded", "place_of", "read_yaml"]

Place = tuple[int, int]
"""Line and column, counted from 1."""
_CORE: Final = "tag:yaml.org,2002:"
_TYPED: Final = {"bool", "int", "float"}
_PLAIN_TAGS: Final = {"null", "bool", "int", "float", "str", "timestamp", "value"}
_DEPTH_MAX: Final = 64
_CHARACTERS_MAX: Final = 16_000_000
_LOOKED_AT: Final = 5_000
"""So many brackets, or characters in a line, before the depth is counted: less is built safely."""
_REPEATED_MAX: Final = 100_000
"""Values that aliases may add to those that are written down."""
_FAULTS_MAX: Final = 1_000
_OF_MERGES: Final = ("<<<<<<< ", ">>>>>>> ")


_YAML: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _LOADER(_YAML):  # type: ignore[misc]  # whichever of the two there is
    """Asks once what each text without quotes is: a file says the same few again and again."""

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self._known: dict[tuple[str, bool], str] = {}

    def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
        """The tag of a node."""
        if kind is not yaml.ScalarNode:
            return super().resolve(kind, value, implicit)
        at = (value, bool(implicit[0]))
        if at not in self._known:
            self._known[at] = super().resolve(kind, value, implicit)
        return self._known[at]


_PASSWORD_SHOWN: Final = (
    "an address has a password in it: secrets belong into the connection, not here"
)


class _LineOf(int):
    """A line of an included file: it knows which."""

    file: str


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """What is wrong, and where."""

    file: str
    line: int
    column: int
    message: str

    def __post_init__(self) -> None:
        if isinstance(self.line, _LineOf):
            object.__setattr__(self, "file", self.line.file)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.message}"


@dataclass(frozen=True, slots=True)
class Located:
    """A value of the file; mappings and lists hold ``Located`` values."""

    value: Any
    place: Place
    keys: Mapping[str, Place] | None = None
    """Where the keys of a mapping stand."""
    text: str | None = None
    """A scalar as it is written; None of null, mappings and lists."""

    def plain(self) -> Any:
        """The value without places, as YAML has it."""
        if isinstance(self.value, dict):
            return {key: item.plain() for key, item in self.value.items()}
        if isinstance(self.value, list):
            return [item.plain() for item in self.value]
        return self.value

    def written(self) -> Any:
        """The value without places; numbers and flags with the text that stands in the file."""
        if isinstance(self.value, dict):
            return {key: item.written() for key, item in self.value.items()}
        if isinstance(self.value, list):
            return [item.written() for item in self.value]
        if self.value is None or isinstance(self.value, str):
            return self.value
        return Written(self.value, str(self.text))


def place_of(root: Located, path: Sequence[str]) -> Place:
    """Where the key stands that ``path`` leads to, or as near as it goes."""
    node, place = root, root.place
    for name in path:
        if not isinstance(node.value, dict) or name not in node.value:
            break
        place = (node.keys or {}).get(name, node.place)
        node = node.value[name]
    return place


def decoded(body: bytes, file: str) -> str:
    """The text of a file.

    Raises:
        ArgumentError: it is not UTF-8; says where.
    """
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = body[: error.start]
        line = before.count(b"\n") + 1
        column = error.start - (before.rfind(b"\n") + 1) + 1
        problem = f"no UTF-8: byte 0x{body[error.start]:02x}; save the file as UTF-8"
        raise ArgumentError(
            f"{file}:{line}:{column}: {problem}",
            argument="declaration",
            value=file,
            problems=[str(Diagnostic(file, line, column, problem))],
        ) from error


def read_yaml(
    text: str, file: str, environment: Mapping[str, str] | None = None, *, named: bool = False
) -> tuple[Located | None, list[Diagnostic]]:
    """The document in ``text``; none where it is no YAML, or empty.

    ``environment`` are the variables that ``${…}`` stands for.  ``named``: the places know the file, as
    they come to stand beside those of another one.
    """
    message = _too_much(text)
    if message is not None:
        return None, [Diagnostic(file, 1, 1, message)]
    try:
        node = yaml.compose(text, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        return None, [Diagnostic(file, line, column, f"no YAML: {_why(error, text, line)}")]
    except yaml.YAMLError as error:
        return None, [Diagnostic(file, *_place_of_reader(error, text), f"no YAML: {error}")]
    if node is None:
        return None, [Diagnostic(file, 1, 1, "the file is empty")]
    reader = _Reader(file, environment or {}, named=named)
    root = reader.read(node, 0)
    return root, reader.diagnostics


def _too_much(text: str) -> str | None:
    if len(text) > _CHARACTERS_MAX:
        return f"the file has more than {_CHARACTERS_MAX:,} characters: split it"
    brackets = text.count("[") + text.count("{")
    if brackets < _LOOKED_AT and max(map(len, text.splitlines()), default=0) < _LOOKED_AT:
        return None
    depth = 0
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
                if depth > _DEPTH_MAX:
                    line = event.start_mark.line + 1 if event.start_mark else 1
                    return f"more than {_DEPTH_MAX} values within each other, in line {line}"
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
    except yaml.YAMLError:
        pass  # it is told with its place when the document is built
    return None


def _why(error: yaml.MarkedYAMLError, text: str, line: int) -> str:
    problem = error.problem or error.context or "not understood"
    lines = text.splitlines()
    source_line = lines[line - 1] if line <= len(lines) else ""
    if any(one.startswith(_OF_MERGES) for one in lines):
        return f"{problem}; a conflict of a merge is left in the file"
    if source_line.startswith("```"):
        return f"{problem}; leave the line of Markdown out"
    if "\t" in source_line[: len(source_line) - len(source_line.lstrip())]:
        return f"{problem}; indent with blanks, not with tabs"
    if "${" in source_line or "{{" in source_line:
        return f"{problem}; put quotes around values with ${{…}} or {{{{ … }}}}"
    if "//" in source_line and "{" in text[:2]:
        return f"{problem}; a comment begins with #"
    odd = next((n for n, one in enumerate(lines[:line], 1) if one.count('"') % 2), None)
    if odd is not None:
        return f"{problem}; a quote is opened and not closed, perhaps in line {odd}"
    return f"{problem}{_yaml_hint(str(problem), str(error.context or ''))}"


def _yaml_hint(problem: str, context: str) -> str:
    """What is likely to have gone wrong; with a separator in front."""
    if "quoted scalar" in context:
        return "; a quote is opened and not closed"
    if "expected ':'" in problem:
        return "; write name: value, with a blank after the colon"
    if "flow" in context or "',' or" in problem:
        return "; look for a comma or a bracket that is missing"
    if "did not find expected key" in problem or "block" in context:
        return "; indent this line as those of the same level"
    if "single document" in context or "another document" in problem:
        return "; write one document, without ---"
    if "mapping values are not allowed" in problem:
        return "; put quotes around a value with a colon in it"
    if "cannot start any token" in problem:
        return "; put quotes around what begins so"
    return ""


def _place_of_reader(error: yaml.YAMLError, text: str) -> Place:
    at = getattr(error, "position", None)
    if not isinstance(at, int):
        return 1, 1
    before = text[:at]
    return before.count("\n") + 1, at - (before.rfind("\n") + 1) + 1


class _Reader:
    """Makes of nodes what they say; each node once, however often it is referred to."""

    def __init__(self, file: str, environment: Mapping[str, str], *, named: bool) -> None:
        self.file = file
        self.named = named
        self.environment = environment
        self.diagnostics: list[Diagnostic] = []
        self._done: dict[int, tuple[Located, int]] = {}
        self._open: set[int] = set()
        self._repeated = 0

    def read(self, node: Any, depth: int) -> Located:
        return self._sized(node, depth)[0]

    def _start(self, node: Any) -> Place:
        line, column = node.start_mark.line + 1, node.start_mark.column + 1
        if self.named:
            line = _LineOf(line)
            line.file = self.file
        return line, column

    def _diagnostic(self, place: Place, message: str) -> None:
        if len(self.diagnostics) < _FAULTS_MAX:
            self.diagnostics.append(Diagnostic(self.file, *place, message))

    def _sized(self, node: Any, depth: int) -> tuple[Located, int]:
        """The value, and how many values are in it."""
        place = self._start(node)
        if id(node) in self._open:
            self._diagnostic(
                place, "this refers to itself: an alias cannot stand in its own anchor"
            )
            return Located(None, place), 1
        if id(node) in self._done:
            located, size = self._done[id(node)]
            self._repeated += size
            if self._repeated > _REPEATED_MAX:
                if self._repeated - size <= _REPEATED_MAX:
                    self._diagnostic(place, f"aliases add more than {_REPEATED_MAX:,} values")
                return Located(None, place), 1
            return located, size
        if depth > _DEPTH_MAX:
            self._diagnostic(place, f"more than {_DEPTH_MAX} values within each other")
            return Located(None, place), 1
        self._open.add(id(node))
        located, size = self._new(node, place, depth)
        self._open.discard(id(node))
        self._done[id(node)] = (located, size)
        return located, size

    def _new(self, node: Any, place: Place, depth: int) -> tuple[Located, int]:
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, place), 1
        if node.tag not in {f"{_CORE}map", f"{_CORE}seq"}:
            self._tag_diagnostic(node, place)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, place, depth)
        items = [self._sized(item, depth + 1) for item in node.value]
        return Located([item for item, _ in items], place), 1 + sum(size for _, size in items)

    def _mapping(self, node: Any, place: Place, depth: int) -> tuple[Located, int]:
        members: dict[str, Located] = {}
        keys: dict[str, Place] = {}
        named = (key for key, _ in node.value if isinstance(key, yaml.ScalarNode))
        own = {
            key.value for key in named if key.tag != f"{_CORE}merge"
        }  # they win over inherited ones
        total = 1
        for key_node, item in node.value:
            key_place = self._start(key_node)
            if not isinstance(key_node, yaml.ScalarNode):
                self._diagnostic(key_place, "a name must be text, not a list or a mapping")
                continue
            key = key_node.value
            value, size = self._sized(item, depth + 1)
            total += size
            if key_node.tag == f"{_CORE}merge":
                for name, inherited in self._merged(value, key_place).items():
                    if name not in own and name not in members:
                        members[name], keys[name] = inherited, key_place
                continue
            if "${" in key.replace("$${", ""):
                self._diagnostic(key_place, "variables stand in values only, not in names")
            key = key.replace("$${", "${")
            if key in members:
                self._diagnostic(key_place, f"{key!r} is there twice")
            members[key], keys[key] = value, key_place
        return Located(members, place, keys), total

    def _merged(self, located: Located, place: Place) -> dict[str, Located]:
        parts = located.value if isinstance(located.value, list) else [located]
        together: dict[str, Located] = {}
        for part in parts:
            if not isinstance(part.value, dict):
                self._diagnostic(place, "<< takes a mapping, or a list of mappings")
                continue
            for name, one in part.value.items():
                together.setdefault(name, one)
        return together

    def _scalar(self, node: Any, place: Place) -> Located:
        tag, text = node.tag, node.value
        if "${" in text:
            text, findings = replaced(text, self.environment)
            for one in findings:
                self._diagnostic(place, one)
            if not node.style and text != node.value:
                tag = _tag(text)
        if shows_password(text):
            self._diagnostic(place, _PASSWORD_SHOWN)
        name = tag.removeprefix(_CORE)
        if name not in _PLAIN_TAGS or not tag.startswith(_CORE):
            self._tag_diagnostic(node, place)
            return Located(text, place, text=text)
        if name == "null":
            return Located(None, place)
        return Located(_value(name, text), place, text=text)

    def _tag_diagnostic(self, node: Any, place: Place) -> None:
        hint = "; write ${NAME} for a variable" if "env" in node.tag else ""
        self._diagnostic(place, f"tag {node.tag} is not known{hint}")


_RESOLVER: Final[Any] = yaml.resolver.Resolver()
_CONSTRUCTOR: Final[Any] = yaml.constructor.SafeConstructor()


def _tag(text: str) -> str:
    """What YAML takes ``text`` without quotes for."""
    return str(_RESOLVER.resolve(yaml.ScalarNode, text, (True, False)))


def _value(kind: str, text: str) -> Any:
    """``text`` as YAML reads it; as it is where that is impossible."""
    if kind not in _TYPED:
        return text
    node = yaml.ScalarNode(f"{_CORE}{kind}", text)
    try:
        if kind == "bool":
            return _CONSTRUCTOR.construct_yaml_bool(node)
        if kind == "int":
            return _CONSTRUCTOR.construct_yaml_int(node)
        if kind == "float":
            number = _CONSTRUCTOR.construct_yaml_float(node)
            return number if math.isfinite(number) else text
    except (ValueError, KeyError, ArithmeticError):
        return text
    return text
