"""What a branch may be called."""

from __future__ import annotations

import re

from table_core.errors import ArgumentError
from table_core.options.spark_settings import require_printable

__all__ = ["require_branch_name"]


def require_branch_name(name: str, argument: str = "name") -> None:
    """Refuse what no new branch may be called.  Apache Paimon takes a few of these, not all.

    Raises:
        ArgumentError: ``main``, a number, a name with a slash or ``$``, or one that cannot be printed.
    """
    require_printable(name, argument)
    if not re.fullmatch(r"[^/\\\s$][^/\\$]*", name) or name == "main" or name.isdigit():
        raise ArgumentError(
            f"{name!r} cannot name a branch: not 'main', no number, no '/' or '$'",
            argument=argument,
            value=name,
        )
