"""Declare a table, and change its declaration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paimon_provider.arguments.checks import with_shapes
from paimon_provider.arguments.shapes import COLUMNS
from paimon_provider.operators.base import PaimonTableOperator

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["PaimonAlterTableOperator", "PaimonCreateTableOperator"]


class PaimonCreateTableOperator(PaimonTableOperator):
    """Create a table, and its database if that is missing.

    :param columns: maps each column name to its type, in order, e.g. ``{"id": "BIGINT NOT NULL",
        "dt": "STRING"}``. (templated)
    :param primary_key: the key columns. Without a key, the table is an append table. (templated)
    :param partition_by: the partition columns.  (templated)
    :param options: table options, e.g. ``{"bucket": "4"}``.  (templated)
    :param comment: what the table is for.  (templated)
    :param if_not_exists: if the table exists, leave it unchanged instead of failing.
    """

    action = "create-table"

    shapes = with_shapes(columns=COLUMNS)

    def __init__(
        self,
        *,
        columns: Mapping[str, str],
        primary_key: Sequence[str] = (),
        partition_by: Sequence[str] = (),
        options: Mapping[str, str] | None = None,
        comment: str | None = None,
        if_not_exists: bool = True,
        engine: str = "local",
        **kwargs: Any,
    ) -> None:
        super().__init__(engine=engine, **kwargs)
        self._take_arguments(locals())


class PaimonAlterTableOperator(PaimonTableOperator):
    """Change columns, options or the comment of a table.

    :param changes: one mapping for each change, named like the classes of ``table_core``, e.g.
        ``[{"change": "AddColumn", "name": "note", "type": "STRING"}, {"change": "SetOption", "key":
        "bucket", "value": "8"}]``. ``address.city`` names a member of a ``ROW``; a name that has a dot of its
        own stands in backquotes. (templated)
    :param allow: ``["narrow"]``: a column may get a type, or NOT NULL, that does not hold every value
        of the old one. The task fails if a stored value does not fit. (templated)
    """

    action = "alter-table"

    def __init__(
        self,
        *,
        changes: Sequence[Mapping[str, Any]],
        allow: Sequence[str] = (),
        engine: str = "local",
        **kwargs: Any,
    ) -> None:
        super().__init__(engine=engine, **kwargs)
        self._take_arguments(locals())
