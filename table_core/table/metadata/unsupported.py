"""Refuses what a table asks for and this release does not do, by the name of the option.

``refuse_commits`` is asked by ``commit_parts``, which makes every snapshot, and by all that deletes
snapshots or files of a table; writers ask it before they write.  ``refuse_tags`` is asked by all that
makes or deletes tags.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from table_core.options.refused import Act
from table_core.schema.validate import unsupported_feature, unsupported_option

if TYPE_CHECKING:
    from collections.abc import Mapping

    from table_core.table.metadata.access import TableAccess

__all__ = ["refuse_commits", "refuse_reads", "refuse_tags"]


def refuse_commits(access: TableAccess) -> None:
    """Refuse to make or delete snapshots and files of a table that asks for more than we do.

    Raises:
        UnsupportedFeatureError: names the option and the way out.
    """
    unsupported = unsupported_feature(access.schema, _own(access))
    if unsupported is not None:
        raise unsupported.error(access.name, "write, compact or expire")


def refuse_tags(access: TableAccess) -> None:
    """Refuse to make or delete tags that a table wants to be told elsewhere.

    Raises:
        UnsupportedFeatureError: names the option and the way out.
    """
    unsupported = unsupported_option(access.options, Act.TAG, _own(access))
    if unsupported is not None:
        raise unsupported.error(access.name, "tag")


def refuse_reads(access: TableAccess) -> None:
    """Refuse to read a table whose options put rows where this release does not look.

    Raises:
        UnsupportedFeatureError: names the option and the way out.
    """
    unsupported = unsupported_option(access.options, Act.READ, _own(access))
    if unsupported is not None:
        raise unsupported.error(access.name, "read")


def _own(access: TableAccess) -> Mapping[str, str]:
    return {"branch": access.branch, "path": access.storage.uri}
