"""Tables as OpenLineage names them: the warehouse's URI is the namespace, the table's path the name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from paimon_provider.hooks.datasets import dataset_place, place_of, tables_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from paimon_provider._compat import Asset
    from paimon_provider.hooks.paimon import PaimonHook
    from paimon_provider.lineage.columns import Derivation

__all__ = ["operator_lineage", "to_openlineage"]


def to_openlineage(asset: Asset, lineage_context: Any) -> Any:
    """The dataset of a ``paimon://`` asset; None where nobody can tell its warehouse.

    ``lineage_context`` is the handle, where a task used one: it knows its place.
    """
    from airflow.providers.common.compat.openlineage.facet import Dataset

    from paimon_provider.hooks.paimon import PaimonHook
    from table_core.errors import TableError

    if hasattr(lineage_context, "asset_parts"):
        namespace, name = dataset_place(lineage_context.uri)
        return Dataset(namespace=namespace, name=name)
    parts = urlsplit(asset.uri)
    table = ".".join(unquote(part) for part in parts.path.strip("/").split("/"))
    try:
        namespace, name = place_of(PaimonHook(parts.netloc), table)
    except (TableError, LookupError, RuntimeError) as error:
        _log().debug("No connection %s for %s: %s", parts.netloc, asset.uri, error)
        return None
    return Dataset(namespace=namespace, name=name)


def _files(uri: str) -> Any:
    """The dataset of files, by the place or the glob that the task was told."""
    from airflow.providers.common.compat.openlineage.facet import Dataset

    namespace, name = dataset_place(uri)
    return Dataset(namespace=namespace, name=name)


def operator_lineage(
    hook: PaimonHook,
    reads: Sequence[str],
    writes: Sequence[str],
    *,
    files: Sequence[str] = (),
    derivation: Derivation | None = None,
    result: Mapping[str, Any] | None = None,
) -> Any:
    """What OpenLineage is told of a task: tables with schemas, columns, the query, what was written."""
    from importlib import import_module

    from airflow.providers.common.compat.openlineage import facet

    outputs = tables_of(hook, writes)
    if outputs and derivation is not None:
        columns = _columns(hook, derivation, outputs[0])
        if columns:
            outputs[0].facets["columnLineage"] = facet.ColumnLineageDatasetFacet(fields=columns)
    if outputs and result and not result.get("dry_run"):
        written = facet.OutputStatisticsOutputDatasetFacet(rowCount=result.get("rows_written"))
        outputs[0] = facet.OutputDataset(
            namespace=outputs[0].namespace,
            name=outputs[0].name,
            facets=outputs[0].facets,
            outputFacets={"outputStatistics": written},
        )
    sql = derivation.sql if derivation is not None else None
    extractors = import_module("airflow.providers.openlineage.extractors")  # an extra
    return extractors.OperatorLineage(
        inputs=[*tables_of(hook, reads), *map(_files, files)],
        outputs=outputs,
        job_facets={} if sql is None else {"sql": facet.SQLJobFacet(query=sql)},
    )


def _columns(hook: PaimonHook, derivation: Derivation, output: Any) -> dict[str, Any]:
    """Column of ``output`` to the facet that names where it comes from."""
    from airflow.providers.common.compat.openlineage import facet

    from paimon_provider.lineage.columns import origins

    tables = dict(zip(derivation.views, tables_of(hook, [*derivation.views.values()]), strict=True))
    sources_of = origins(derivation, {view: _names(table) for view, table in tables.items()})
    known = {name.lower(): name for name in _names(output)}
    return {
        known[column.lower()]: facet.Fields(
            inputFields=[
                facet.InputField(namespace=tables[view].namespace, name=tables[view].name, field=of)
                for view, of in sources
                if view in tables
            ]
        )
        for column, sources in sources_of.items()
        if column.lower() in known
    }


def _names(dataset: Any) -> list[str]:
    schema = (dataset.facets or {}).get("schema")
    return [] if schema is None else [field.name for field in schema.fields]


def _log() -> Any:
    import logging

    return logging.getLogger(__name__)
