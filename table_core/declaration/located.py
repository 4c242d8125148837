"""YAML as plain values that know where they stand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import yaml

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Fault", "Located", "Place", "place_of", "read_yaml"]

Place = tuple[int, int]
"""Line and column, counted from 1."""
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_RESOLVER: Final = yaml.SafeLoader
_SCALARS: Final = {
    "tag:yaml.org,2002:int": int,
    "tag:yaml.org,2002:float": float,
}


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong, and where."""

    file: str
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.message}"


@dataclass(frozen=True, slots=True)
class Located:
    """A value of the file; mappings and lists hold ``Located`` values."""

    value: Any
    place: Place
    keys: Mapping[str, Place] | None = None
    """Where the keys of a mapping stand."""

    def plain(self) -> Any:
        """The value without places."""
        if isinstance(self.value, dict):
            return {key: item.plain() for key, item in self.value.items()}
        if isinstance(self.value, list):
            return [item.plain() for item in self.value]
        return self.value


def place_of(root: Located, path: Sequence[str]) -> Place:
    """Where the key stands that ``path`` leads to, or as near as it goes."""
    here, place = root, root.place
    for name in path:
        if not isinstance(here.value, dict) or name not in here.value:
            break
        place = (here.keys or {}).get(name, here.place)
        here = here.value[name]
    return place


def read_yaml(text: str, file: str) -> tuple[Located | None, list[Fault]]:
    """The document in ``text``; none where it is no YAML, or empty."""
    try:
        node = yaml.compose(text, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        return None, [Fault(file, line, column, f"no YAML: {error.problem or error.context}")]
    except yaml.YAMLError as error:
        return None, [Fault(file, 1, 1, f"no YAML: {error}")]
    if node is None:
        return None, [Fault(file, 1, 1, "the file is empty")]
    faults: list[Fault] = []
    return _located(node, file, faults), faults


def _located(node: Any, file: str, faults: list[Fault]) -> Located:
    place = (node.start_mark.line + 1, node.start_mark.column + 1)
    if isinstance(node, yaml.MappingNode):
        found: dict[str, Located] = {}
        keys: dict[str, Place] = {}
        for key_node, item in node.value:
            key, at = str(key_node.value), key_node.start_mark
            here = (at.line + 1, at.column + 1)
            if key == "<<":  # a merge: what is there already wins
                for name, value in _merged(item, file, faults).items():
                    found.setdefault(name, value)
                    keys.setdefault(name, here)
                continue
            if key in keys and key in found and keys[key] != here and not _was_merged(node, key):
                faults.append(Fault(file, *here, f"{key!r} is there twice"))
            found[key] = _located(item, file, faults)
            keys[key] = here
        return Located(found, place, keys)
    if isinstance(node, yaml.SequenceNode):
        return Located([_located(item, file, faults) for item in node.value], place)
    return Located(_scalar(node), place)


def _merged(node: Any, file: str, faults: list[Fault]) -> dict[str, Located]:
    if isinstance(node, yaml.SequenceNode):
        together: dict[str, Located] = {}
        for one in reversed(node.value):
            together.update(_merged(one, file, faults))
        return together
    value = _located(node, file, faults).value
    return value if isinstance(value, dict) else {}


def _was_merged(node: Any, key: str) -> bool:
    return sum(str(k.value) == key for k, _ in node.value) < 2


def _scalar(node: Any) -> Any:
    if node.tag == "tag:yaml.org,2002:null":
        return None
    if node.tag == "tag:yaml.org,2002:bool":
        return node.value.lower() in {"true", "yes", "on"}
    kind = _SCALARS.get(node.tag)
    if kind is None:
        return node.value
    try:
        return kind(node.value.replace("_", ""))
    except ValueError:
        return node.value
