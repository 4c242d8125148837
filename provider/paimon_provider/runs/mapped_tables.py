"""The assets of mapped tasks: known when the Dag is parsed, for tables that its file names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from paimon_provider._compat import OperatorPartial, define

__all__ = ["as_given", "over_tables", "own_of"]

_NAMING: Final = ("table", "paimon_conn_id", "catalog")
_Assets = Callable[[str, str, str | None], Sequence[Any]]
"""Table, connection and catalog to assets."""


class _OfAllTables(list[Any]):
    """Assets of all tasks that are made of one: each of them has one of these."""


def as_given(assets: list[Any], argument: object) -> list[Any]:
    """``assets`` as Airflow keeps ``argument``: it makes a list of its own."""
    return _OfAllTables(assets) if isinstance(argument, _OfAllTables) else assets


def own_of(assets: Sequence[Any], uri: str) -> Any:
    """Those of ``assets`` that are not another task's."""
    if not isinstance(assets, _OfAllTables):
        return assets
    return [asset for asset in assets if asset.uri == uri]


def over_tables(partial: Any, member: str, conn_id: str, assets: _Assets) -> Any:
    """``partial``, whose ``member`` (``outlets`` or ``inlets``) holds the assets of its tables.

    They are those that the Dag's file names, be it for one table or for each one of a list.  What other
    tasks return is not known when the file is read, so it has none.
    """
    setattr(partial, "_expand_called", True)  # noqa: B010 - else Airflow warns: the other one is mapped
    return _OverTables(
        operator_class=partial.operator_class,
        kwargs=partial.kwargs,
        params=partial.params,
        defaults=_defaults(partial.kwargs),
        member=member,
        assets=lambda one: assets(
            one["table"], one.get("paimon_conn_id") or conn_id, one.get("catalog")
        ),
    )


@define(kw_only=True, repr=False)
class _OverTables(OperatorPartial):
    """What ``partial`` gives, until ``expand`` says over what."""

    defaults: Mapping[str, Any]
    member: str
    assets: Callable[[Mapping[str, Any]], Sequence[Any]]

    def expand(self, **mapped: Any) -> Any:
        """A task for each of the values."""
        self._know(_combinations(mapped))
        return super().expand(**mapped)

    def expand_kwargs(self, kwargs: Any, *, strict: bool = True) -> Any:
        """A task for each of the mappings."""
        self._know(kwargs)
        return super().expand_kwargs(kwargs, strict=strict)

    def _know(self, expanded: object) -> None:
        """Give each asset once; ``expanded`` is what the tasks differ in."""
        assets = _OfAllTables()
        for one in expanded if isinstance(expanded, list | tuple) else ():
            whole = {**self.defaults, **self.kwargs, **one} if isinstance(one, Mapping) else {}
            if all(isinstance(whole.get(name), str | None) for name in _NAMING):
                known = {asset.uri for asset in assets}
                made = self.assets(whole) if whole.get("table") else ()
                assets += [asset for asset in made if asset.uri not in known]
        self.kwargs[self.member] = assets


def _defaults(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """What ``default_args`` of the Dag and of the group say of tables: each task gets it when it is made."""
    defaults: dict[str, Any] = {}
    for owner in (kwargs.get("dag"), kwargs.get("task_group")):
        defaults.update(getattr(owner, "default_args", None) or {})
    return {name: defaults[name] for name in _NAMING if name in defaults}


def _combinations(mapped: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What names the tables of the tasks that ``expand`` makes; none where that is not known yet."""
    combinations: list[dict[str, Any]] = [{}]
    for name in _NAMING:
        if name in mapped:
            values = mapped[name]
            if not isinstance(values, list | tuple):
                return []
            combinations = [{**one, name: value} for one in combinations for value in values]
    return combinations
