"""What an operator holds, as a job takes it: plain JSON, by the shape of the parameter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from table_core.shapes.templated import Templated

if TYPE_CHECKING:
    from collections.abc import Mapping

    from table_core.jobs.action import Action
    from table_core.shapes.shape import Shape

__all__ = ["ATTRIBUTES", "attribute_of", "job_arguments", "job_settings"]

ATTRIBUTES: Final = {"dry_run": "dry_run_only"}
"""Arguments that an operator must hold under another name: ``dry_run`` is a method of Airflow's."""


def attribute_of(argument: str) -> str:
    """The attribute of an operator that holds ``argument``."""
    return ATTRIBUTES.get(argument, argument)


def job_arguments(action: Action, operator: object) -> dict[str, Any]:
    """The arguments of a job of ``action``, from the attributes of ``operator``, rendered by now.

    Raises:
        ArgumentError: a point in time or a snapshot is none.
        AttributeError: the operator lacks a parameter of its action.
    """
    arguments = {}
    for parameter in action.parameters:
        name = parameter.in_operator
        if name is not None and parameter.job:
            value = getattr(operator, attribute_of(name))
            arguments[parameter.name] = _plain(parameter.shape, value)
    return arguments


def job_settings(action: Action, settings: Mapping[str, Any]) -> dict[str, Any]:
    """``settings``, by the names that the job has, as ``job_arguments`` makes them; others as they are."""
    shapes = {parameter.name: parameter.shape for parameter in action.parameters}
    return {
        name: _plain(shapes[name], value) if name in shapes else value
        for name, value in settings.items()
    }


def _plain(shape: Shape, value: Any) -> Any:
    """What ``shape`` makes of a value; one that is wrong is refused with the job's other arguments."""
    if value is None or (isinstance(value, str) and value in {"", "None"} and not shape.fits("")):
        return None
    rendered = Templated(inner=shape)
    return rendered.plain(value) if rendered.fits(value) else value
