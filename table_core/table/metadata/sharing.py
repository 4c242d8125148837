"""Work on many items that tasks elsewhere may share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["Share", "alone"]


class Share(Protocol):
    """Does ``work`` on groups of ``items``, by their ``weight`` in bytes; what it makes of each group.

    ``work`` may run in another process, and again after it failed.
    """

    def __call__(
        self,
        work: Callable[[Sequence[Any]], Any],
        items: Sequence[Any],
        weight: Callable[[Any], int],
    ) -> Iterator[Any]:
        """Begin with the first group; each result as it is there, in order."""
        ...


def alone(
    work: Callable[[Sequence[Any]], Any], items: Sequence[Any], weight: Callable[[Any], int]
) -> Iterator[Any]:
    """All of ``items`` as one group, in this process."""
    del weight
    if items:
        yield work(items)
