"""Changes of options: what may change when, and options that follow a renamed column.

Source: ``org.apache.paimon.schema.SchemaManager#checkAlterTableOption``,
``#applyRenameColumnsToOptions``; format 2.4.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from table_core.errors import OptionError
from table_core.options import keys_files, keys_identity, keys_merge, keys_write
from table_core.options.table import OPTIONS, TableOptions
from table_core.schema.validate import violations_of
from table_core.schema.validate_fields import COLUMN_OPTION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from table_core.schema.table_schema import TableSchema

__all__ = ["check_option_change", "options_of_handle", "options_that_name", "renamed_in_options"]

_COLUMN_LISTS: Final = re.compile(
    r"""bucket-key|sequence\.field|rowkind\.field|record-level\.time-field|clustering\.columns
    |sink\.clustering\.by-columns|changelog-producer\.row-deduplicate-ignore-fields
    |partial-update\.remove-record-on-sequence-group|file-index\.[^.]+\.columns""",
    re.VERBOSE,
)
_INDEX_OPTION: Final = re.compile(r"file-index\.(?P<kind>[^.]+)\.(?P<column>.+)\.(?P<suffix>[^.]+)")
_ONE_WAY: Final = (keys_merge.IGNORE_DELETE, keys_merge.IGNORE_UPDATE_BEFORE)
_NAME_FOLDERS: Final = (
    keys_files.PARTITION_DEFAULT_NAME,
    keys_files.PARTITION_LEGACY_NAME,
)
_MEANS: Final = (keys_merge.SEQUENCE_FIELD, keys_merge.SEQUENCE_FIELD_SORT_ORDER)
"""What decides which of two stored rows is newer: two handles must not disagree."""


def check_option_change(
    schema: TableSchema, key: str, value: str | None, *, has_snapshots: bool
) -> TableSchema:
    """``schema`` with option ``key`` set to ``value``, or removed.

    An option stored under its old name is replaced, whatever name the change uses.

    Raises:
        OptionError: the option cannot change any more, or the value does not parse.
    """
    canonical = next((o.key for o in OPTIONS.values() if key in (o.key, *o.aliases)), key)
    aliases = OPTIONS[canonical].aliases if canonical in OPTIONS else ()
    raw = {k: v for k, v in schema.raw_options.items() if k not in (canonical, *aliases)}
    if value is not None:
        raw[canonical] = value
    before, after = schema.options, TableOptions.parse(raw)
    if has_snapshots and before.raw.get(canonical) != after.raw.get(canonical):
        why = _refusal(canonical, before, after)
        if why is not None:
            raise OptionError(
                f"option {canonical!r} cannot change to {value!r}: {why}",
                option=canonical,
                value=value,
            )
    return replace(schema, raw_options=raw)


def _refusal(key: str, before: TableOptions, after: TableOptions) -> str | None:
    option = OPTIONS.get(key)
    if option is None or before.get(option) == after.get(option):
        return None
    if option.immutable:
        return "it is fixed once the table has a snapshot"
    if option in _NAME_FOLDERS:
        return "the folders of partitions are named by it, and there are some"
    if option is keys_identity.BUCKET and -1 in (before.get(option), after.get(option)):
        return "a table with a snapshot cannot change from or to bucket -1"
    if option is keys_write.DELETION_VECTORS_ENABLED and not before.get(
        keys_write.DELETION_VECTORS_MODIFIABLE
    ):
        return "set deletion-vectors.modifiable to true first"
    if option in _ONE_WAY and before.get(option):
        return "it cannot go from true to false"
    return None


def options_of_handle(schema: TableSchema, options: Mapping[str, str]) -> TableSchema:
    """``schema`` with ``options`` on top, as one handle sees it.

    A handle may read and write in another way; it may not say where rows lie or which of them wins,
    for other handles would not find them, or find others.

    Raises:
        OptionError: an option that is fixed for the table, or a value that does not parse.
    """
    keys = {
        keys_identity.PRIMARY_KEY: schema.primary_keys,
        keys_identity.PARTITION: schema.partition_keys,
    }
    asked = TableOptions.parse(options)
    repeated = {o.key for o, own in keys.items() if asked.is_set(o) and asked.get(o) == own}
    options = {key: value for key, value in asked.raw.items() if key not in repeated}
    after = schema.options.with_overrides(options)
    for key in options:
        if schema.options.raw.get(key) == after.raw[key]:
            continue
        why = _refusal(key, schema.options, after) or _effective(key, schema.options, after)
        if why is not None:
            raise OptionError(
                f"option {key!r} cannot be {after.raw[key]!r} on a handle: {why}",
                option=key,
                value=after.raw[key],
            )
    changed = replace(schema, raw_options=after.raw)
    _refuse_new_problems(schema, changed, options)
    return changed


def _refuse_new_problems(
    before: TableSchema, after: TableSchema, options: Mapping[str, str]
) -> None:
    """Refuse what only together is wrong, or wrong for the columns, as a stored option would be."""
    known = set(violations_of(before, of_handle=True)) if options else set()
    problems = [
        problem
        for problem in (violations_of(after, of_handle=True) if options else ())
        if problem not in known
    ]
    if problems:
        blamed = next((key for key in options if key in problems[0]), next(iter(options)))
        raise OptionError(
            f"option {blamed!r} cannot be {after.raw_options[blamed]!r} on a handle: "
            f"{'; '.join(problems)}",
            option=blamed,
            value=after.raw_options[blamed],
        )


def _effective(key: str, before: TableOptions, after: TableOptions) -> str | None:
    option = OPTIONS.get(key)
    if option is keys_identity.BUCKET and before.get(option) != after.get(option):
        return "it says where rows lie; change it with rescale or alter_table"
    if COLUMN_OPTION.fullmatch(key) or key == keys_merge.FIELDS_DEFAULT_AGGREGATE_FUNCTION.key:
        return "it says what stored rows mean; change it with alter_table"
    if option in _MEANS and before.get(option) != after.get(option):
        return "it says which of two rows is newer; change it with alter_table"
    return None


def options_that_name(schema: TableSchema, name: str) -> list[str]:
    """The keys of the options of ``schema`` that name the top-level column ``name``."""
    keys = []
    for key, value in schema.raw_options.items():
        match = COLUMN_OPTION.fullmatch(key)
        names = [n.strip() for n in match["columns"].split(",")] if match is not None else []
        if _COLUMN_LISTS.fullmatch(key) or (match and match["suffix"] == "sequence-group"):
            names += [n.strip() for n in value.split(",")]
        index = _INDEX_OPTION.fullmatch(key)
        if index is not None:
            names.append(index["column"])
        if name in names:
            keys.append(key)
    return keys


def renamed_in_options(schema: TableSchema, name: str, new_name: str) -> TableSchema:
    """``schema`` with options that name the top-level column ``name`` naming ``new_name``."""

    def swapped(text: str) -> str:
        return ",".join(new_name if n.strip() == name else n for n in text.split(","))

    raw = {}
    for key, value in schema.raw_options.items():
        match = COLUMN_OPTION.fullmatch(key)
        if match is not None:
            new_value = swapped(value) if match["suffix"] == "sequence-group" else value
            raw[f"fields.{swapped(match['columns'])}.{match['suffix']}"] = new_value
        elif (index := _INDEX_OPTION.fullmatch(key)) is not None and index["column"] == name:
            raw[f"file-index.{index['kind']}.{new_name}.{index['suffix']}"] = value
        else:
            raw[key] = swapped(value) if _COLUMN_LISTS.fullmatch(key) else value
    return replace(schema, raw_options=raw)
