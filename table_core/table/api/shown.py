"""How a table looks in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from table_core.table.api.plots import Plots
    from table_core.table.metadata.access import TableAccess

__all__ = ["Shown"]


class Shown:
    """Charts, and the HTML that stands for the handle."""

    access: TableAccess

    @property
    def plot(self) -> Plots:
        """Charts of the table: ``history()``, ``levels()``, ``partitions()``; the extra ``plot`` draws them."""
        from table_core.table.api.plots import Plots

        return Plots(self.access)

    def _repr_html_(self) -> str:
        """What a notebook shows: the columns as this handle knows them.  Nothing is read."""
        from table_core.datatypes.text import type_text
        from table_core.table.metadata.as_html import facts_html, rows_html

        schema = self.access.schema
        keys, partitions = set(schema.primary_keys), set(schema.partition_keys)
        rows = [
            (
                field.id,
                field.name,
                type_text(field.type),
                ", ".join(
                    role
                    for role, names in (("key", keys), ("partition", partitions))
                    if field.name in names
                ),
                field.description or "",
            )
            for field in schema.fields
        ]
        head = {
            "location": self.access.storage.uri,
            "comment": schema.comment,
            "schema": schema.id,
            "options": ", ".join(f"{k}={v}" for k, v in sorted(schema.raw_options.items())) or None,
        }
        columns = ("id", "column", "type", "role", "comment")
        return facts_html(self.access.name, head) + rows_html("Columns", columns, rows)
