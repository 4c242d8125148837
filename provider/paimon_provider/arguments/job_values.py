"""What an operator holds, as a job takes it: plain JSON, by the kind of the parameter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from paimon_provider.arguments.timestamps import epoch_ms, snapshot_id
from table_core.jobs.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from table_core.jobs.action import Action

__all__ = ["attribute_of", "job_arguments", "job_settings"]

_ATTRIBUTES: Final = {"dry_run": "dry_run_only"}
"""Arguments that an operator must hold under another name: ``dry_run`` is a method of Airflow's."""


def attribute_of(argument: str) -> str:
    """The attribute of an operator that holds ``argument``."""
    return _ATTRIBUTES.get(argument, argument)


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
            arguments[parameter.name] = _plain(parameter.kind, value, name)
    return arguments


def job_settings(action: Action, settings: Mapping[str, Any]) -> dict[str, Any]:
    """``settings``, by the names that the job has, as ``job_arguments`` makes them; others as they are."""
    kinds = {parameter.name: parameter.kind for parameter in action.parameters}
    return {
        name: _plain(kinds[name], value, name) if name in kinds else value
        for name, value in settings.items()
    }


def _plain(kind: Kind, value: Any, name: str) -> Any:
    plain = _PLAIN.get(kind)
    return value if value is None or plain is None else plain(value, name)


def _count(value: Any, _: str) -> Any:
    """A number that a template gives as text; what is none is refused with the job's other arguments."""
    if not isinstance(value, str):
        return value
    if value in {"", "None"}:  # what an empty template renders to
        return None
    return int(value) if value.strip().isdecimal() else value


def _list(value: Any, _: str) -> Any:
    return value if isinstance(value, str) else list(value)


def _list_or_dict(value: Any, name: str) -> Any:
    return dict(value) if isinstance(value, Mapping) else _list(value, name)


def _dict(value: Any, _: str) -> Any:
    return dict(value) if isinstance(value, Mapping) else value


def _dicts(value: Any, _: str) -> Any:
    return value if isinstance(value, str) else [dict(one) for one in value]


_PLAIN: Final[Mapping[Kind, Callable[[Any, str], Any]]] = {
    Kind.MOMENT: epoch_ms,
    Kind.SNAPSHOT: snapshot_id,
    Kind.COUNT: _count,
    Kind.NAMES: _list,
    Kind.PARTITIONS: _dicts,
    Kind.RECORDS: _dicts,
    Kind.VALUES: _dict,
    Kind.NUMBERS: _dict,
    Kind.TEXT_OR_VALUES: _dict,
    Kind.NAMES_OR_VALUES: _list_or_dict,
}
"""What is not plain already."""
