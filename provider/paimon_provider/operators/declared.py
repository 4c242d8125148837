"""Keep a warehouse as it is declared: its tables, and their upkeep."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

from paimon_provider._compat import BaseOperator, retry_arguments
from paimon_provider.arguments.checks import ChecksArguments, require_arguments
from paimon_provider.declared_file import read_whole
from paimon_provider.failures import TABLE_RETRIES, airflow_failures
from paimon_provider.links import show_table
from paimon_provider.operators.base import PaimonTableOperator
from paimon_provider.pages.reports_folder import clear_reports
from paimon_provider.runs.identity import run_identity
from table_core.errors import ArgumentError, ErrorKind, SchemaError, TableError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from paimon_provider._compat import Context, RetryPolicy
    from table_core.declaration.compare import TablePlan

__all__ = ["PaimonApplyOperator", "PaimonDueTablesOperator", "PaimonUpkeepOperator"]

_THREADS: Final = 8
_MAPPED_MAX: Final = 1_000
_WORK: Final = ("due", "urgent")
_OPTIONS: Final = "thresholds"


def _next_to_dag(task: PaimonApplyOperator | PaimonDueTablesOperator) -> Path:
    """The declaration: a relative path is from the folder of the Dag file, wherever that is now."""
    file = Path(task.file)
    dag = getattr(task, "dag", None)
    if file.is_absolute() or dag is None:
        return file
    beside = Path(dag.fileloc).parent / file
    return beside if beside.exists() else file


class PaimonApplyOperator(ChecksArguments, BaseOperator):
    """Compare a declaration with the warehouse, and change the warehouse to match it.

    Returns the differences, table by table. Nothing is ever dropped.

    :param file: the declaration, a YAML file. A relative path starts at the folder of the Dag file.
    :param paimon_conn_id: the connection with the warehouse.
    :param drift: ``apply`` creates and alters; if any part cannot be done, it fails and changes
        nothing. ``fail`` fails if anything differs, including a column, option or table that was
        added by hand. ``ignore`` only reports the differences. Changes made by a declared sync are
        not drift.
    """

    template_fields: Sequence[str] = ("file",)
    ui_color = "#e8f1fb"

    def __init__(
        self,
        *,
        file: str,
        paimon_conn_id: str = "paimon_default",
        drift: str = "apply",
        retry_policy: RetryPolicy | None = TABLE_RETRIES,
        **kwargs: Any,
    ) -> None:
        super().__init__(**retry_arguments(retry_policy, TABLE_RETRIES), **kwargs)
        self.file = file
        self.paimon_conn_id = paimon_conn_id
        self.drift = drift

    def execute(self, context: Context) -> dict[str, Any]:  # noqa: ARG002
        """Compare; create and alter what is to be."""
        from paimon_provider.hooks.paimon import PaimonHook
        from table_core.declaration import applying

        with airflow_failures():
            require_arguments(self)
            hook = PaimonHook(self.paimon_conn_id)
            catalog = hook.catalog()
            declaration = read_whole(_next_to_dag(self))
            _require_catalog(declaration.catalog, hook.warehouse.catalog_name)
            plans = applying.plan(declaration, catalog)
            others = applying.only_there(declaration, catalog)
            differ = [one for one in plans if one.told or one.refused or one.drift]
            for one in plans:
                self._tell(one)
            for name in others:
                self.log.info("kept %s: only the warehouse has it", name)
            if self.drift == "apply":
                applying.apply(plans, catalog)
            elif (differ or others) and self.drift == "fail":
                told = [f"{one.table}: {why}" for one in differ for why in one.drift or one.refused]
                told += [f"{name}: only the warehouse has it" for name in others]
                raise SchemaError("not as declared:\n" + "\n".join(told), problems=told)
        report = {"tables": len(plans), "differ": [one.to_document() for one in differ]}
        return {**report, "only_there": others} if others else report

    def _tell(self, one: TablePlan) -> None:
        told = [*one.told, *(f"refused: {why}" for why in one.refused)]
        told += [f"kept: {what}" for what in one.kept]
        if told:
            self.log.info("%s %s: %s", one.action, one.table, "; ".join(told))


def _require_catalog(declared: str | None, known: str) -> None:
    """Refuse a declaration whose Dags would announce its tables under another catalog's name."""
    if declared is not None and declared.lower() != known:
        raise ArgumentError(
            f"the declaration names its tables after catalog {declared!r}, the connection's "
            f"catalog_name is {known!r}: make them one",
            argument="catalog",
            value=declared,
        )


