"""``@task.paimon``: a function that gets tables, or a Spark session that knows them."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from paimon_provider._compat import (
    DecoratedOperator,
    is_mapped,
    retry_arguments,
    task_decorator_factory,
)
from paimon_provider.arguments.table_identity import TableIdentity, is_template, require_named_so
from paimon_provider.assets import table_asset
from paimon_provider.failures import TABLE_RETRIES, airflow_failures
from paimon_provider.runs.identity import run_identity
from paimon_provider.runs.landed import landed_ms
from paimon_provider.watching.commit_events import event_of_commits
from table_core.errors import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from paimon_provider._compat import Context, RetryPolicy
    from paimon_provider.hooks.paimon import PaimonHook

__all__ = ["PaimonDecoratedOperator", "paimon_task"]


class PaimonDecoratedOperator(DecoratedOperator):
    """Call a function with tables.

    For example::

        @task.paimon(tables={"orders": "shop.orders"}, writes=["shop.sums"])
        def sums(orders, paimon):
            rows = orders.read(where="dt = '2026-01-01'").to_arrow()
            with paimon.table("shop.sums").write() as writer:
                writer.write(rows.group_by("country").aggregate([("amount", "sum")]))
                writer.commit()

    What the function names gets: the parameters in ``tables`` their handles; ``paimon`` the hook, with
    ``table()`` for further handles; ``spark`` a Spark session, with ``spark.read.format("paimon")``,
    that ends with the task.  What handles commit is named after the task run: a retry that calls
    them in the same order finds what has landed.  So it does with ``commit=paimon.commit_as()``, for
    verbs of ``paimon.catalog()``.  What Spark writes by itself is not named.

    :param tables: parameter to ``database.table``.  (templated)
    :param writes: tables whose assets are announced when the task has succeeded. Their events say what the handles
        have committed, as those of operators do.
    :param paimon_conn_id: the connection with the warehouse and the Spark settings.
    :param catalog: the connection's ``catalog_name``, if it has one: names the assets.
    """

    custom_operator_name = "@task.paimon"
    template_fields: Sequence[str] = (*DecoratedOperator.template_fields, "tables")

    def __init__(
        self,
        *,
        tables: Mapping[str, str] | None = None,
        writes: Sequence[str] = (),
        paimon_conn_id: str = "paimon_default",
        catalog: str | None = None,
        retry_policy: RetryPolicy | None = TABLE_RETRIES,
        **kwargs: Any,
    ) -> None:
        function: Callable[..., Any] = kwargs["python_callable"]
        self._injected = _injected(function, tables or {})
        # Airflow checks the call when the Dag is parsed: what comes later counts as given.
        kwargs["op_kwargs"] = {**dict.fromkeys(self._injected), **(kwargs.get("op_kwargs") or {})}
        outlets = kwargs.get("outlets", _OfWrites())
        if isinstance(outlets, _OfWrites) and not is_mapped(self):
            kwargs["outlets"] = _assets(
                writes, paimon_conn_id, catalog
            )  # ``default_args`` are known now
        super().__init__(**retry_arguments(retry_policy, TABLE_RETRIES), **kwargs)
        self.tables = dict(tables or {})
        self.writes = writes
        self.paimon_conn_id = paimon_conn_id
        self.catalog = catalog
        self._written: list[str] = []

    def execute(self, context: Context) -> Any:
        """Open the tables, call the function, return what it returns."""
        from paimon_provider.hooks.paimon import PaimonHook

        session: Any = None
        with airflow_failures():
            identity = run_identity(context, landed_ms=self._landed_ms)
            hook = PaimonHook(self.paimon_conn_id, identity=identity)
            self._require_named_so(hook.warehouse.catalog_name)
            injected: dict[str, Any] = {
                name: hook.table(table) for name, table in self.tables.items()
            }
            if "paimon" in self._injected:
                injected["paimon"] = hook
            if "spark" in self._injected:
                session = injected["spark"] = _session(hook)
            arguments = _taken(
                self.python_callable, self.op_args, {**context, **self.op_kwargs, **injected}
            )
            try:
                returned = self._handle_output(self.python_callable(*self.op_args, **arguments))
                self._announce(context, hook, identity.user)
                return returned
            finally:
                if session is not None:
                    session.stop()

    def _landed_ms(self, user: str) -> list[int]:
        """When ``user`` has committed to a table that the task names."""
        from paimon_provider.hooks.paimon import PaimonHook

        tables = {*self.tables.values(), *self.writes}
        return landed_ms(PaimonHook(self.paimon_conn_id).catalog(), sorted(tables), user)

    def _announce(self, context: Context, hook: PaimonHook, user: str) -> None:
        """Say in the events of ``writes`` what this task run has committed, in whichever attempt."""
        for table in sorted({*self.tables.values(), *self.writes}):
            try:
                notes = hook.commits_of(table, user)
            except NotFoundError:  # the function did not create it, or dropped it
                continue
            if notes:
                self._written.append(table)
            uri = TableIdentity.of(table, catalog=hook.warehouse.catalog_name).uri
            asset = next((o for o in self.outlets if getattr(o, "uri", None) == uri), None)
            if notes and asset is not None:
                context["outlet_events"][asset].extra = event_of_commits(table, notes)

    def _require_named_so(self, catalog: str) -> None:
        """Refuse to announce tables under the name of another catalog."""
        uris = [str(getattr(outlet, "uri", "")) for outlet in self.outlets]
        for table in (*self.writes, *self.tables.values()):
            if not is_template(table):
                require_named_so(uris, table, catalog=catalog)

    def get_openlineage_facets_on_complete(self, task_instance: Any) -> Any:  # noqa: ARG002
        """Tables as inputs and outputs; OpenLineage calls this where it is installed."""
        from paimon_provider.hooks.paimon import PaimonHook
        from paimon_provider.lineage.openlineage import operator_lineage

        writes = list(dict.fromkeys((*self.writes, *self._written)))
        reads = [table for table in self.tables.values() if table not in writes]
        return operator_lineage(PaimonHook(self.paimon_conn_id), reads, writes)


def _taken(
    function: Callable[..., Any], args: Collection[Any], values: Mapping[str, Any]
) -> dict[str, Any]:
    """Those of ``values`` that ``function`` has parameters for, besides its positional ``args``.

    Airflow has this too, but not in a place that 3.1 and 3.2 share.
    """
    parameters = inspect.signature(function).parameters
    if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values()):
        names = set(values)
    else:
        names = set(parameters) & set(values)
    return {name: values[name] for name in names - set(list(parameters)[: len(args)])}


class _OfWrites(list[Any]):
    """Assets that nobody has given: they follow from ``writes``."""


def _assets(writes: Sequence[str], conn_id: str, catalog: str | None) -> list[Any]:
    return [
        table_asset(table, paimon_conn_id=conn_id, catalog=catalog)
        for table in writes
        if not is_template(table)
    ]


def _injected(function: Callable[..., Any], tables: Mapping[str, str]) -> list[str]:
    names = inspect.signature(function).parameters
    return [*tables, *(name for name in ("paimon", "spark") if name in names)]


def _session(hook: PaimonHook) -> Any:
    from paimon_provider.launchers.connect import with_own_token
    from paimon_provider.launchers.environment import cloud_of, job_environment
    from table_core.spark import register  # the one place: the session lives in this process
    from table_core.spark.session.create import open_session

    settings, home = hook.warehouse.spark, hook.warehouse
    if settings.backend == "connect":
        with with_own_token(settings.conf) as conf:
            session = open_session(conf, settings.master)
    else:
        # SQL and Python functions run in processes that Spark starts: they get what a job gets.
        session = open_session(
            {"spark.master": settings.master, **settings.conf},
            environment=job_environment(settings.env, cloud_of(home.uri, home.job_options())),
        )
    register(session)
    return session


def paimon_task(
    python_callable: Callable[..., Any] | None = None,
    multiple_outputs: bool | None = None,
    **kwargs: Any,
) -> Any:
    """What ``@task.paimon`` is."""
    if kwargs.get("writes") and "outlets" not in kwargs:  # a mapped task shows those it was given
        conn_id = kwargs.get("paimon_conn_id", "paimon_default")
        kwargs["outlets"] = _OfWrites(_assets(kwargs["writes"], conn_id, kwargs.get("catalog")))
    kwargs.setdefault("retry_policy", TABLE_RETRIES)
    return task_decorator_factory(
        python_callable=python_callable,
        multiple_outputs=multiple_outputs,
        decorated_operator_class=PaimonDecoratedOperator,
        **kwargs,
    )
