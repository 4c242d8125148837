"""The catalog that a command opens: its warehouse, and what a file says of the catalog and its store.

Secrets are in the file, not on the command line, which all users of a machine may see, nor in a variable, which
processes inherit.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Final

from table_core.errors import ArgumentError

__all__ = ["CATALOG_FILE", "open_warehouse"]

CATALOG_FILE: Final = "TABLE_CORE_CATALOG_FILE"
"""The variable that names the file: a JSON object, as ``storage_options`` of ``open_catalog``."""


def open_warehouse(warehouse: str) -> Any:
    """The catalog at ``warehouse``, with the options of the file that ``TABLE_CORE_CATALOG_FILE`` names.

    Raises:
        ArgumentError: that file cannot be read, or is no JSON object.
        TableError: as ``open_catalog``.
    """
    from table_core.table.api.opening import open_catalog

    name = os.environ.get(CATALOG_FILE)
    return open_catalog(warehouse, _options(Path(name)) if name else None)


def _options(path: Path) -> dict[str, object]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not JSON"
        raise _wrong(path, f"cannot be read: {why}") from None
    if not isinstance(document, dict):
        raise _wrong(path, "is no JSON object")
    return document


def _wrong(path: Path, why: str) -> ArgumentError:
    return ArgumentError(
        f"{CATALOG_FILE}: {path} {why}. It holds the options of the catalog, e.g. "
        '{"metastore": "jdbc", "uri": "jdbc:sqlite:names.db"}',
        argument=CATALOG_FILE,
        value=str(path),
    )
