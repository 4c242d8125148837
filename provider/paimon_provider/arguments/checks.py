"""What arguments of operators, sensors and triggers must be, said where they are written.

A wrong one is an error in the Dag, with the nearest spelling, and not of the task hours later.  What a
template gives is checked when the task starts, before anything is done.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

from paimon_provider._compat import ResolveMixin
from paimon_provider.arguments.job_values import ATTRIBUTES, attribute_of
from paimon_provider.arguments.shapes import ARGUMENTS
from paimon_provider.arguments.table_identity import is_template
from table_core.errors import ArgumentError

if TYPE_CHECKING:
    from table_core.shapes.shape import Shape

__all__ = [
    "ChecksArguments",
    "require_arguments",
    "require_early",
    "require_together",
    "require_values",
    "with_shapes",
]


def _shapes_of(cls: type[ChecksArguments]) -> Mapping[str, Shape]:
    """By the attributes of a class: what it says itself, else what the parameter of its action says."""
    if cls not in _SHAPES:
        _SHAPES[cls] = _made_shapes(cls)
    return _SHAPES[cls]


_SHAPES: Final[dict[type[ChecksArguments], Mapping[str, Shape]]] = {}
"""What ``_shapes_of`` has made: it is asked for each argument of each task."""


def _made_shapes(cls: type[ChecksArguments]) -> Mapping[str, Shape]:
    action = getattr(cls, "action", None)
    if action is None:
        return cls.shapes
    from paimon_provider.arguments.of_action import shapes_of

    return {**shapes_of(action), **cls.shapes}


def with_shapes(**own: Shape) -> Mapping[str, Shape]:
    """``ARGUMENTS`` with some of a class of its own."""
    return {**ARGUMENTS, **own}


class ChecksArguments:
    """Mixin: arguments are checked when they are set, and with ``require_arguments`` once more."""

    shapes: ClassVar[Mapping[str, Shape]] = ARGUMENTS
    called: ClassVar[Mapping[str, str]] = {held: argument for argument, held in ATTRIBUTES.items()}
    """Arguments that an attribute holds under another name."""
    set_when_rendered: ClassVar[Sequence[str]] = ()
    """Attributes that hold what a template field gave, under a name of their own."""
    never_nothing: ClassVar[Sequence[str]] = ()
    """Arguments that may be left out, but whose templates must not render to None: it would mean the opposite."""

    def __setattr__(self, name: str, value: Any) -> None:
        """Set it; while the task is being made, refuse what it must not be.

        Raises:
            ArgumentError: names the task, the argument and what it must be.
        """
        super().__setattr__(name, value)
        made = getattr(self, "_BaseOperator__instantiated", False)
        if not made and name in _shapes_of(type(self)):
            _checked(self, name, value)
        if name in self.never_nothing and not made and _is_open(value):
            vars(self).setdefault("_given", set()).add(name)


def require_early(task: Any, **arguments: Any) -> None:
    """Check arguments of ``task`` before they are set, as ``__setattr__`` does.

    Raises:
        ArgumentError: names the argument and what it must be.
    """
    for name, value in arguments.items():
        _checked(task, name, value)


def require_arguments(task: Any) -> None:
    """Check every argument of ``task``; templates are rendered by now.

    Raises:
        ArgumentError: names the argument and what it must be.
    """
    for name in vars(task).get("_given", ()):
        if vars(task)[name] is None:
            raise ArgumentError(
                f"task {task.task_id!r}: the template of {name} has rendered to None, and without {name} the "
                "task would do something else: leave it out if that is meant",
                argument=name,
                value=None,
            )
    for name in _shapes_of(type(task)):
        if name in vars(task):
            _checked(task, name, vars(task)[name])
    if getattr(type(task), "action", None) is not None:  # else a run names it, with its arguments
        require_together(task)


def require_together(task: Any) -> None:
    """Check what the arguments of ``task`` are to each other, as its action says.

    Raises:
        ArgumentError: names what is too much, or what is missing.
    """
    from table_core.jobs.registry import action_of

    action = action_of(task.action)
    spelled = {
        one.name: one.in_operator for one in action.parameters if one.in_operator is not None
    }
    held = {name: vars(task).get(attribute_of(argument)) for name, argument in spelled.items()}
    try:
        action.require_together(held, spelled)
    except ArgumentError as error:
        raise ArgumentError(f"task {task.task_id!r}: {error}", **error.facts) from None


def require_values(arguments: Mapping[str, Any], **own: Shape) -> None:
    """Check what a trigger is told; a template waits until it is rendered.

    Raises:
        ArgumentError: names the argument and what it must be.
    """
    for name, value in arguments.items():
        shape = own.get(name, ARGUMENTS.get(name))
        if shape is not None and not _is_open(value):
            shape.require(value, name)


def _checked(task: Any, name: str, value: Any) -> None:
    fields = tuple(getattr(task, "template_fields", ()) or ())
    templated = name in fields or name in task.set_when_rendered
    argument = task.called.get(name, name)
    if templated and _is_open(value):
        return
    if isinstance(value, ResolveMixin):
        who = getattr(task, "task_id", None)
        raise ArgumentError(
            f"{'' if who is None else f'task {who!r}: '}{argument} cannot be the result of another task or a mapped value, "
            f"because it is not templated; templated are {', '.join(fields)}. Give it by .expand({argument}=…) to one task "
            "for each value, or write the value",
            argument=argument,
            value=str(value),
        )
    try:
        _shapes_of(type(task))[name].require(value, argument)
    except ArgumentError as error:
        who = getattr(task, "task_id", None)
        if who is None:
            raise
        raise ArgumentError(
            f"task {who!r}: {error}", **{"argument": argument, **error.facts}
        ) from None


def _is_open(value: Any) -> bool:
    """Whether only the run knows all of ``value``: a template, or another task's result, in any depth."""
    if isinstance(value, str):
        return is_template(value)
    if isinstance(value, Mapping):
        return any(map(_is_open, [*value, *value.values()]))
    if isinstance(value, Sequence | set):
        return any(map(_is_open, value))
    return isinstance(value, ResolveMixin)