class PaimonDueTablesOperator(ChecksArguments, BaseOperator):
    """Find out from the metadata of every declared table which upkeep it needs.

    Returns the arguments of a ``PaimonUpkeepOperator`` for each table that needs upkeep, most
    urgent first. It returns at most 1,000 tables; the next run returns the rest. A table that does
    not exist, or that cannot be judged, is logged and left out.

    :param file: the declaration, a YAML file.
    :param paimon_conn_id: the connection with the warehouse.
    """

    template_fields: Sequence[str] = ("file",)
    ui_color = "#e8f1fb"

    def __init__(self, *, file: str, paimon_conn_id: str = "paimon_default", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.file = file
        self.paimon_conn_id = paimon_conn_id

    def execute(self, context: Context) -> list[dict[str, Any]]:  # noqa: ARG002
        """Judge all tables, several at once."""
        from paimon_provider.hooks.paimon import PaimonHook

        with airflow_failures():
            require_arguments(self)
            policies = read_whole(_next_to_dag(self)).policies
            catalog = PaimonHook(self.paimon_conn_id).catalog()
            clear_reports(catalog.clock.now_ms())
        with ThreadPoolExecutor(_THREADS) as pool:
            judged = pool.map(lambda item: self._judge(catalog, *item), policies.items())
            due = [one for one in judged if one is not None]
        due.sort(key=lambda one: not one[0])
        self.log.info("%d of %d tables need something", len(due), len(policies))
        return [arguments for _, arguments in due[:_MAPPED_MAX]]

    def _judge(
        self, catalog: Any, table: str, policy: Mapping[str, Any]
    ) -> tuple[bool, dict[str, Any]] | None:
        """Whether it is urgent, and what the mapped task is told; None if nothing is due."""
        try:
            document = catalog.table(table).health(**(policy.get(_OPTIONS) or {})).to_document()
        except TableError as error:
            if error.kind is ErrorKind.UNAVAILABLE:
                raise
            self.log.warning("%s cannot be judged: [%s] %s", table, error.kind, error)
            return None
        verdicts = {
            action: document["actions"][action]["verdict"]
            for action in policy
            if action in document["actions"]
        }
        if not set(verdicts.values()) & set(_WORK):
            return None
        return "urgent" in verdicts.values(), {"table": table, "policy": dict(policy)}


class PaimonUpkeepOperator(PaimonTableOperator):
    """Run the actions of a policy that are due for a table, in the policy's order.

    Returns ``{"table", "results"}``: a result document for each action that was due.

    :param policy: maps each allowed action to its arguments, e.g. ``{"compact": {"strategy":
        "minor"}, "expire-snapshots": {"retain_max": 20}}``. ``thresholds`` are those of
        ``table.health``. (templated)
    """

    template_fields: Sequence[str] = (*PaimonTableOperator.template_fields, "policy")
    template_fields_renderers: ClassVar[dict[str, str]] = {
        **PaimonTableOperator.template_fields_renderers,
        "policy": "json",
    }
    action = "health"
    announces = False

    def __init__(self, *, policy: Mapping[str, Any], engine: str = "local", **kwargs: Any) -> None:
        super().__init__(engine=engine, **kwargs)
        self.policy = policy

    def arguments(self) -> dict[str, Any]:
        """Those of ``table.health``."""
        return {"thresholds": dict(self.policy.get(_OPTIONS) or {})}

    def execute(self, context: Context) -> dict[str, Any]:
        """Judge the table, then do what is due."""
        results = []
        with airflow_failures():
            require_arguments(self)
            identity = run_identity(context, landed_ms=self._landed_ms)
            self.hook, user = self._hook_of(identity), identity.user
            show_table(context, self, self._asset_uri())
            judged = self.hook.run_job(self.action, self.table, self.arguments(), engine="local")
            for action, settings in self.policy.items():
                if action == _OPTIONS:
                    continue
                if judged["actions"].get(action, {}).get("verdict") not in _WORK:
                    # An attempt that finds less to do than the one before counts the same.
                    identity.next_identifier()
                    continue
                self.log.info("%s: %s", action, "; ".join(judged["actions"][action]["reasons"]))
                result = self._done(context, user, action, dict(settings or {}))
                self._tell(result)
                results.append(result)
        return {"table": self.table, "results": results}

    def _done(
        self, context: Context, user: str, action: str, args: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The result of ``action``; of a job that an earlier attempt has submitted, if it did."""
        with self.engine_now(context, user, action, args, part=action) as engine:
            if engine != "spark" or not self._outlives_attempts:
                return self.run_here(engine, action, args)
            jobs = self._cluster_jobs(context, user, action)
            self._jobs = jobs  # on_kill may come from now on
            spec = self.hook.job_spec(action, self.table, args)
            with self.hook.no_secret_told():
                return jobs.wait(jobs.submitted_or(spec), self.hook.told)
