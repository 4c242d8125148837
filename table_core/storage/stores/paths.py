"""Paths inside a store: relative, '/'-separated, never out of the root."""

from __future__ import annotations

from table_core.errors import ArgumentError

__all__ = ["has_no_folders", "inside", "is_local", "joined"]


def inside(path: str) -> str:
    """``path`` without outer slashes; '' is the root.

    Raises:
        ArgumentError: it would leave the root, or is no Unicode.  File names come from manifests that
            others wrote, and expiry deletes what they name.
    """
    clean = path.strip("/")
    if "\0" in clean:
        raise ArgumentError(
            f"path {path!r} holds a NUL, which no file name has", argument="path", value=path
        )
    if not clean.isascii():
        _require_unicode(path)
    if clean and not {"", ".", ".."}.isdisjoint(clean.split("/")):
        raise ArgumentError(
            f"path {path!r} is not a plain path below its root", argument="path", value=path
        )
    return clean


def is_local(uri: str) -> bool:
    """Whether reading from the store at ``uri`` takes no round trip."""
    return uri.startswith(("file:", "memory:"))


def has_no_folders(uri: str) -> bool:
    """Whether the store at ``uri`` has objects alone, and a folder is gone with the last of them."""
    return uri.startswith(("s3:", "s3a:", "s3n:"))


def joined(prefix: str, path: str) -> str:
    """``path`` below ``prefix``, either of which may be ''."""
    clean = inside(path)
    return f"{prefix}/{clean}" if prefix and clean else prefix or clean


def _require_unicode(path: str) -> None:
    try:
        path.encode("utf-8", "surrogateescape")  # so does Python read a name that is no UTF-8
    except UnicodeEncodeError as error:
        raise ArgumentError(
            f"path {path!r} is no Unicode: half a surrogate pair is at position {error.start}",
            argument="path",
            value=None,
        ) from error
