"""A first declaration of tables that are there, or are to be: ``plan`` of a warehouse finds nothing to do."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from table_core.datatypes.text import type_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from table_core.datatypes.kinds import Field
    from table_core.schema.table_schema import TableSchema

__all__ = ["declaration_of"]

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_WORDS: Final = frozenset(["y", "n", "yes", "no", "on", "off", "true", "false", "null", "none"])
"""What YAML takes for something else than text."""


def declaration_of(
    name: str,
    tables: Mapping[str, TableSchema],
    warehouse: str | None,
    remarks: Mapping[str, str] | None = None,
) -> str:
    """The YAML text that declares ``tables`` as they are; ``remarks`` are remarks on them."""
    lines = ["version: 1", f"name: {_quoted(name)}"]
    lines += [] if warehouse is None else [f"warehouse: {_quoted(warehouse)}"]
    lines.append("tables:" if tables else "tables: {}")
    for table, schema in tables.items():
        remark = (remarks or {}).get(table, "")
        lines.append(f"  {_quoted(table)}:" + (f"  # {remark}" if remark else ""))
        lines.append("    columns:")
        lines += [f"      {_quoted(field.name)}: {_column(field)}" for field in schema.fields]
        for member, columns in (
            ("primary_key", schema.primary_keys),
            ("partition_by", schema.partition_keys),
        ):
            if columns:
                lines.append(f"    {member}: [{', '.join(map(_quoted, columns))}]")
        if schema.raw_options:
            lines.append("    options:")
            lines += [f"      {_quoted(k)}: {_quoted(v)}" for k, v in schema.raw_options.items()]
        if schema.comment:
            lines.append(f"    comment: {_quoted(schema.comment)}")
    return "\n".join(lines) + "\n"


def _column(field: Field) -> str:
    type_ = _quoted(type_text(field.type))
    more = [
        f"{member}: {_quoted(text)}"
        for member, text in (("comment", field.description), ("default", field.default))
        if text is not None and (text or member == "default")
    ]
    return f"{{type: {type_}, {', '.join(more)}}}" if more else type_


def _quoted(text: str) -> str:
    """As YAML takes it for this text: JSON's quotes are YAML's."""
    if _PLAIN.fullmatch(text) and text.casefold() not in _WORDS:
        return text
    escaped = json.dumps(text, ensure_ascii=False)
    return escaped.replace("${", "$${")
