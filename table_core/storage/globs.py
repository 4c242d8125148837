"""Patterns of paths, for every source of files: ``*`` and ``?`` within a name, ``**`` for any folders."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from table_core.errors import ArgumentError

if TYPE_CHECKING:
    from table_core.ports import FileInfo, Storage

__all__ = ["glob_pattern", "list_files", "meant_files", "split_glob"]

_WILD: Final = {"*": "[^/]*", "?": "[^/]"}


def split_glob(uri: str) -> tuple[str, str]:
    """The folder that ``uri`` is sure of, and the pattern below it.

    ``file:///in/*/part-*.parquet`` is ``file:///in`` and ``*/part-*.parquet``.
    """
    scheme, mark, path = uri.rpartition("://")
    parts = path.split("/")
    fixed = next((n for n, part in enumerate(parts) if re.search(r"[*?]", part)), len(parts) - 1)
    return f"{scheme}{mark}{'/'.join(parts[:fixed])}", "/".join(parts[fixed:])


def glob_pattern(pattern: str) -> re.Pattern[str]:
    """The regular expression for whole paths that ``pattern`` matches.

    ``*`` and ``?`` stay within a folder; ``**`` stands for any folders, also none.  As in a shell they match
    no dot at the beginning of a name: a file that is written under a hidden name and renamed when it is
    whole is not read before, and not twice.

    Raises:
        ArgumentError: ``**`` is a part of a name, as in ``**.jsonl``: shells disagree on what that means.
    """
    *folders, name = pattern.split("/")
    if any("**" in part and part != "**" for part in (*folders, name)):
        raise ArgumentError(
            f"{pattern!r}: ** stands for folders and is a name of its own, as in **/*.jsonl",
            argument="pattern",
            value=pattern,
        )
    any_folders = r"(?:(?!\.)[^/]+/)*"
    begin = (any_folders if one == "**" else f"{_name_matching(one)}/" for one in folders)
    end = any_folders + _name_matching("*") if name == "**" else _name_matching(name)
    return re.compile("".join(begin) + end)


def list_files(storage: Storage, pattern: str) -> list[FileInfo]:
    """The files that ``pattern`` matches, sorted by path: see ``glob_pattern``."""
    wanted = glob_pattern(pattern)
    infos = storage.walk("") if "/" in pattern or "**" in pattern else storage.list("")
    matches = (info for info in infos if not info.is_dir and wanted.fullmatch(info.path))
    return sorted(matches, key=lambda info: info.path)


def meant_files(storage: Storage, uri: str, pattern: str) -> list[FileInfo]:
    """``list_files``; in a ``file:`` URI ``%20`` stands for a blank too, as ``Path.as_uri`` writes it.

    Raises:
        ArgumentError: files of both spellings are there.
    """
    files = list_files(storage, pattern)
    meant = unquote(pattern) if uri.startswith("file:") else pattern
    same = all(meant.count(sign) == pattern.count(sign) for sign in "/*?")
    if meant == pattern or not same:
        return files
    others = list_files(storage, meant)
    if files and others:
        raise ArgumentError(
            f"{uri} means files of two spellings, and both are there: {files[0].path} and {others[0].path}. Write "
            "what you mean as a plain path, without file:",
            argument="uri",
            value=uri,
        )
    return files or others


def _name_matching(part: str) -> str:
    """The regular expression for one name of a path."""
    visible = r"(?!\.)" if part[:1] in {"*", "?"} else ""
    return visible + "".join(_WILD.get(c, re.escape(c)) for c in part)
