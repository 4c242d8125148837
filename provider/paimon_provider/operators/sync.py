"""Follow a foreign stream of changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from paimon_provider._compat import stats
from paimon_provider.connections.source import source_with
from paimon_provider.failures import airflow_failures
from paimon_provider.operators.base import PaimonDatabaseOperator, PaimonTableOperator

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from paimon_provider._compat import Context

__all__ = [
    "PaimonResyncOperator",
    "PaimonSourceAuditOperator",
    "PaimonSourceDoctorOperator",
    "PaimonSourceReplayOperator",
    "PaimonSyncDatabaseOperator",
    "PaimonSyncTableOperator",
]


class _OfSource(PaimonTableOperator):
    """What the operators of this module share: the source."""

    rendered_too: ClassVar = {"source_conn_id": ""}

    def __init__(
        self, *, source: Mapping[str, Any], source_conn_id: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.source = source
        self.source_conn_id = source_conn_id

    def files_read(self) -> list[str]:
        """Those of a source of kind ``files``."""
        uri = self.source.get("uri") if self.source.get("kind") == "files" else None
        return [str(uri)] if uri else []

    def arguments(self) -> dict[str, Any]:
        """Those of the action, its source with what the connection says."""
        return {**super().arguments(), "source": source_with(self.source, self.source_conn_id)}


class _WithSettings(_OfSource):
    """What runs a sync, with its keywords."""

    rendered_too: ClassVar = {**_OfSource.rendered_too, "settings": "json"}

    def __init__(self, *, settings: Mapping[str, Any] | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.settings = settings

    def arguments(self) -> dict[str, Any]:
        """Those of the action, and ``settings``."""
        from paimon_provider.arguments.job_values import job_settings
        from table_core.jobs.registry import action_of

        settings = job_settings(action_of(self.action), self.settings or {})
        return {**super().arguments(), **settings}


class _FromSource(_WithSettings):
    """What the syncs share: how much of the source."""

    def __init__(self, *, until: str = "now", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.until = until


class PaimonSyncTableOperator(_FromSource):
    """Apply change events to a table: rows, and new columns.

    Each commit stores the position in the source, so a repeated run continues where the last commit
    ended. The first run over a database looks at its server first, as
    ``PaimonSourceDoctorOperator`` does. The log shows each finding with effect and remedy. An error
    ends the task before the first row.

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
        self._take_arguments(locals())


class PaimonSyncDatabaseOperator(_FromSource, PaimonDatabaseOperator):
    """Apply the change events of many tables to the tables of a database.

    Missing tables are created from their first events. Each table keeps its own position, so a
    repeated run loses and repeats nothing. The first run looks at the server first, as that of
    ``PaimonSyncTableOperator``. The task emits no events of the tables' assets; use watchers for
    them.

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

    action = "sync-database"

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
        self._take_arguments(locals())


class PaimonResyncOperator(_WithSettings, PaimonDatabaseOperator):
    """Read source tables of a server again, and let their rows replace what is in the tables here.

    Use it if you know that a table differs from its source. The syncs that feed the tables are run,
    with the choice of tables that they have, so other tables of them come up to date too. Each table
    is replaced in one commit: no reader sees half of it. A run that is killed leaves the rest to the
    next sync.

    :param source: as for ``PaimonSyncTableOperator``, of kind ``mysql`` or ``postgres``.
        (templated)
    :param source_conn_id: as for ``PaimonSyncTableOperator``.  (templated)
    :param tables: the names of the tables here, without the database. (templated)
    :param settings: the keywords that the syncs have, e.g. ``{"metadata_columns":
        ["table_name"]}``. (templated)
    """

    action = "resync"

    def __init__(self, *, tables: Sequence[str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.tables = tables


class PaimonSourceDoctorOperator(_OfSource, PaimonDatabaseOperator):
    """Look at a database server before a sync reads it: rights, settings of its log, tables.

    Nothing is changed. The log shows each finding with its effect and remedy, and the result has all
    of them as ``details.findings``.

    :param source: as for ``PaimonSyncTableOperator``, of kind ``mysql`` or ``postgres``.
        (templated)
    :param source_conn_id: as for ``PaimonSyncTableOperator``.  (templated)
    :param including: regular expression for source tables, as for ``PaimonSyncDatabaseOperator``.
        (templated)
    :param excluding: regular expression for those to leave out. (templated)
    :param fail_on: ``error`` fails the task if a sync would fail, ``warning`` also if it would cost
        more or leave something out, ``never`` not at all.
    """

    action = "source-doctor"

    def __init__(
        self,
        *,
        including: str = ".*",
        excluding: str = "",
        fail_on: str = "error",
        engine: str = "local",
        **kwargs: Any,
    ) -> None:
        super().__init__(engine=engine, **kwargs)
        self._take_arguments(locals())


class PaimonSourceAuditOperator(_WithSettings, PaimonDatabaseOperator):
    """Compare tables with the tables of a server that feed them, row by row.

    The syncs that feed the tables are run first, up to a snapshot of the server, so that a busy table has no
    false difference. The server computes checksums; only parts that differ are read. The log shows
    each row that differs, the metric ``paimon.differences`` their number, and the result has them as
    ``details.rows``.

    :param source: as for ``PaimonSyncTableOperator``, of kind ``mysql`` (MariaDB) or ``postgres``.
        (templated)
    :param source_conn_id: as for ``PaimonSyncTableOperator``.  (templated)
    :param tables: the names of the tables here, without the database. (templated)
    :param repair: whether rows that differ are replaced by those of the source.
    :param fail_on: ``difference`` fails the task if a table differs and was not repaired, ``never``
        does not.
    :param settings: the keywords that the syncs have, e.g. ``{"metadata_columns":
        ["table_name"]}``. (templated)
    """

    action = "source-audit"
    fail_on: str

    def __init__(
        self,
        *,
        tables: Sequence[str],
        repair: bool = False,
        fail_on: str = "difference",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._take_arguments(locals())

    def arguments(self) -> dict[str, Any]:
        """Those of the action; differences fail the task, not the job: the metric comes first."""
        return {**super().arguments(), "fail_on": "never"}

    def finished(self, context: Context, result: dict[str, Any]) -> dict[str, Any]:
        """Fail the task if a table differs and was not repaired."""
        from table_core.jobs.audit_result import require_equal

        result = super().finished(context, result)
        details = result["details"]
        tags = {"action": self.action, "table": self.table}
        stats.gauge("paimon.differences", int(details["differences"]), tags=tags)
        with airflow_failures():
            require_equal(details, self.fail_on)
        return result


class PaimonSourceReplayOperator(_WithSettings, PaimonDatabaseOperator):
    """Apply dead letters of topics or files once more, and delete those that were applied.

    Use it once what was in their way is gone, e.g. a column is wide enough. Letters are applied in
    the order of their source. If the table has a row of the same key by now, the letter stays: the
    row may be newer. The result has the letters ``applied`` and ``left``.

    :param source: as for the sync that wrote the letters, of kind ``files`` or ``kafka``.
        (templated)
    :param source_conn_id: as for ``PaimonSyncTableOperator``.  (templated)
    :param dead_letter: the table of dead letters, e.g. ``"lake.rejected"``. (templated)
    :param synced_table: the name of the table, without the database, if the sync was one of a single
        table. (templated)
    :param overwrite: whether events are applied to rows that are there, too.
    :param settings: the other keywords that the sync has, e.g. ``{"table_prefix": "ods_"}``.
        (templated)
    """

    action = "replay"

    def __init__(
        self,
        *,
        dead_letter: str,
        synced_table: str | None = None,
        overwrite: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._take_arguments(locals())
