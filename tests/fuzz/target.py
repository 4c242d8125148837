"""What is fuzzed: a decoder, and whole inputs of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Target", "path_of", "text_of", "texts"]


@dataclass(frozen=True, slots=True)
class Target:
    """A decoder, and whole inputs of it."""

    run: Callable[[bytes], object]
    seeds: tuple[bytes, ...] | Callable[[], tuple[bytes, ...]]
    is_json: bool = False

    def whole(self) -> tuple[bytes, ...]:
        return self.seeds() if callable(self.seeds) else self.seeds


def path_of(decode: Callable[..., object]) -> Callable[[bytes], object]:
    """A decoder that wants to know of which file the bytes are."""
    return lambda body: decode(body, path="there")


def text_of(decode: Callable[[str], object]) -> Callable[[bytes], object]:
    """A decoder of text."""
    return lambda body: decode(body.decode("utf-8", "replace"))


def texts(*found: str) -> tuple[bytes, ...]:
    return tuple(text.encode() for text in found)
