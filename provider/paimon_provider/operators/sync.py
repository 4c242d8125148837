"""Follow a foreign stream of changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from paimon_provider.operators.base import PaimonTableOperator

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["PaimonSyncTableOperator"]


class PaimonSyncTableOperator(PaimonTableOperator):
    """Apply change events to a table: rows, and columns that appear on the way.

    The position in the source is kept with each commit, so a repeated run takes up where the
    last commit ended.

    :param source: ``{"kind": "files", "uri": "file:///events/*.jsonl", "format": "debezium-json"}``.
        (templated)
    :param primary_key: the key, where the table is made by this task.  (templated)
    :param partition_by: the partition columns, where the table is made by this task.  (templated)
    :param computed_columns: columns made from others, e.g. ``["dt=date_format(ts, yyyy-MM-dd)"]``.
    :param type_mapping: e.g. ``["tinyint1-not-bool"]``.
    :param until: how far to read; ``now`` is what is there when the task starts.  (templated)
    """

    template_fields: Sequence[str] = (
        *PaimonTableOperator.template_fields,
        *("source", "primary_key", "partition_by", "until"),
    )
    template_fields_renderers: ClassVar[dict[str, str]] = {
        **PaimonTableOperator.template_fields_renderers,
        "source": "json",
    }
    action = "sync-table"

    def __init__(
        self,
        *,
        source: Mapping[str, Any],
        primary_key: Sequence[str] = (),
        partition_by: Sequence[str] = (),
        computed_columns: Sequence[str] = (),
        type_mapping: Sequence[str] = (),
        until: str = "now",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.source = source
        self.primary_key = primary_key
        self.partition_by = partition_by
        self.computed_columns = computed_columns
        self.type_mapping = type_mapping
        self.until = until

    def arguments(self) -> dict[str, Any]:
        """Those of ``table_core.sync_table``."""
        return {
            "source": dict(self.source),
            "primary_key": list(self.primary_key),
            "partition_by": list(self.partition_by),
            "computed_columns": list(self.computed_columns),
            "type_mapping": list(self.type_mapping),
            "until": self.until,
        }
