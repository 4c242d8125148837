"""What all sensors on a table share: look, or wait in the triggerer."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar

from paimon_provider._compat import (
    AirflowFailException,
    AirflowNotFoundException,
    AirflowSkipException,
    BaseSensorOperator,
    PokeReturnValue,
    StartTriggerArgs,
    conf,
)
from paimon_provider.arguments.checks import ChecksArguments, require_arguments, require_early
from paimon_provider.assets import require_named_so
from paimon_provider.failures import airflow_failures
from paimon_provider.waiting import wait_conditions
from table_core.errors import ErrorKind, TableError, error_from_document

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from paimon_provider._compat import Context

__all__ = ["PaimonSensor"]


class PaimonSensor(ChecksArguments, BaseSensorOperator):
    """Base of the sensors. A sensor waits for one condition of one table and returns what it found.

    It also waits if the table does not exist yet, or if the store does not answer. Each look that finds nothing
    says in the log what is there, e.g. how many of the rows, or that there is no such table.

    :param table: ``database.table``.  (templated)
    :param paimon_conn_id: the connection with the warehouse.
    :param missing: where there is no such table: ``wait``, or ``fail`` at once.
    :param deferrable: wait in the triggerer, without a worker slot.
    :param start_from_trigger: with ``deferrable``: start in the triggerer too, so that a worker is
        needed only at the end. Not for mapped tasks.
    """

    template_fields: Sequence[str] = ("table",)
    ui_color = "#e8f1fb"
    wait: ClassVar[type[wait_conditions.Wait]]
    trigger: ClassVar[str]
    """The class of ``paimon_provider.triggers.wait`` that waits for the same."""

    def __init__(
        self,
        *,
        table: str,
        paimon_conn_id: str = "paimon_default",
        missing: str = "wait",
        deferrable: bool = conf.getboolean("operators", "default_deferrable", fallback=False),
        start_from_trigger: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.table = table
        self.paimon_conn_id = paimon_conn_id
        self.missing = missing
        self.deferrable = deferrable
        require_early(self, start_from_trigger=start_from_trigger)
        self.start_from_trigger = deferrable and start_from_trigger
        self._has_looked = False

    def begin_in_triggerer(self) -> None:
        """Fix the trigger's arguments; a sensor calls this when all its fields are set."""
        if self.start_from_trigger:
            self.start_trigger_args = StartTriggerArgs(
                trigger_cls=f"paimon_provider.triggers.wait.{self.trigger}",
                trigger_kwargs=self._trigger_arguments(),
                next_method="execute_complete",
                next_kwargs=None,
                timeout=timedelta(seconds=self.timeout),
            )

    def poke(self, context: Context) -> PokeReturnValue:
        """Look once.  A connection that is away is waited for, if an earlier look has found it."""
        try:
            answer = self._look(context)
        except AirflowNotFoundException as error:  # a backend of secrets may be away
            if not (self._has_looked or context.get("task_reschedule_count")):
                raise
            self.log.warning(
                "Nobody tells where %s leads, still waiting: %s", self.paimon_conn_id, error
            )
            return PokeReturnValue(False)
        self._has_looked = True
        return answer

    def _look(self, context: Context) -> PokeReturnValue:
        from paimon_provider.hooks.paimon import PaimonHook

        with airflow_failures():
            require_arguments(self)
            self._require_named_so()
            self._recall(context)
            wait, hook = self.wait(**self._condition()), PaimonHook(self.paimon_conn_id)
            try:
                document = wait.look(hook)
                if document is None:
                    place = wait_conditions.say_not_yet(wait, hook, self.missing, self.log)
                    self._remember(context, place)
            except TableError as error:
                if error.kind is not ErrorKind.UNAVAILABLE:
                    raise
                self.log.warning("Storage unavailable, still waiting: %s", error)
                return PokeReturnValue(False)
        return PokeReturnValue(document is not None, document)

    def _recall(self, context: Context) -> None:
        """Take what an earlier look of this task run has noted; one that is rescheduled is made anew each time."""

    def _remember(self, context: Context, place: Mapping[str, Any] | None) -> None:
        """Note ``place`` for later looks."""

    def execute(self, context: Context) -> Any:
        """Look; wait in the triggerer when it is not so yet and that is wanted."""
        if not self.deferrable:
            return super().execute(context)
        first = self._first_look(context)
        if not first.is_done:
            from paimon_provider.triggers import wait

            self.defer(
                trigger=getattr(wait, self.trigger)(**self._trigger_arguments()),
                method_name="execute_complete",
                timeout=timedelta(seconds=self.timeout),
            )
        return first.xcom_value

    def _first_look(self, context: Context) -> PokeReturnValue:
        """Look before waiting: a failure is what Airflow makes of it where a sensor waits in the worker."""
        try:
            return self.poke(context)
        except AirflowFailException as error:
            if self.soft_fail or self.never_fail:
                raise AirflowSkipException(f"soft_fail or never_fail is set: {error}") from error
            raise
        except AirflowSkipException:
            raise
        except Exception as error:
            if self.silent_fail:
                self.log.exception("Still waiting, for silent_fail is set")
                return PokeReturnValue(False)
            if self.never_fail:
                raise AirflowSkipException(f"never_fail is set: {error}") from error
            raise

    def execute_complete(self, context: Context, event: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """Take the trigger's answer."""
        with airflow_failures():
            self._require_named_so()
        if event.get("status") == "found":
            return dict(event["found"])
        with airflow_failures():
            raise error_from_document(event["error"])

    def _require_named_so(self) -> None:
        """Refuse to announce the table under the name of another catalog than the connection's."""
        from paimon_provider.hooks.paimon import PaimonHook

        uris = [str(getattr(outlet, "uri", "")) for outlet in self.outlets]
        if uris:
            warehouse = PaimonHook(self.paimon_conn_id).warehouse
            require_named_so(uris, self.table, catalog=warehouse.catalog_name)

    def _condition(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in wait_conditions.field_names(self.wait)}

    def _trigger_arguments(self) -> dict[str, Any]:
        return {
            "paimon_conn_id": self.paimon_conn_id,
            "poll_seconds": self.poke_interval,
            "missing": self.missing,
            **self._condition(),
        }
