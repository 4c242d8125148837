"""Tables as OpenLineage names them: the warehouse's URI is the namespace, the table's path the name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paimon_provider._compat import Asset
    from paimon_provider.hooks.paimon import PaimonHook

__all__ = ["dataset_name", "tables_of", "to_openlineage"]


def dataset_name(warehouse: str, table: str) -> tuple[str, str]:
    """Namespace and name of ``database.table``: ``s3://bucket`` and ``wh/shop.db/orders``.

    Object stores have the bucket as namespace, file systems ``file``, as the standard asks.
    """
    parts = urlsplit(warehouse)
    database, _, name = table.partition("$")[0].partition(".")
    path = f"{parts.path.rstrip('/')}/{database}.db/{name}"
    if parts.scheme in {"", "file"}:
        return "file", path
    return f"{parts.scheme}://{parts.netloc}", path.lstrip("/")


def to_openlineage(asset: Asset, lineage_context: Any) -> Any:  # noqa: ARG001 - Airflow's signature
    """The dataset of a ``paimon://`` asset; None where nobody can tell its warehouse."""
    from airflow.providers.common.compat.openlineage.facet import Dataset

    from paimon_provider.hooks.paimon import PaimonHook
    from table_core.errors import TableError

    parts = urlsplit(asset.uri)
    try:
        warehouse = PaimonHook(parts.netloc).warehouse.uri
    except (TableError, LookupError, RuntimeError) as error:
        _log().debug("No connection %s for %s: %s", parts.netloc, asset.uri, error)
        return None
    table = ".".join(unquote(part) for part in parts.path.strip("/").split("/"))
    namespace, name = dataset_name(warehouse, table)
    return Dataset(namespace=namespace, name=name)


def tables_of(hook: PaimonHook, tables: Sequence[str]) -> list[Any]:
    """Datasets with their schemas; a table that cannot be opened has none."""
    from airflow.providers.common.compat.openlineage.facet import (
        Dataset,
        SchemaDatasetFacet,
        SchemaDatasetFacetFields,
    )

    from table_core.errors import TableError

    found = []
    for table in dict.fromkeys(tables):
        namespace, name = dataset_name(hook.warehouse.uri, table)
        facets = {}
        try:
            schema = hook.table(table).arrow_schema
            fields = [SchemaDatasetFacetFields(name=f.name, type=str(f.type)) for f in schema]
            facets["schema"] = SchemaDatasetFacet(fields=fields)
        except TableError as error:
            _log().debug("No schema of %s: %s", table, error)
        found.append(Dataset(namespace=namespace, name=name, facets=facets))
    return found


def _log() -> Any:
    import logging

    return logging.getLogger(__name__)
