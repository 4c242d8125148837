"""The objects of a Hive metastore, as far as a Paimon table needs them.

Source: ``hive_metastore.thrift`` of Hive 3.1.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["EXTERNAL", "MANAGED", "VIEWS", "HiveColumn", "HiveDatabase", "HiveTable"]

MANAGED: Final = "MANAGED_TABLE"
EXTERNAL: Final = "EXTERNAL_TABLE"
VIEWS: Final = frozenset({"VIRTUAL_VIEW", "MATERIALIZED_VIEW"})


@dataclass(frozen=True, slots=True)
class HiveColumn:
    """A column; ``type`` as Hive writes it, such as ``array<int>``."""

    name: str
    type: str
    comment: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HiveDatabase:
    """A database; ``location`` is where its tables lie unless they say otherwise."""

    name: str
    location: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HiveTable:
    """A table, or a view."""

    database: str
    name: str
    location: str | None
    columns: tuple[HiveColumn, ...] = ()
    """Without the partition keys."""
    partition_keys: tuple[HiveColumn, ...] = ()
    input_format: str = ""
    output_format: str = ""
    serde: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    table_type: str = MANAGED
    owner: str = ""
    created_s: int = 0
    """Seconds since 1970."""
