"""Change or take away rows by a condition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paimon_provider.operators.base import PaimonTableOperator

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["PaimonDeleteOperator", "PaimonUpdateOperator"]


class PaimonDeleteOperator(PaimonTableOperator):
    """Delete the rows that match a condition, in one commit.

    A key table gets delete records. In a table without a key, the files with such rows are
    rewritten.

    :param where: SQL over the table's columns, e.g. ``"country = 'is' AND amount IS NULL"``.
        (templated)
    :param parameters: the values of ``$name`` in ``where``, e.g. ``{"name": "{{ params.name }}"}``. They are
        bound, not pasted: what a user types is never SQL.  (templated)
    """

    action = "delete"

    def __init__(
        self,
        *,
        where: str,
        parameters: Mapping[str, Any] | None = None,
        engine: str = "local",
        **kwargs: Any,
    ) -> None:
        super().__init__(engine=engine, **kwargs)
        self._take_arguments(locals())


class PaimonUpdateOperator(PaimonTableOperator):
    """Update columns of the rows that match a condition, in one commit.

    :param values: maps each column to SQL over the old row, e.g. ``{"qty": "qty + 1"}``.
        (templated)
    :param where: SQL over the table's columns.  (templated)
    :param parameters: the values of ``$name`` in ``values`` and ``where``, bound.  (templated)
    """

    action = "update"

    def __init__(
        self,
        *,
        values: Mapping[str, str],
        where: str,
        parameters: Mapping[str, Any] | None = None,
        engine: str = "local",
        **kwargs: Any,
    ) -> None:
        super().__init__(engine=engine, **kwargs)
        self._take_arguments(locals())
