"""A Dag that does what the tables page offers: compact, expire, tag, roll back, each first as a dry run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paimon_provider._compat import DAG, Param
from paimon_provider.arguments.checks import require_early
from paimon_provider.arguments.table_actions import ACTIONS, AskedAction, asked_action
from paimon_provider.failures import airflow_failures
from paimon_provider.operators.base import PaimonTableOperator
from table_core.errors import AccessDeniedError, ArgumentError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paimon_provider._compat import Context

__all__ = ["PaimonTableActionOperator", "table_actions_dag"]


def table_actions_dag(
    dag_id: str = "paimon_table_actions",
    *,
    databases: Sequence[str],
    paimon_conn_id: str = "paimon_default",
    catalog: str | None = None,
    engine: str = "local",
    **dag: Any,
) -> DAG:
    """The Dag that the tables page starts; ``[paimon] actions_dag_id`` tells the page its name.

    A run does one action on one table, as its ``conf`` says: ``{"action": "compact", "table":
    "paimon://demo/shop/orders", "arguments": {}, "dry_run": true}``. The page starts runs with the rights of its user, so who
    may trigger the Dag may do these actions, and nobody else::

        table_actions_dag(databases=["shop"])

    Args:
        dag_id: the Dag's id.
        databases: tables of these databases, and no other, can be acted on.
        paimon_conn_id: the connection with the warehouse.
        catalog: the connection's ``catalog_name``, if it has one.
        engine: what runs the actions, as for every operator.
        dag: further arguments of ``DAG``, e.g. ``access_control``.
    """
    params = {
        "action": Param("compact", type="string", enum=list(ACTIONS)),
        "table": Param("", type="string", maxLength=200),
        "arguments": Param({}, type=["object", "null"]),
        "dry_run": Param(True, type="boolean"),
    }
    settings: dict[str, Any] = {
        "schedule": None,
        "catchup": False,
        "params": params,
        "doc_md": __doc__,
        "tags": ["paimon"],
        **dag,
    }
    with DAG(dag_id, **settings) as made:
        PaimonTableActionOperator(
            task_id="act",
            databases=databases,
            paimon_conn_id=paimon_conn_id,
            catalog=catalog,
            engine=engine,
        )
    return made


class PaimonTableActionOperator(PaimonTableOperator):
    """Do the action that the run's ``conf`` asks for; returns its result document.

    :param databases: tables of these databases, and no other, can be acted on.
    """

    template_fields: Sequence[str] = ()
    announces = False

    def __init__(self, *, databases: Sequence[str], **kwargs: Any) -> None:
        for database in databases:
            require_early(self, database=database)
        super().__init__(table="any.any", outlets=[], events="none", retries=0, **kwargs)
        self.databases = [database.lower() for database in databases]
        self._asked: AskedAction | None = None

    def execute(self, context: Context) -> dict[str, Any]:
        """Check what is asked for, find the table, do it."""
        run: Any = context["dag_run"]
        with airflow_failures():
            asked = asked_action(run.conf or {})
            self.table = self._allowed(asked)
        self._asked = asked
        self.action = asked.action.job  # type: ignore[misc]  # of this run
        if asked.dry_run and asked.action.job == "create-tag":
            with airflow_failures():
                return self._tag_foretold(asked)
        return super().execute(context)

    def arguments(self) -> dict[str, Any]:
        """What the job gets: checked by now."""
        assert self._asked is not None
        arguments = dict(self._asked.arguments)
        if self._asked.action.job != "create-tag":
            arguments["dry_run"] = self._asked.dry_run
        return arguments

    def _allowed(self, asked: AskedAction) -> str:
        """The table as its catalog spells it.

        Raises:
            AccessDeniedError: it is of another catalog or database than this Dag is for.
            NotFoundError: there is no such table.
            ArgumentError: there are two that differ in case alone.
        """
        database, _, _ = asked.table.partition(".")
        own = self.hook.warehouse.catalog_name.lower()
        if database not in self.databases or asked.catalog not in {None, own}:
            raise AccessDeniedError(
                f"this Dag acts on tables of {', '.join(self.databases)} in {own}, not on "
                f"{asked.catalog or own}.{asked.table}",
                path=asked.table,
                reason="not declared",
            )
        catalog = self.hook.catalog()
        spelled = [
            f"{name}.{table}"
            for name in catalog.databases()
            if name.lower() == database
            for table in catalog.tables(name)
            if f"{name}.{table}".lower() == asked.table
        ]
        if len(spelled) > 1:
            raise ArgumentError(
                f"{asked.table} may be {' or '.join(spelled)}, which differ in case alone: act on it by the "
                "command line or a Dag",
                argument="table",
                value=asked.table,
            )
        if spelled:
            return spelled[0]
        raise NotFoundError(f"there is no table {asked.table}", name=asked.table, available=[])

    def _tag_foretold(self, asked: AskedAction) -> dict[str, Any]:
        """What a tag would name: to make one has no dry run of its own."""
        from table_core.table.metadata.describing import unchanged

        table = self.hook.catalog().table(self.table)
        snapshot_id = asked.arguments.get("snapshot")
        snapshot = table.latest_snapshot() if snapshot_id is None else table.snapshot(snapshot_id)
        if snapshot is None:
            raise NotFoundError(
                f"{self.table} has no snapshot to tag", name=self.table, available=[]
            )
        exists = asked.arguments["name"] in table.tags.list()
        details = {"tag": asked.arguments["name"], "snapshot": snapshot.id, "exists": exists}
        document: dict[str, Any] = unchanged(
            table.access, "create-tag", details, dry_run=True
        ).to_document()
        return document
