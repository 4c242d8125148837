"""What other distributions look at: an entry point of the group ``table_core.doctor``.

It names a function that takes the id of a connection, or None, and gives mappings of ``check``, ``state``,
``found`` and ``remedy``.  So this package has never heard of who asks for more.
"""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Final

from table_core.cli.doctor.finding import Finding, State
from table_core.errors import TableError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["plugin_findings"]

_GROUP: Final = "table_core.doctor"


def plugin_findings(connection: str | None) -> Iterator[Finding]:
    """What each distribution that has such an entry point finds."""
    points = entry_points(group=_GROUP)
    if connection is not None and not points:
        yield Finding(
            "connection",
            State.FAULT,
            f"nobody here knows the connection {connection!r}: no installed package looks at connections",
            "pip install airflow-provider-paimon",
        )
    for point in sorted(points, key=lambda entry_point: entry_point.name):
        try:
            look = point.load()
            for told in look(connection):
                yield Finding(told["check"], State(told["state"]), told["found"], told["remedy"])
        except (ImportError, TableError) as error:
            yield Finding(
                point.name,
                State.FAULT,
                f"{point.value} cannot be asked: {error}",
                f"Reinstall {point.dist.name if point.dist else point.name}.",
            )
