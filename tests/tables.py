"""Small warehouses and commits for tests."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import table_core as tc
from table_core.ondisk import layout
from table_core.table.metadata.alter import alter

if TYPE_CHECKING:
    from table_core.schema.change import SchemaChange

__all__ = ["altered_elsewhere", "foreign_commit", "new_catalog", "rows_of", "write_rows"]


def new_catalog(uri: str | None = None) -> tc.Catalog:
    """A catalog with the database ``d``: at ``uri``, or in memory and nobody else's."""
    catalog = tc.open_catalog(uri or f"memory://{uuid.uuid4().hex}")
    catalog.create_database("d")
    return catalog


def write_rows(table: tc.Table, rows: Any, **how: Any) -> tc.Commit:
    """Write ``rows`` with one commit, whatever form a writer takes them in; ``how`` goes to the writer."""
    with table.write(**how) as writer:
        writer.write(rows)
        return writer.commit()


def rows_of(table: tc.Table, **which: Any) -> list[tuple[Any, ...]]:
    """What a read gives, as tuples in order, a null before every value; ``which`` goes to the read."""
    rows = [tuple(row.values()) for row in table.read(**which).to_arrow().to_pylist()]
    return sorted(rows, key=lambda row: [(value is not None, value) for value in row])


def altered_elsewhere(catalog: tc.Catalog, name: str, *changes: SchemaChange) -> None:
    """Change a schema as Paimon does: without a look at what the values become."""
    alter(catalog.table(name).access, changes)


def foreign_commit(table: tc.Table) -> None:
    """What another writer leaves: the head again, without properties or our name in it."""
    head = table.latest_snapshot()
    assert head is not None
    theirs = replace(
        head, id=head.id + 1, properties=None, commit_user="java", writer_version=None, uuid=None
    )
    access = table.access
    assert access.storage.create(layout.snapshot_path(theirs.id, access.branch), theirs.to_json())
