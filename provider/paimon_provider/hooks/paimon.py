"""The connection to a warehouse: opens tables, runs jobs."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from paimon_provider._compat import AirflowNotFoundException, mask_secret
from paimon_provider.connections.warehouse import EXTRAS, Warehouse, looking_secret
from paimon_provider.hooks.sql import SqlHook
from paimon_provider.launchers.job_log import ProgressLine, Redaction, log_text, progress_of
from paimon_provider.runs.auto_engine import decided
from paimon_provider.runs.identity import HANDLES, is_commit_of
from paimon_provider.watching.conditions import Seen, SnapshotFacts, UnseenSnapshots
from paimon_provider.watching.seen import reaches
from table_core.errors import ArgumentError, ErrorKind, NotFoundError, TableError
from table_core.jobs.engine_choice import AUTO, AutoLimits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from paimon_provider._compat import Connection
    from paimon_provider.launchers.base import Launcher
    from paimon_provider.launchers.standalone import StandaloneLauncher
    from paimon_provider.runs.identity import RunIdentity
    from paimon_provider.watching.conditions import NewSnapshots
    from table_core.jobs.engine_choice import EngineChoice
    from table_core.jobs.job_spec import JobSpec

__all__ = ["PaimonHook"]

_OF_SQL_HOOKS: Final = ("schema", "log_sql", "connection")
_SHOWN: Final = 10
_MANY: Final = 2**31


class PaimonHook(SqlHook):
    """Opens the tables of a Paimon warehouse, runs work on them, and SQL.

    :param paimon_conn_id: a connection of type ``paimon``.
    :param identity: the task run that commits; None commits under a random name.
    :param kwargs: ``schema`` and ``log_sql`` of Airflow's SQL hooks. Its SQL operators also pass the extras of the
        connection, which may not differ from what the connection says.
    """

    conn_name_attr = "paimon_conn_id"
    default_conn_name = "paimon_default"
    conn_type = "paimon"
    hook_name = "Apache Paimon"

    def __init__(
        self,
        paimon_conn_id: str = default_conn_name,
        *,
        identity: RunIdentity | None = None,
        **kwargs: Any,
    ) -> None:
        unknown = kwargs.keys() - {*EXTRAS, *_OF_SQL_HOOKS}
        if unknown:
            raise ArgumentError(
                f"PaimonHook has no {', '.join(sorted(unknown))}", argument=min(unknown)
            )
        super().__init__(paimon_conn_id=paimon_conn_id, **kwargs)
        self.paimon_conn_id = paimon_conn_id
        self._said = {name: value for name, value in kwargs.items() if name in EXTRAS}
        self.identity = identity
        self.on_progress: Callable[[Mapping[str, Any]], None] | None = None
        """Is told what a job says of itself while it runs: stage, and facts such as ``ui``."""
        self._catalog: Any = None
        self._by_handle: RunIdentity | None = None
        self._watched: dict[str, Any] = {}
        self._launcher: Launcher | None = None
        self._in_arguments: tuple[str, ...] = ()

    @cached_property
    def warehouse(self) -> Warehouse:
        """The settings of the connection.

        Raises:
            ArgumentError: the connection is incomplete or has unknown settings.
        """
        connection = self.get_connection(self.paimon_conn_id)
        for name, value in self._said.items():
            if connection.extra_dejson.get(name) != value:
                raise ArgumentError(
                    f"{name} of a hook differs from what connection {self.paimon_conn_id!r} says: say it there",
                    argument=name,
                )
        warehouse = Warehouse.of(connection, self._referred)
        for secret in warehouse.secrets:
            mask_secret(secret)
        return warehouse

    def _referred(self, conn_id: str) -> Connection:
        try:
            referred: Connection = self.get_connection(conn_id)
            return referred
        except AirflowNotFoundException as error:
            raise ArgumentError(
                f"connection {self.paimon_conn_id!r} refers to {conn_id!r}, which is not there",
                argument="conn",
                value=conn_id,
            ) from error

    def catalog(self) -> Any:
        """The ``table_core.Catalog`` of the warehouse, opened once."""
        if self._catalog is None:
            from table_core.table.api.opening import open_catalog  # Arrow stays out of Dag parsing

            self._catalog = open_catalog(
                self.warehouse.uri, storage_options=dict(self.warehouse.storage_options)
            )
        return self._catalog

    def table(self, table: str) -> Any:
        """The ``table_core.Table`` called ``database.table``; Airflow's lineage records its use.

        In a task run with an identity, its verbs commit as that run unless they name a commit. So a
        retry that calls them in the same order finds what has landed.
        """
        from paimon_provider.hooks.table import LineageTable

        access = self.catalog().table(table).access
        who = None if self.identity is None else self._commit_by_handle
        return LineageTable(access, self.warehouse.catalog_name, who)

    def test_connection(self) -> tuple[bool, str]:  # type: ignore[override]  # Airflow's stub says None
        """Whether the warehouse can be listed, and a message for the user."""
        secrets = Redaction(())
        try:
            secrets = Redaction(self.warehouse.secrets)
            databases = self.catalog().databases()
        except TableError as error:
            return False, secrets.text(f"[{error.kind}] {error}")
        listing = ", ".join(databases[:_SHOWN]) or "no database yet"
        more = f" and {len(databases) - _SHOWN} more" if len(databases) > _SHOWN else ""
        return True, f"{self.warehouse.place}: {listing}{more}{self._untried(bool(databases))}"

    def _untried(self, has_databases: bool) -> str:
        """What "Test" cannot tell from a place that is right, and what it has not looked at."""
        spark, told = self.warehouse.spark, ""
        if not has_databases and not self.warehouse.is_served:
            told = ", as in any place that is mistyped: the first table makes it"
        if spark.backend != "local":
            told += f"; the store alone was tried, and not Spark at {spark.master}"
        return told

    def _commit_by_handle(self) -> Any:
        """Who commits by a handle: numbered apart from what ``commit_as`` gives."""
        if self._by_handle is None:
            assert self.identity is not None
            self._by_handle = self.identity.apart(HANDLES)
        return self._by_handle.next_commit()

    def commit_as(self, **more: Any) -> Any:
        """A ``table_core.CommitAs`` for the next verb of this task run."""
        from table_core.table.metadata.results import CommitAs

        if self.identity is None:
            return CommitAs(**more)
        return self.identity.next_commit(**more)

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Run a verb, as ``run_job``, or SQL, as ``run`` of Airflow's SQL hooks (``run_sql``).

        ``run("compact", "shop.orders", {})`` is a verb: it names a table. ``run("DELETE FROM shop.orders")`` is SQL:
        nothing behind it is a table. Both take their arguments by position or by name.

        Raises:
            TableError: of a verb, as ``run_job``.
            table_core.dbapi.Error: of SQL, as ``run_sql``.
        """
        names_table = len(args) > 1 and isinstance(args[1], str)
        if names_table or kwargs.keys() & {"action", "table", "args"}:
            return self.run_job(*args, **kwargs)
        return self.run_sql(*args, **kwargs)

    def run_job(
        self,
        action: str,
        table: str,
        args: Mapping[str, Any],
        *,
        engine: str | None = None,
        spark_conf: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """Run one verb as a job and return its result document.

        Without ``engine`` the one that the connection or Airflow's settings say.

        Raises:
            TableError: what the job reported, or ``JobFailedError`` if it died.
        """
        from paimon_provider.launchers.base import launcher_for

        engine = engine or self.warehouse.default_engine
        if engine == AUTO:
            choice = self.engine_for(action, table, args)
            self.log.info("engine auto: %s, for %s", choice.engine, choice.reason)
            engine = choice.engine
        spec = self.job_spec(action, table, args)
        self._launcher = launcher_for(engine, self.warehouse.spark.with_conf(spark_conf or {}))
        try:
            with self.no_secret_told():
                return self._launcher.run(spec, log=self.told)
        finally:
            self._launcher = None

    @contextmanager
    def no_secret_told(self) -> Iterator[None]:
        """Whatever table error comes out has no secret of the connection in it."""
        try:
            yield
        except TableError as error:
            told = self._redaction().error(error)
            if told is error:
                raise
            raise told from None  # the chain would show what was taken out

    def job_spec(self, action: str, table: str, args: Mapping[str, Any]) -> JobSpec:
        """The spec of the next verb of this task run."""
        spec = self._spec(action, table, args)
        if self.identity is None:
            return spec
        return replace(
            spec,
            commit_user=self.identity.user,
            commit_identifier=self.identity.next_identifier(),
            commit_since_ms=self.identity.since_ms,
        )

    def engine_for(
        self,
        action: str,
        table: str,
        args: Mapping[str, Any],
        limits: Mapping[str, Any] | None = None,
    ) -> EngineChoice:
        """Where a verb runs with ``engine="auto"``, as the metadata and this worker are now, and why.

        ``limits`` (``bytes``, ``rows``) win over those of the connection.

        Raises:
            TableError: of kind ``unavailable``: the metadata cannot be read now.
        """
        known = AutoLimits.of(self.warehouse.auto_limits, limits or {})
        with self.no_secret_told():
            return decided(self._spec(action, table, args), known)

    def _spec(self, action: str, table: str, args: Mapping[str, Any]) -> JobSpec:
        from table_core.jobs.job_spec import JobSpec

        self.hide(args)
        options = self.warehouse.job_options()
        return JobSpec(
            action=action,
            warehouse=self.warehouse.uri,
            table=table,
            args=dict(args),
            options=options,
        )

    def cluster(self, spark_conf: Mapping[str, str] | None = None) -> StandaloneLauncher:
        """The cluster that takes jobs by REST, where the connection names one."""
        from paimon_provider.launchers.standalone import StandaloneLauncher

        return StandaloneLauncher(self.warehouse.spark.with_conf(spark_conf or {}))

    def hide(self, args: Mapping[str, Any]) -> None:
        """Let no secret of ``args``, of a job that was begun before, be told from now on."""
        self._in_arguments = tuple(looking_secret(args))

    def _redaction(self) -> Redaction:
        """Without the secrets of the connection, and of the job that was asked for last."""
        return Redaction((*self.warehouse.secrets, *self._in_arguments))

    def told(self, line: str) -> None:
        """Put a line of a job into the task's log: without secrets, progress as a sentence."""
        text = self._redaction().text(line)
        progress = progress_of(text) if isinstance(line, ProgressLine) else None
        self.log.info("%s", log_text(text if progress is None else progress))
        if self.on_progress is not None and progress is not None:
            self.on_progress(json.loads(text))

    def cancel(self) -> None:
        """End the running job, if any."""
        if self._launcher is not None:
            self._launcher.kill()

    def head(self, table: str) -> SnapshotFacts | None:
        """The newest snapshot; None while there is no such table, or nothing in it."""
        try:
            handle = self.table(table)
            snapshot = handle.latest_snapshot()
        except NotFoundError:
            return None
        return None if snapshot is None else _facts(handle, snapshot)

    def snapshots(self, table: str) -> tuple[list[SnapshotFacts], str]:
        """All snapshots, oldest first, and the table's changelog producer."""
        handle = self.table(table)
        facts = [_facts(handle, snapshot) for snapshot in handle.snapshots()]
        return sorted(facts, key=lambda s: s.id), _producer(handle)

    def unseen_snapshots(self, table: str, since: Seen | None) -> UnseenSnapshots:
        """The newest snapshots, back to ``since``; without it the head alone.

        Where ``since`` is not there any more, after a rollback or in a new table of that name, back
        to what it remembers from before.  No table and no snapshot are no news.  While nothing is
        new, asking again costs a look at the head and no more; the birth of the table is looked at
        when there is no ``since`` yet, and when it is not found.
        """
        try:
            handle = self._watched.get(table) or self.table(table)
            head = handle.latest_snapshot()
            if head is not None and (
                since is None or not SnapshotFacts.of(head).place.is_at(since.place)
            ):
                handle = self.table(table)  # its options may be others by now
            birth = handle.birth if since is None else ""
        except NotFoundError:
            self._watched.pop(table, None)
            return UnseenSnapshots(catalog=self.warehouse.catalog_name)
        self._watched[table] = handle
        facts, whole = [] if head is None else [_facts(handle, head)], False
        while facts and since is not None and not reaches(facts[-1], since, facts[0].id):
            try:
                facts.append(_facts(handle, handle.snapshot(facts[-1].id - 1)))
            except NotFoundError:
                whole = True
                break
        if facts and since is not None and since.place.id:
            there = any(one.place.is_at(since.place) for one in facts)
            birth = "" if there else _birth(handle)
        return UnseenSnapshots(
            snapshots=tuple(reversed(facts)),
            since=since,
            producer=_producer(handle),
            partitioned=bool(handle.partition_by),
            birth=birth,
            catalog=self.warehouse.catalog_name,
            whole=whole or bool(facts and facts[-1].id == 1),
        )

    def commits_of(self, table: str, user: str) -> list[dict[str, Any]]:
        """What ``user`` has committed to a table, as far as it is not expired: notes, oldest first."""
        handle, notes = self.table(table), []
        ids = [s.id for s in handle.snapshots() if is_commit_of(s.commit_user, user)]
        for id in sorted(ids):
            try:
                notes.append(handle.delivers(id).to_document())
            except NotFoundError:  # it has expired since
                continue
        return notes

    def completed(self, table: str, snapshots: Sequence[SnapshotFacts]) -> list[SnapshotFacts]:
        """``snapshots``, those of writers that do not say what they deliver read from manifests.

        One that is expired meanwhile stays as it is.
        """
        handle = self.table(table)
        facts = []
        for snapshot in snapshots:
            try:
                facts.append(
                    snapshot
                    if snapshot.is_known
                    else SnapshotFacts.told(handle.delivers(snapshot.id))
                )
            except NotFoundError:
                facts.append(snapshot)
        return facts

    def spelled(
        self, table: str, partitions: Sequence[Mapping[str, Any]]
    ) -> list[dict[str, str | None]]:
        """Partitions as users name them, in the one spelling that events have.

        Raises:
            ArgumentError: a name is no partition column, or a value does not fit its type.
        """
        handle = self.table(table)
        return [handle.partition_values(one) for one in partitions]

    def touched_partitions(
        self, table: str, snapshots: Sequence[SnapshotFacts], limit: int | None = 100
    ) -> list[dict[str, str | None]] | None:
        """The partitions that ``snapshots`` touched; None if they are many or no longer known."""
        try:
            touched: list[dict[str, str | None]] | None
            touched = self.table(table).touched_partitions(
                [s.id for s in snapshots], limit=_MANY if limit is None else limit
            )
            return touched
        except TableError as error:
            if error.kind is not ErrorKind.NOT_FOUND:
                raise
            return None

    def new_snapshots(
        self, table: str, condition: NewSnapshots
    ) -> tuple[list[SnapshotFacts], str] | None:
        """What satisfies ``condition``, and the changelog producer; None while nothing does.

        A table that does not exist yet is waited for.
        """
        head = self.head(table)
        if head is None or head.id <= condition.after:
            return None
        snapshots, producer = self.snapshots(table)
        if condition.on == "delete":
            snapshots = self.completed(table, [s for s in snapshots if s.id > condition.after])
        matches = condition.matching(snapshots, producer)
        return (matches, producer) if matches else None


def _facts(handle: Any, snapshot: Any) -> SnapshotFacts:
    """What is known of a snapshot, by its document alone."""
    from table_core.table.commit_io.deliveries import note_of

    return SnapshotFacts.told(note_of(handle.access, snapshot))


def _producer(handle: Any) -> str:
    return str(handle.options.get("changelog-producer", "none")).lower()


def _birth(handle: Any) -> str:
    """The birth of a table, which may be dropped at any moment."""
    try:
        return str(handle.birth)
    except NotFoundError:
        return ""
