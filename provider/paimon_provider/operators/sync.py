"""Follow a foreign stream of changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from paimon_provider.arguments import documents
from paimon_provider.arguments.checks import with_checks
from paimon_provider.connections.source import source_with
from paimon_provider.operators.base import PaimonDatabaseOperator, PaimonTableOperator

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["PaimonSyncDatabaseOperator", "PaimonSyncTableOperator"]


class _FromSource(PaimonTableOperator):
    """What the operators of this module share: the source, and how much of it."""

    checks = with_checks(source=documents.sync_source)
    template_fields_renderers: ClassVar[dict[str, str]] = {
        **PaimonTableOperator.template_fields_renderers,
        "source": "json",
        "settings": "json",
    }

    def __init__(
        self,
        *,
        source: Mapping[str, Any],
        source_conn_id: str | None = None,
        until: str = "now",
        settings: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.source = source
        self.source_conn_id = source_conn_id
        self.until = until
        self.settings = settings

    def arguments(self) -> dict[str, Any]:
        """Those of the action, its source with what the connection says, and ``settings``."""
        from paimon_provider.arguments.job_values import job_settings
        from table_core.jobs.registry import action_of

        return {
            **super().arguments(),
            "source": source_with(self.source, self.source_conn_id),
            **job_settings(action_of(self.action), self.settings or {}),
        }


class PaimonSyncTableOperator(_FromSource):
    """Apply change events to a table: rows, and new columns.

    Each commit stores the position in the source, so a repeated run continues where the last commit
    ended.

    :param source: ``{"kind": "files", "uri": "file:///events/*.jsonl", "format": "debezium-json"}``.
        (templated)
    :param source_conn_id: the Airflow connection with the address, user and password of a database
        or a Kafka cluster. ``source`` holds the rest. (templated)
    :param primary_key: the key, if this task creates the table. (templated)
    :param partition_by: the partition columns, if this task creates the table. (templated)
    :param computed_columns: columns computed from others, e.g. ``["dt=date_format(ts,
        yyyy-MM-dd)"]``.
    :param type_mapping: e.g. ``["tinyint1-not-bool"]``.
    :param until: how far to read; ``now`` reads what exists when the task starts. (templated)
    :param settings: the other keywords of ``table_core.sync_table``, e.g.
        ``{"max_rows": 1_000_000, "on_truncate": "fail", "dead_letter": "shop.refused"}``.
        (templated)
    """

    template_fields: Sequence[str] = (
        *PaimonTableOperator.template_fields,
        *("source", "source_conn_id", "primary_key", "partition_by", "until", "settings"),
    )
    action = "sync-table"

    def __init__(
        self,
        *,
        primary_key: Sequence[str] = (),
        partition_by: Sequence[str] = (),
        computed_columns: Sequence[str] = (),
        type_mapping: Sequence[str] = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.primary_key = primary_key
        self.partition_by = partition_by
        self.computed_columns = computed_columns
        self.type_mapping = type_mapping


class PaimonSyncDatabaseOperator(_FromSource, PaimonDatabaseOperator):
    """Apply the change events of many tables to the tables of a database.

    Missing tables are created from their first events. Each table keeps its own position, so a
    repeated run loses and repeats nothing. The task emits no events of the tables' assets; use
    watchers for them.

    :param source: as for ``PaimonSyncTableOperator``.  (templated)
    :param source_conn_id: as for ``PaimonSyncTableOperator``.  (templated)
    :param including: regular expression for source tables, matched whole against ``table`` and
        ``database.table``.  (templated)
    :param excluding: regular expression for those to leave out. (templated)
    :param table_prefix: a prefix for the name of each table.
    :param merge_shards: tables with the same name in several source databases go into one table.
    :param until: how far to read; ``now`` reads what exists when the task starts. (templated)
    :param settings: the other keywords of ``table_core.sync_database``, e.g.
        ``{"options": {"bucket": "2"}, "primary_key": {"orders": ["id"]}}``.  (templated)
    """

    template_fields: Sequence[str] = (
        *PaimonDatabaseOperator.template_fields,
        *("source", "source_conn_id", "including", "excluding", "until", "settings"),
    )
    action = "sync-database"

    checks: ClassVar = {**PaimonDatabaseOperator.checks, "source": documents.sync_source}

    def __init__(
        self,
        *,
        including: str = ".*",
        excluding: str = "",
        table_prefix: str = "",
        merge_shards: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.including = including
        self.excluding = excluding
        self.table_prefix = table_prefix
        self.merge_shards = merge_shards
