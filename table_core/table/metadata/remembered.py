"""Documents that this process has read and will read again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Sized

__all__ = ["Remembered"]

_ASKED_MAX: Final = 10_000


class Remembered:
    """Least recently used documents, bounded by the number of entries in them."""

    def __init__(self, weight_max: int | Callable[[], int]) -> None:
        """``weight_max``: so many entries, or what says now how many."""
        self._entries: OrderedDict[tuple[str, ...], tuple[int, Any]] = OrderedDict()
        self._weight = 0
        self._weight_max = weight_max
        self._lock = threading.Lock()
        self._asked: OrderedDict[tuple[str, ...], None] = OrderedDict()

    def is_new(self, key: tuple[str, ...]) -> bool:
        """Whether nobody asked this or for ``key`` before."""
        with self._lock:
            known = key in self._entries or key in self._asked
            self._asked[key] = None
            if len(self._asked) > _ASKED_MAX:
                self._asked.popitem(last=False)
            return not known

    def peek(self, key: tuple[str, ...]) -> Any:
        """What is remembered; None if nothing is."""
        with self._lock:
            hit = self._entries.get(key)
            return None if hit is None else hit[1]

    def get(self, key: tuple[str, ...], load: Callable[[], Sized]) -> Any:
        """What is remembered, or else what ``load`` gives."""
        with self._lock:
            hit = self._entries.get(key)
            if hit is not None:
                self._entries.move_to_end(key)
                return hit[1]
        value = load()
        weight, most = len(value) + 1, self._weight_max
        weight_max = most if isinstance(most, int) else most()
        with self._lock:
            if key not in self._entries:
                self._entries[key] = (weight, value)
                self._weight += weight
            while self._weight > weight_max and len(self._entries) > 1:
                self._weight -= self._entries.popitem(last=False)[1][0]
        return value
