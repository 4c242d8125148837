"""Tables of a warehouse as OpenLineage names them: its URI is the namespace, the table's path the name."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paimon_provider.connections.warehouse import Warehouse

__all__ = ["OpensTables", "dataset_name", "dataset_place", "place_of", "tables_of"]


class OpensTables(Protocol):
    """What is needed of a hook."""

    @property
    def warehouse(self) -> Warehouse:
        """The settings of the connection."""
        ...

    def catalog(self) -> Any:
        """The ``table_core.Catalog`` of the warehouse."""
        ...

    def table(self, table: str) -> Any:
        """The ``table_core.Table`` called ``database.table``."""
        ...


def dataset_name(warehouse: str, table: str) -> tuple[str, str]:
    """Namespace and name of ``database.table``: ``s3://bucket`` and ``wh/shop.db/orders``.

    Object stores have the bucket as namespace, file systems ``file``, as the standard asks.
    """
    database, _, name = table.partition("$")[0].partition(".")
    return dataset_place(f"{warehouse.rstrip('/')}/{database}.db/{name}")


def dataset_place(uri: str) -> tuple[str, str]:
    """Namespace and name of what lies at ``uri``."""
    parts = urlsplit(uri)
    if parts.scheme in {"", "file"}:
        return "file", parts.path
    return f"{parts.scheme}://{parts.netloc}", parts.path.lstrip("/")


def place_of(hook: OpensTables, table: str) -> tuple[str, str]:
    """Namespace and name of a table of ``hook``: where its files are, which a REST server has to say."""
    from table_core.errors import TableError

    if not hook.warehouse.is_served:
        return dataset_name(hook.warehouse.uri, table)
    try:
        return dataset_place(hook.catalog().table(table.partition("$")[0]).uri)
    except TableError as error:
        logging.getLogger(__name__).debug("No place of %s: %s", table, error)
        return dataset_name(hook.warehouse.place, table)


def tables_of(hook: OpensTables, tables: Sequence[str]) -> list[Any]:
    """Datasets with their schemas; a table that cannot be opened has none."""
    from airflow.providers.common.compat.openlineage.facet import (
        Dataset,
        SchemaDatasetFacet,
        SchemaDatasetFacetFields,
    )

    from table_core.errors import TableError

    datasets = []
    for table in tables:
        namespace, name = place_of(hook, table)
        facets = {}
        try:
            schema = hook.table(table).arrow_schema
            fields = [SchemaDatasetFacetFields(name=f.name, type=str(f.type)) for f in schema]
            facets["schema"] = SchemaDatasetFacet(fields=fields)
        except TableError as error:
            logging.getLogger(__name__).debug("No schema of %s: %s", table, error)
        datasets.append(Dataset(namespace=namespace, name=name, facets=facets))
    return datasets
