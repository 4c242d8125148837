"""Put rows into a table: by a query, by a flow, from files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from paimon_provider.arguments.checks import require_together, with_shapes
from paimon_provider.arguments.shapes import MERGE_SOURCE
from paimon_provider.lineage.columns import Derivation
from paimon_provider.operators.base import PaimonTableOperator
from table_core.errors import ArgumentError
from table_core.shapes import kinds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from paimon_provider._compat import Context

__all__ = ["PaimonMergeIntoOperator", "PaimonWriteOperator"]


class PaimonWriteOperator(PaimonTableOperator):
    """Write the rows of a query, or of files, into a table in one commit.

    With a source of mode ``changes`` this is a *flow*: the query sees the rows that are new since
    the last commit of the flow. The commit itself stores the position. So a run that is repeated,
    killed or doubled neither loses a row nor counts one twice::

        PaimonWriteOperator(
            task_id="sales",
            table="shop.country_sales",
            sources={
                "orders": {"table": "shop.orders", "mode": "changes"},
                "customers": {"table": "shop.customers"},
            },
            sql="SELECT country, sum(amount) revenue FROM orders JOIN customers USING (id) GROUP BY 1",
        )

    :param sql: Spark SQL over the views named in ``sources``: one SELECT that reads nothing else.
        (templated)
    :param parameters: the values of ``$name`` in ``sql`` and in the SQL of ``pending``. They are
        bound, never pasted. Put values from outside here, not into ``sql``. (templated)
    :param sources: maps each view name to ``{"table", "mode", "position"}``. ``mode`` is
        ``snapshot`` (the newest one, pinned; the default) or ``changes``. ``position`` names the
        property that stores the flow's position; by default each flow has its own. (templated)
    :param flow_name: the name of the flow, if several feed one table from one source. The flow
        finds its positions by this name, even after the task, its Dag or its SQL change. By default
        the task, and what the flow does, identify it. (templated)
    :param pending: ``{"table", "sql"}``: rows that cannot be used yet. They replace the content of
        that table. Both queries see what the last run left there, as a view with the name of the
        table without its database, or the name in ``view``. (templated)
    :param rows_uri: files to append instead of a query: a glob of Parquet, CSV or JSON lines.
        (templated)
    :param rows_position: a property name, e.g. ``tc.files.orders``. The property records which
        files were loaded, so each file is loaded once, whatever runs again and in whatever order,
        folder or pattern it comes.
    :param rows_format: ``parquet``, ``csv`` or ``json``, where the names of the files do not tell.
    :param rows_options: how rows stand in CSV and JSON, e.g. ``{"delimiter": ";", "decimal": ",",
        "encoding": "cp1252", "date_format": "%d.%m.%Y", "null_values": ["", "NA"]}``.
    :param computed_columns: columns computed from others before the rows are written, as in a sync,
        e.g. ``["dt=date_format(ts, yyyy-MM-dd)"]``. The rows themselves must not have them.
    :param overwrite: ``None``, ``"partitions"``, ``"table"`` or a partition such as
        ``{"dt": "2026-01-01"}``.  (templated)
    """

    template_ext: Sequence[str] = (".sql",)
    action = "write"
    never_nothing = ("overwrite",)
    sql: str | None
    sources: Mapping[str, Mapping[str, Any]] | None
    pending: Mapping[str, str] | None
    rows_uri: str | None
    flow_name: str | None

    def __init__(  # noqa: PLR0913 - what users may set
        self,
        *,
        sql: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        sources: Mapping[str, Mapping[str, Any]] | None = None,
        pending: Mapping[str, str] | None = None,
        rows_uri: str | None = None,
        rows_position: str | None = None,
        rows_format: str | None = None,
        rows_options: Mapping[str, Any] | None = None,
        flow_name: str | None = None,
        overwrite: str | Mapping[str, str] | None = None,
        computed_columns: Sequence[str] = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._take_arguments(locals())
        self._task: str | None = None
        require_together(self)

    def execute(self, context: Context) -> dict[str, Any]:
        """Do it and return the result document."""
        ti: Any = context["ti"]
        mapped = getattr(ti, "map_index", -1)
        self._task = f"{ti.dag_id}.{ti.task_id}" + (f"[{mapped}]" if mapped >= 0 else "")
        return super().execute(context)

    def files_read(self) -> list[str]:
        """Those of ``rows_uri``."""
        return [] if self.rows_uri is None else [self.rows_uri]

    def derivation(self) -> Derivation | None:
        """The query over ``sources``, and over the rows that waited."""
        if self.sql is None:
            return None
        views = _tables(self.sources)
        if self.pending is not None:
            table = str(self.pending["table"])
            views[self.pending.get("view") or table.partition(".")[2]] = table
        return Derivation(views=views, sql=self.sql)

    def arguments(self) -> dict[str, Any]:
        """What the ``write`` job is told, the defaults of sources spelled out.

        Raises:
            ArgumentError: ``rows_uri`` leads upwards, as a value in a template can.
        """
        if self.rows_uri is not None and ".." in re.split(r"[/\\]", self.rows_uri):
            raise ArgumentError(
                f"rows_uri={self.rows_uri!r} leads upwards by '..': name the folder itself",
                argument="rows_uri",
                value=self.rows_uri,
            )
        return {
            **super().arguments(),
            "sources": _sources(self.sources),
            "task": None if self.flow_name else self._task,
        }


class PaimonMergeIntoOperator(PaimonTableOperator):
    """Merge a table or the result of a query into a table, row by row.

    :param source: ``{"table": "db.t"}``, or ``{"sql": …, "sources": {…}}`` as for
        ``PaimonWriteOperator``.  (templated)
    :param parameters: the values of ``$name`` in the SQL of ``source``, bound.  (templated)
    :param on: the columns by which rows are matched. (templated)
    :param when: what to do with each row; the first matching clause wins, e.g. ``[{"action":
        "matched-upsert"}, {"action": "not-matched-insert", "values": {"n": "0"}}, {"action":
        "not-matched-by-source-delete"}]``; each may have a ``condition``. (templated)
    """

    action = "merge-into"
    source: Mapping[str, Any]
    when: Sequence[Mapping[str, Any]]

    shapes = with_shapes(source=MERGE_SOURCE, on=kinds.SOME_NAMES)

    def __init__(
        self,
        *,
        source: Mapping[str, Any],
        on: Sequence[str],
        when: Sequence[Mapping[str, Any]],
        parameters: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._take_arguments(locals())
        require_together(self)

    def derivation(self) -> Derivation | None:
        """The source, and what the clauses set."""
        values = {k: v for clause in self.when for k, v in (clause.get("values") or {}).items()}
        if self.source.get("table"):
            return Derivation(views={"source": str(self.source["table"])}, values=values)
        views = _tables(self.source.get("sources"))
        return Derivation(views=views, sql=self.source.get("sql"), values=values)

    def arguments(self) -> dict[str, Any]:
        """Those of ``table.merge_into``, the defaults of sources and clauses spelled out."""
        arguments = super().arguments()
        if arguments["source"].get("sources"):
            arguments["source"]["sources"] = _sources(arguments["source"]["sources"])
        when = [{"values": None, "condition": None, **clause} for clause in arguments["when"]]
        return {**arguments, "when": when}


def _tables(sources: Mapping[str, Mapping[str, Any]] | None) -> dict[str, str]:
    return {view: str(source["table"]) for view, source in (sources or {}).items()}


def _sources(sources: Mapping[str, Mapping[str, Any]] | None) -> dict[str, dict[str, Any]]:
    return {
        view: {"mode": "snapshot", "position": None, **source}
        for view, source in (sources or {}).items()
    }
