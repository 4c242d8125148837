"""What an operator has by the parameters of its action: template fields, how the page shows them, shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paimon_provider.arguments.job_values import attribute_of
from table_core.jobs.registry import action_of
from table_core.shapes import kinds
from table_core.shapes.around import Judged, OrNothing
from table_core.shapes.containers import ListOf, MapOf, Record
from table_core.shapes.templated import Templated

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from table_core.jobs.action import Parameter
    from table_core.shapes.shape import Shape

__all__ = ["arguments_of", "renderers_of", "shapes_of", "templated_of"]


def arguments_of(action: str) -> tuple[str, ...]:
    """What an operator of the action may be given, beside what all operators take."""
    return tuple(name for name, _ in _taken(action))


def templated_of(action: str) -> tuple[str, ...]:
    """The arguments that are rendered."""
    return tuple(name for name, one in _taken(action) if one.templated)


def renderers_of(action: str) -> dict[str, str]:
    """How Airflow's page of rendered templates shows them, where they are no plain text."""
    shown = {name: _renderer(one.shape) for name, one in _taken(action) if one.templated}
    return {name: renderer for name, renderer in shown.items() if renderer}


def shapes_of(action: str) -> Mapping[str, Shape]:
    """What each argument may be, by the attribute that holds it."""
    return {attribute_of(name): _shape(one) for name, one in _taken(action)}


def _taken(action: str) -> Iterator[tuple[str, Parameter]]:
    for parameter in action_of(action).parameters:
        if parameter.in_operator is not None:
            yield parameter.in_operator, parameter


def _shape(parameter: Parameter) -> Shape:
    shape: Shape = parameter.shape
    if parameter.templated:
        shape = Templated(inner=shape, or_nothing=parameter.may_render_to_nothing)
    is_needed = parameter.required or parameter.required_by_operator
    return shape if is_needed or parameter.default is not None else OrNothing(inner=shape)


def _renderer(shape: Shape) -> str:
    if shape in (kinds.SQL, kinds.CONDITION):
        return "sql"
    inner = shape.inner if isinstance(shape, Judged) else shape
    item = inner.item if isinstance(inner, ListOf) else inner
    return "json" if isinstance(item, MapOf | Record) else ""
