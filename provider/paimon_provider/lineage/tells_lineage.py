"""What an operator tells of the rows that it reads and writes: to OpenLineage, and in its result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from paimon_provider.hooks.paimon import PaimonHook
    from paimon_provider.lineage.columns import Derivation
    from paimon_provider.runs.identity import RunIdentity

__all__ = ["TellsLineage"]


class TellsLineage:
    """Base of operators on one table, ``table``."""

    if TYPE_CHECKING:
        table: str
        log: Any
        _result: Mapping[str, Any] | None

        def _hook_of(self, identity: RunIdentity | None) -> PaimonHook: ...

    def tables_read(self) -> list[str]:
        """The tables whose rows the task reads, for lineage."""
        derivation = self.derivation()
        return [] if derivation is None else list(dict.fromkeys(derivation.views.values()))

    def files_read(self) -> list[str]:
        """Where the files are whose rows the task reads, for lineage: URIs, or globs of them."""
        return []

    def tables_written(self) -> list[str]:
        """The tables that the task changes, for lineage."""
        return [self.table]

    def derivation(self) -> Derivation | None:
        """How the rows are made that the task writes, for lineage; None if it makes none."""
        return None

    def get_openlineage_facets_on_complete(self, task_instance: Any) -> Any:  # noqa: ARG002
        """Inputs and outputs with their schemas; OpenLineage calls this where it is installed."""
        from paimon_provider.lineage.openlineage import operator_lineage

        return operator_lineage(
            self._hook_of(None),
            self.tables_read(),
            self.tables_written(),
            files=self.files_read(),
            derivation=self.derivation(),
            result=self._result,
        )

    def with_origins(self, result: dict[str, Any]) -> dict[str, Any]:
        """The result, with the columns that those of the table were made of, as far as the SQL tells.

        The rows are committed by now, so that what cannot be told here fails nothing.
        """
        derivation = self.derivation()
        if derivation is None or not derivation.views or result.get("dry_run"):
            return result
        try:
            told = self._origins(derivation)
        except Exception as error:  # noqa: BLE001 - a parser's fault must not fail a task that has committed
            self.log.warning("Where the columns of %s come from is not told: %r", self.table, error)
            return result
        return {**result, "details": {**(result.get("details") or {}), **told}}

    def _origins(self, derivation: Derivation) -> dict[str, Any]:
        from paimon_provider.lineage.columns import origins_document

        hook = self._hook_of(None)
        catalog = hook.catalog()
        columns = {
            view: catalog.table(table).arrow_schema.names
            for view, table in derivation.views.items()
        }
        own = catalog.table(self.table).arrow_schema.names
        return origins_document(derivation, columns, own, catalog=hook.warehouse.catalog_name)
