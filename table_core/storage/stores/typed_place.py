"""The folder that a person means by a path or a ``file:`` URI.

``Path("My Projects").absolute().as_uri()`` writes a blank as ``%20``, but Paimon, and so every stored place, takes
``file:`` URIs literally.  Both mean the folder that is there:

    file:///home/My%20Projects/lake    My Projects                  My Projects
                                       My%20Projects                My%20Projects, as Paimon
                                       neither                      My Projects
                                       both                         refused

A plain path, or a ``Path``, is never decoded.
"""

from __future__ import annotations

import contextlib
import os
import stat
from itertools import takewhile
from pathlib import Path
from urllib.parse import unquote

from table_core.errors import ArgumentError

__all__ = ["is_file", "local_path", "place_text"]


def place_text(place: object, argument: str) -> str:
    """``place`` as text, a ``Path`` too.

    Raises:
        ArgumentError: it is neither a text nor a path.
    """
    if isinstance(place, str):
        return place
    text = os.fspath(place) if isinstance(place, os.PathLike) else place
    if isinstance(text, str):
        return text
    raise ArgumentError(
        f"{argument} is a place, a text or a pathlib.Path, and no {type(place).__name__}",
        argument=argument,
        value=place,
    )


def local_path(literal: str) -> str:
    """The path that the part of a ``file:`` URI behind the scheme names.

    Raises:
        ArgumentError: both spellings are there.
    """
    decoded = _decoded(literal)
    if decoded is None:
        return literal
    differs = next(n for n, (a, b) in enumerate(_parts(literal, decoded)) if a != b)
    there, meant = _depth(literal), _depth(decoded)
    if there == meant and there > differs:
        raise ArgumentError(
            f"file:{literal} means two folders, and both are there: {literal} and {decoded}. Write the one that "
            "you mean as a plain path, without file:",
            argument="uri",
            value=f"file:{literal}",
        )
    return literal if there > meant else decoded


def _decoded(literal: str) -> str | None:
    """``literal`` without escapes; None where it has none, or none that a path can have."""
    if "%" not in literal:
        return None
    try:
        decoded = unquote(literal, errors="strict")
    except UnicodeDecodeError:
        return None
    names = {part for _, part in _parts(literal, decoded)} - {
        part for part, _ in _parts(literal, decoded)
    }
    if decoded.count("/") != literal.count("/") or "\0" in decoded or names & {"", ".", ".."}:
        return None
    return None if decoded == literal else decoded


def _parts(literal: str, decoded: str) -> list[tuple[str, str]]:
    return list(zip(literal.strip("/").split("/"), decoded.strip("/").split("/"), strict=False))


def _depth(path: str) -> int:
    """How many names of ``path`` are there, from the root on."""
    parts = path.strip("/").split("/")
    root = "/" if path.startswith("/") else ""
    whole = (root + "/".join(parts[: n + 1]) for n in range(len(parts)))
    return sum(1 for _ in takewhile(_is_there, whole))


def is_file(path: str) -> bool:
    """Whether a file is at ``path``, as far as this user can see."""
    with contextlib.suppress(OSError, ValueError):  # nothing there, or no name of a file
        return stat.S_ISREG(Path(path).stat().st_mode)
    return False


def _is_there(path: str) -> bool:
    with contextlib.suppress(OSError, ValueError):
        Path(path).lstat()
        return True
    return False
