"""What all operators on a table share: connection, engine, identity, events."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final

from paimon_provider._compat import (
    DEFERRABLE_JOBS,
    BaseOperator,
    TaskDeferralError,
    TaskDeferralTimeout,
    is_left_out,
    is_mapped,
    refuse_deferrable_jobs,
    retry_arguments,
    stats,
)
from paimon_provider.approval import require_approved
from paimon_provider.arguments.checks import (
    ChecksArguments,
    require_arguments,
    require_early,
    with_shapes,
)
from paimon_provider.arguments.job_values import attribute_of, job_arguments
from paimon_provider.arguments.spark_conf import literal_conf, rendered_conf
from paimon_provider.arguments.table_identity import TableIdentity, is_template, require_named_so
from paimon_provider.assets import table_asset
from paimon_provider.failures import TABLE_RETRIES, airflow_failures
from paimon_provider.lineage.tells_lineage import TellsLineage
from paimon_provider.links import SparkUILink, TableLink, show_link, show_table, web_address
from paimon_provider.runs.auto_engine import engine_now, told_what_auto_saves
from paimon_provider.runs.cluster_jobs import ClusterJobs, remaining_time
from paimon_provider.runs.identity import run_identity
from paimon_provider.runs.landed import landed_ms, landed_ms_in
from paimon_provider.runs.mapped_tables import as_given, over_tables, own_of
from paimon_provider.runs.worker_attempts import WorkerAttempts
from paimon_provider.watching.commit_events import (
    event_of_commits,
    note_delivers,
    own_commits,
    with_earlier,
)
from paimon_provider.watching.events import bounded_result
from table_core.shapes import kinds
from table_core.shapes.texts import FILE_NAME

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager

    from paimon_provider._compat import Context, RetryPolicy
    from paimon_provider.hooks.paimon import PaimonHook
    from paimon_provider.runs.identity import RunIdentity

__all__ = ["EVENTS", "PaimonDatabaseOperator", "PaimonTableOperator"]

_CONNECTION: Final = "paimon_default"
EVENTS: Final = kinds.EVENTS.one_of
OWN_ASSET: Final = "the table's asset"
"""Default of ``outlets``; no list, to tell it from one that was given."""


class PaimonTableOperator(TellsLineage, ChecksArguments, BaseOperator):
    """Base of the operators that act on one table.

    Retries are safe. The commit user names the task run, not the attempt, so a second attempt finds
    the snapshot of the first and returns it. Clearing the task starts a new run, which does the
    work again. Returns the result document: the snapshot, and file and byte counts before and
    after.

    :param table: ``database.table``.  (templated)
    :param paimon_conn_id: the connection with the warehouse and the Spark settings.
    :param engine: ``spark``, ``local`` for Arrow inside the worker, without a JVM, or ``auto``: in
        the worker if the metadata says that the job is small, else on Spark. Without it, the extra
        ``engine`` of the connection decides, else Airflow's setting ``[paimon] engine``, else it is
        ``spark``.
    :param auto_limits: what is small for ``engine="auto"``, e.g. ``{"bytes": "256 mb", "rows":
        5_000_000}``, instead of what the connection says.
    :param spark_conf: Spark configuration for this task, merged over that of the connection. A
        setting that selects code, a location or an identity may not come from a template.
        (templated)
    :param catalog: the connection's ``catalog_name``, if it has one. It is part of the asset's
        name.
    :param events: which commits of the task emit an event of the table's asset. ``changes``: those
        that give rows to a reader of changes. ``any``: all. ``none``: none, e.g. because a watcher
        on the asset emits the events.
    :param deferrable: wait in the triggerer, without a worker slot, while the driver runs on the
        cluster. Needs a connection with backend ``standalone``.
    :param outlets: default is the table's asset; ``[]`` for none.  A templated table has none.
    """

    template_fields: Sequence[str] = ("table", "spark_conf")
    template_fields_renderers: ClassVar[dict[str, str]] = {"spark_conf": "json"}
    operator_extra_links = (SparkUILink(), TableLink())
    ui_color = "#e8f1fb"
    action: ClassVar[str]
    """The verb of the job."""
    announces: ClassVar[bool] = True
    """Whether the table's asset is an outlet by default."""
    rendered_too: ClassVar[Mapping[str, str]] = {}
    """Template fields beside those of the action, each with its renderer, '' for text."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Give an operator that names its action the template fields that the action says."""
        super().__init_subclass__(**kwargs)
        if "action" not in vars(cls) or "template_fields" in vars(cls):
            return
        from paimon_provider.arguments.of_action import renderers_of, templated_of

        fields = (*cls.template_fields, *templated_of(cls.action), *cls.rendered_too)
        cls.template_fields = tuple(dict.fromkeys(fields))
        renderers = {**renderers_of(cls.action), **cls.rendered_too}
        cls.template_fields_renderers = {
            **cls.template_fields_renderers,
            **{name: renderer for name, renderer in renderers.items() if renderer},
        }

    def __init__(  # noqa: PLR0913 - what users may set
        self,
        *,
        table: str,
        paimon_conn_id: str = _CONNECTION,
        engine: str | None = None,
        auto_limits: Mapping[str, Any] | None = None,
        spark_conf: Mapping[str, str] | None = None,
        catalog: str | None = None,
        events: str = "changes",
        deferrable: bool = DEFERRABLE_JOBS,
        outlets: Any = OWN_ASSET,
        retry_policy: RetryPolicy | None = TABLE_RETRIES,
        **kwargs: Any,
    ) -> None:
        require_early(self, table=table, paimon_conn_id=paimon_conn_id, catalog=catalog)
        refuse_deferrable_jobs(deferrable)
        if outlets is OWN_ASSET:
            outlets = self._default_outlets(table, paimon_conn_id, catalog)
        require_early(self, outlets=outlets)
        super().__init__(outlets=outlets, **kwargs, **retry_arguments(retry_policy, TABLE_RETRIES))
        self.outlets = as_given(self.outlets, outlets)
        self.table = table
        self.paimon_conn_id = paimon_conn_id
        self.engine = engine
        self.auto_limits = auto_limits
        self.spark_conf = spark_conf
        self._literal_conf = literal_conf(spark_conf, mapped=is_mapped(self))
        self.catalog = catalog
        self.events = events
        self.deferrable = deferrable
        self._jobs: ClusterJobs | None = None
        self._result: Mapping[str, Any] | None = None

    @classmethod
    def partial(cls, **kwargs: Any) -> Any:
        """What Airflow's does, with our defaults: a mapped task announces its table too."""
        mapped: Any = super().partial(**kwargs)
        if not is_left_out(mapped.kwargs.get("outlets"), "outlets", OWN_ASSET):
            return mapped
        return over_tables(mapped, "outlets", _CONNECTION, cls._default_outlets)

    @classmethod
    def _default_outlets(cls, table: str, conn_id: str, catalog: str | None) -> list[Any]:
        if not cls.announces or is_template(table):
            return []
        return [table_asset(table, paimon_conn_id=conn_id, catalog=catalog)]

    @cached_property
    def hook(self) -> PaimonHook:
        """The warehouse, without an identity: for reading."""
        return self._hook_of(None)

    def task_conf(self) -> dict[str, str]:
        """``spark_conf`` as it was rendered, checked.

        Raises:
            ArgumentError: a name or value is none, or a setting that chooses code was templated.
        """
        return rendered_conf(self.spark_conf, self._literal_conf)

    def _take_arguments(self, signature: Mapping[str, Any]) -> None:
        """Set the attributes of the arguments that the parameters of ``action`` name.

        An operator calls it in its ``__init__`` with ``locals()``: what the signature has, and the action too.
        """
        from paimon_provider.arguments.of_action import arguments_of

        for name in arguments_of(self.action):
            if name in signature:
                setattr(self, attribute_of(name), signature[name])

    def arguments(self) -> dict[str, Any]:
        """What the job gets: what the parameters of ``action`` name, JSON-safe; templates are rendered by now."""
        from table_core.jobs.registry import action_of

        return job_arguments(action_of(self.action), self)

    def execute(self, context: Context) -> dict[str, Any]:
        """Do it and return the result document."""
        with airflow_failures():
            require_arguments(self)
            require_approved(self, context)
            identity = run_identity(context, landed_ms=self._landed_ms)
            self.hook, user = self._hook_of(identity), identity.user
            self._require_announced_table()
            self.outlets = own_of(self.outlets, self._asset_uri())
            show_table(context, self, self._asset_uri())
            self.hook.on_progress = lambda facts: show_link(context, self, facts)
            args = self.arguments()
            with self.engine_now(context, user, self.action, args) as engine:
                result = self._done_by(engine, context, user, self.action, args)
            result = self.with_origins(result)
            self._announce(context, result, user)
        return self.finished(context, result)

    def execute_complete(self, context: Context, event: Mapping[str, Any]) -> dict[str, Any]:
        """Take the result of the job that the trigger has seen ending."""
        with airflow_failures():
            identity = run_identity(context, resumed=True, landed_ms=self._landed_ms)
            self.hook, user = self._hook_of(identity), identity.user
            self.outlets = own_of(self.outlets, self._asset_uri())
            jobs = ClusterJobs(self.hook.cluster(self.task_conf()), context, user)
            show_table(context, self, self._asset_uri())
            self.spark_ui = web_address(
                event.get("ui")
            )  # Airflow stores buttons anew when the task ends
            self.hook.hide(self.arguments())
            with self.hook.no_secret_told():
                result = jobs.result(event)
            result = self.with_origins(result)
            self._announce(context, result, user)
        return self.finished(context, result)

    def finished(self, context: Context, result: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """Make of the result what the task returns, wherever its job was waited for."""
        self._tell(result)
        return result

    def engine_now(
        self,
        context: Context,
        user: str,
        action: str,
        args: Mapping[str, Any],
        *,
        part: str | None = None,
    ) -> AbstractContextManager[str]:
        """The engine of this attempt; ``part`` names one of several jobs of the task."""

        def submitted() -> bool:
            return (
                self._outlives_attempts and self._cluster_jobs(context, user, part).has_submitted()
            )

        return engine_now(
            self.engine or self.hook.warehouse.default_engine,
            lambda: self.hook.engine_for(action, self.table, args, self.auto_limits),
            WorkerAttempts(context, user),
            submitted=submitted,
            log=self.log.info,
        )

    @property
    def _outlives_attempts(self) -> bool:
        """Whether jobs on Spark outlive the attempt that submits them."""
        return self.hook.warehouse.spark.backend == "standalone"

    def _cluster_jobs(self, context: Context, user: str, part: str | None = None) -> ClusterJobs:
        return ClusterJobs(self.hook.cluster(self.task_conf()), context, user, action=part)

    def _done_by(
        self, engine: str, context: Context, user: str, action: str, args: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Run the job, wherever that is, and wait for its result."""
        if engine == "spark" and self._outlives_attempts:
            return self._on_cluster(context, user, args)
        if self.deferrable and engine == "spark":
            self.log.info("Waiting here: only a job of backend 'standalone' can be deferred")
        return self.run_here(engine, action, args)

    def run_here(self, engine: str, action: str, args: Mapping[str, Any]) -> dict[str, Any]:
        """Run the job in the worker, or in Spark's process beside it, and say what the other would have saved."""
        conf = self.task_conf()
        if engine != "spark":
            return self.hook.run_job(action, self.table, args, engine=engine, spark_conf=conf)
        with told_what_auto_saves(
            lambda: self.hook.engine_for(action, self.table, args, self.auto_limits), self.log.info
        ) as seconds_of:
            result = self.hook.run_job(action, self.table, args, engine=engine, spark_conf=conf)
            seconds_of(result)
        return result

    def _on_cluster(self, context: Context, user: str, args: Mapping[str, Any]) -> dict[str, Any]:
        """Submit, or find what an earlier attempt submitted; wait here or in the triggerer."""
        self._jobs = jobs = self._cluster_jobs(context, user)  # on_kill may come from now on
        spec = self.hook.job_spec(self.action, self.table, args)
        with self.hook.no_secret_told():
            submission = jobs.submitted_or(spec)
            self.log.info("The job is %s on %s", submission.id, self.hook.warehouse.spark.master)
            if not self.deferrable:
                return jobs.wait(submission, self.hook.told)
        from paimon_provider.triggers.spark_job import PaimonSparkJobTrigger

        trigger = PaimonSparkJobTrigger(
            paimon_conn_id=self.paimon_conn_id, submission=submission.to_document()
        )
        self.defer(
            trigger=trigger,
            method_name="execute_complete",
            timeout=remaining_time(self.execution_timeout, context),
        )
        raise AssertionError("defer never returns")

    def resume_execution(
        self, next_method: str, next_kwargs: dict[str, Any] | None, context: Context
    ) -> Any:
        """Go on after the triggerer.  If it gave up, because of ``execution_timeout`` for one, the job is ended first."""
        try:
            return super().resume_execution(next_method, next_kwargs, context)
        except (TaskDeferralError, TaskDeferralTimeout):
            with airflow_failures():
                identity = run_identity(context, resumed=True, landed_ms=self._landed_ms)
                self.hook = self._hook_of(identity)
                ClusterJobs(self.hook.cluster(self.task_conf()), context, identity.user).give_up()
            raise

    def _tell(self, result: Mapping[str, Any]) -> None:
        """Put the result into the log and Airflow's metrics."""
        self._result = result
        from table_core.jobs.last_line import done_facts

        facts = done_facts(self.action, self.table, result)
        told = [f"{k} {v}" for k, v in facts.items() if v and k not in {"action", "table"}]
        self.log.info("%s %s: %s", self.action, self.table, ", ".join(told) or "nothing changed")
        tags = {"action": self.action, "table": self.table}
        for name in ("rows_written", "files_deleted", "bytes_deleted"):
            if result.get(name):
                stats.incr(f"paimon.{name}", int(result[name]), tags=tags)
        stats.timing("paimon.seconds", float(result.get("seconds") or 0) * 1000, tags=tags)

    def on_kill(self) -> None:
        """End the job and every process of it.  Its files are orphans until the next sweep."""
        if self._jobs is not None:
            self._jobs.end()
        self.hook.cancel()

    def _landed_ms(self, user: str) -> list[int]:
        """When ``user`` has committed to the table."""
        return landed_ms(self.hook.catalog(), [self.table], user)

    def _hook_of(self, identity: RunIdentity | None) -> PaimonHook:
        from paimon_provider.hooks.paimon import PaimonHook

        return PaimonHook(self.paimon_conn_id, identity=identity)

    def _require_announced_table(self) -> None:
        """Refuse to announce the table under the name of another catalog.

        Raises:
            ArgumentError: an outlet is named otherwise than the connection's ``catalog_name`` says.
        """
        uris = [str(getattr(outlet, "uri", "")) for outlet in self.outlets]
        require_named_so(uris, self.table, catalog=self.hook.warehouse.catalog_name)

    def _asset_uri(self) -> str:
        return TableIdentity.of(self.table, catalog=self.hook.warehouse.catalog_name).uri

    def _announce(self, context: Context, result: Mapping[str, Any], user: str) -> None:
        """Describe our commits in the outlet's event, or take the event back."""
        asset = self._own_outlet()
        if asset is None:
            return
        notes = self._own_commits(context, result, user)
        if self.events == "changes":
            notes = [note for note in notes if note_delivers(note)]
        if not notes or self.events == "none":
            self._keep_silent(asset)
            return
        context["outlet_events"][asset].extra = {
            **event_of_commits(self.table, notes),
            "result": bounded_result(result),
        }

    def _own_commits(
        self, context: Context, result: Mapping[str, Any], user: str
    ) -> list[Mapping[str, Any]]:
        """What this task run has committed, in whichever attempt.

        The result says it, for the table may know it no more.  The table is asked for what an
        earlier attempt has done and this one had not to do.
        """
        if result.get("dry_run") or self.events == "none":
            return []
        notes = own_commits(result, self.table)
        if context["ti"].try_number > 1:
            notes = with_earlier(notes, self.hook.commits_of(self.table, user))
        return notes

    def _own_outlet(self) -> Any:
        """The outlet that stands for the table; None if there is none."""
        uri = self._asset_uri()
        return next((o for o in self.outlets if getattr(o, "uri", None) == uri), None)

    def _keep_silent(self, asset: Any) -> None:
        """Take the event of ``asset`` back."""
        self.outlets = [outlet for outlet in self.outlets if outlet is not asset]


class PaimonDatabaseOperator(PaimonTableOperator):
    """Base of the operators that do one thing to the tables of a database; they announce nothing.

    :param database: the database.  (templated)
    """

    shapes = with_shapes(table=FILE_NAME)
    called: ClassVar[Mapping[str, str]] = {**PaimonTableOperator.called, "table": "database"}
    template_fields: Sequence[str] = ("database", "spark_conf")
    set_when_rendered: ClassVar[Sequence[str]] = ("table",)
    announces = False

    def __init__(self, *, database: str, **kwargs: Any) -> None:
        require_early(self, database=database)
        super().__init__(table=database, **{"events": "none", **kwargs})
        self.database = database

    def execute(self, context: Context) -> dict[str, Any]:
        """Do it and return the result document."""
        self.table = self.database  # rendered by now
        return super().execute(context)

    def execute_complete(self, context: Context, event: Mapping[str, Any]) -> dict[str, Any]:
        """Take the result of the job that the trigger has seen ending."""
        self.table = self.database
        return super().execute_complete(context, event)

    def tables_written(self) -> list[str]:
        """Those that the result names."""
        details = (self._result or {}).get("details") or {}
        return [f"{self.table}.{name}" for name in details.get("tables") or ()]

    def _landed_ms(self, user: str) -> list[int]:
        """When ``user`` has committed to one of the tables."""
        return landed_ms_in(self.hook.catalog(), self.table, user)

    def _require_announced_table(self) -> None:
        """They announce nothing of their own."""

    def _asset_uri(self) -> str:
        return f"{self.hook.warehouse.catalog_name}/{self.database}"
