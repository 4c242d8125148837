"""Options that say how files are written: codecs, statistics, levels."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from table_core.datatypes.avro_names import is_avro_name
from table_core.datatypes.kinds import Array, Atomic, Map, Multiset, Root, Row, Vector
from table_core.options import codecs, keys_commit, keys_files, keys_write
from table_core.options.fits import STATS_MODE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from table_core.datatypes.kinds import DataType
    from table_core.options.table import TableOptions
    from table_core.schema.table_schema import TableSchema

__all__ = ["file_option_problems"]

_AVRO_DIGITS: Final = 6
_COLUMN_MODE: Final = re.compile(r"fields\..+\.stats-mode")


def file_option_problems(schema: TableSchema) -> Iterator[str]:
    """What would stop every later write."""
    options = schema.options
    yield from _codecs(options)
    yield from _stats_modes(options)
    yield from _avro_columns(schema)
    if schema.is_key_table:
        yield from _levels(options)


def _avro_columns(schema: TableSchema) -> Iterator[str]:
    """Avro has no timestamps finer than microseconds, and names of letters, digits and underscores."""
    options, formats = schema.options, keys_files.FILE_FORMAT_PER_LEVEL
    asked = {
        keys_files.FILE_FORMAT.key: options.get(keys_files.FILE_FORMAT),
        **{f"{formats.key} {level}": name for level, name in options.get(formats).items()},
        keys_files.CHANGELOG_FILE_FORMAT.key: options.get(keys_files.CHANGELOG_FILE_FORMAT) or "",
    }
    by = next((f"{key}=avro" for key, name in asked.items() if name.lower() == "avro"), None)
    if schema.bucket == -2:
        by = by or "bucket=-2, where files are avro at first"
    for field in schema.fields if by else ():
        for name in _names(field.name, field.type):
            if not is_avro_name(name):
                yield (
                    f"{by}: {name!r} of column {field.name!r} is no name in avro, which begins with a letter or an "
                    "underscore and goes on with them and digits; rename it, or use parquet or orc"
                )
        if any(part.precision > _AVRO_DIGITS for part in _timestamps(field.type)):
            yield (
                f"{by}: column {field.name!r} has more than {_AVRO_DIGITS} digits of a second, which "
                "avro cannot hold; use TIMESTAMP(6), or parquet or orc"
            )


def _names(name: str, type_: DataType) -> Iterator[str]:
    """``name``, and those of all members in ``type_``."""
    yield name
    parts = [type_]
    while parts:
        match parts.pop():
            case Row(fields):
                yield from (field.name for field in fields)
                parts += [field.type for field in fields]
            case Map(key, value):
                parts += [key, value]
            case Array(element) | Multiset(element) | Vector(element):
                parts.append(element)


def _timestamps(type_: DataType) -> Iterator[Atomic]:
    match type_:
        case Atomic(root=Root.TIMESTAMP | Root.TIMESTAMP_LTZ):
            yield type_
        case Row(fields):
            for field in fields:
                yield from _timestamps(field.type)
        case Map(key, value):
            yield from _timestamps(key)
            yield from _timestamps(value)
        case Array(element) | Multiset(element):
            yield from _timestamps(element)


def _codecs(options: TableOptions) -> Iterator[str]:
    own = options.get(keys_files.FILE_FORMAT), options.get(keys_files.FILE_COMPRESSION)
    formats = options.get(keys_files.FILE_FORMAT_PER_LEVEL)
    by_level = options.get(keys_files.FILE_COMPRESSION_PER_LEVEL)
    base, leveled = keys_files.FILE_COMPRESSION.key, keys_files.FILE_COMPRESSION_PER_LEVEL.key
    used = {own: base}
    for level in sorted({*formats, *by_level}):
        pair = formats.get(level, own[0]), by_level.get(level, own[1])
        used.setdefault(pair, leveled if level in by_level else base)
    codec = options.get(keys_files.CHANGELOG_FILE_COMPRESSION)
    format_ = options.get(keys_files.CHANGELOG_FILE_FORMAT) or own[0]
    of_changelog = keys_files.CHANGELOG_FILE_COMPRESSION.key if codec else base
    used.setdefault((format_, codec or own[1]), of_changelog)
    manifests = keys_commit.MANIFEST_COMPRESSION
    used.setdefault(("avro", options.get(manifests)), manifests.key)
    for (name, compression), option in used.items():
        known = codecs.CODECS.get(name.lower())  # an unknown format is refused elsewhere
        if known is not None and compression.lower() not in known:
            yield f"{option} {compression!r} cannot be written to {name}; use one of {sorted(known)}"


def _stats_modes(options: TableOptions) -> Iterator[str]:
    levels = keys_files.METADATA_STATS_MODE_PER_LEVEL
    modes = [
        (keys_files.METADATA_STATS_MODE.key, options.get(keys_files.METADATA_STATS_MODE)),
        *((levels.key, mode) for mode in options.get(levels).values()),
        *((key, text) for key, text in options.raw.items() if _COLUMN_MODE.fullmatch(key)),
    ]
    changelog = options.get(keys_files.CHANGELOG_FILE_STATS_MODE)
    if changelog is not None:
        modes.append((keys_files.CHANGELOG_FILE_STATS_MODE.key, changelog))
    for key, mode in modes:
        if STATS_MODE.fullmatch(mode.strip().lower()) is None:
            yield f"{key} {mode!r} is none of none, counts, truncate(n) and full"


def _levels(options: TableOptions) -> Iterator[str]:
    levels = options.get(keys_write.NUM_LEVELS)
    trigger = options.get(keys_write.NUM_SORTED_RUN_COMPACTION_TRIGGER)
    if (trigger + 1 if levels is None else levels) < 2:
        what = (
            keys_write.NUM_SORTED_RUN_COMPACTION_TRIGGER
            if levels is None
            else keys_write.NUM_LEVELS
        )
        value = trigger if levels is None else levels
        yield f"{what.key} {value} leaves fewer than 2 levels, and a table needs at least 2"
