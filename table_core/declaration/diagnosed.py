"""What the shape of a part says of it, with the lines and columns of the file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from table_core.declaration.foreign_words import member_hint
from table_core.declaration.located import Diagnostic
from table_core.shapes.problem import UnknownMember

if TYPE_CHECKING:
    from collections.abc import Iterator

    from table_core.declaration.located import Located, Place
    from table_core.shapes.problem import Problem
    from table_core.shapes.shape import Shape

__all__ = ["diagnosed"]


def diagnosed(shape: Shape, node: Located, file: str) -> list[Diagnostic]:
    """Each problem that ``shape`` has with ``node``, where it stands."""
    problems = shape.problems(node.written())
    return list(dict.fromkeys(_diagnostic(problem, node, file) for problem in problems))


def _diagnostic(problem: Problem, root: Located, file: str) -> Diagnostic:
    *_, (name_place, node) = _steps(root, problem)
    name = problem.path[-1] if problem.path else None
    if isinstance(name, str) and (message := glued(name, node)):
        return Diagnostic(file, *name_place, message)
    if isinstance(problem, UnknownMember):
        inner = getattr(problem.members.get("with"), "members", ())
        near = member_hint(str(name), problem.members, inner=inner)
        return Diagnostic(file, *name_place, f"unknown member {name!r}; {near}")
    place = name_place if problem.of_name else node.place
    more = slip(node, problem.expected) if problem.expected else ""
    return Diagnostic(file, *place, f"{problem.message}{more}")


def _steps(root: Located, problem: Problem) -> Iterator[tuple[Place, Located]]:
    """Each value on the way to the problem, and where its name stands."""
    node = root
    yield root.place, root
    for step in problem.path:
        place = (node.keys or {}).get(step, node.place) if isinstance(step, str) else node.place
        node = node.value[step]
        yield place, node


_SHOWN_MAX: Final = 60
_FLAGS: Final = ("true", "false", "yes", "no", "on", "off")


def slip(node: Located, expected: str) -> str:
    """What is likely to have gone wrong; with a separator in front."""
    value = node.value
    if expected.startswith("a mapping") and isinstance(value, list):
        return ": write name: value, without dashes or square brackets"
    if expected.startswith("a list") and isinstance(value, str) and value:
        parts = ", ".join(part.strip() for part in value.split(","))
        return f": write [{parts}]" if len(parts) <= _SHOWN_MAX else ""
    if expected.startswith("a list") and isinstance(value, dict):
        return ": write [ … ] around it, or a dash before it"
    if expected == "a number" and isinstance(value, str) and value.strip().isdigit():
        return ": write it without quotes"
    if expected == "true or false" and isinstance(value, str) and value.lower() in _FLAGS:
        return ": write it without quotes"
    return ""


def glued(name: str, node: Located) -> str:
    """What a name that has no value is likely to be; '' if nothing is."""
    if node.value is not None:
        return ""
    if ":" in name:
        return f"{name!r} has no value: write a blank after the colon"
    if name.count(")") > name.count("("):
        return f'{name!r} has no value: put quotes around what has a comma, e.g. "DECIMAL(12, 2)"'
    return ""
