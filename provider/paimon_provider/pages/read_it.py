"""How to read a table, as text to copy.  Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from table_core.options.shown import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["read_it"]

_COLUMNS_MAX: Final = 5


def read_it(line: Mapping[str, Any], detail: Mapping[str, Any]) -> dict[str, str]:
    """Python, SQL and Spark, with every name quoted as the language wants it."""
    table = str(line["table"])
    database, _, name = table.partition(".")
    columns = [str(field["name"]) for field in detail["fields"]][:_COLUMNS_MAX]
    chosen = f"columns={columns!r}, limit=10" if columns else "limit=10"
    quoted = f"{_backticks(database)}.{_backticks(name)}"
    return {
        "python": "from paimon_provider.hooks.paimon import PaimonHook\n\n"
        f"table = PaimonHook({line['catalog']!r}).table({shown(table)!r})\n"
        f"rows = table.read({chosen}).to_arrow()\n",
        "sql": f"SELECT {', '.join(map(_backticks, columns)) or '*'}\nFROM {quoted}\nLIMIT 10\n",
        "spark": f"spark.table({f'paimon.{quoted}'!r}).show(10)\n",
    }


def _backticks(name: str) -> str:
    return "`" + shown(name).replace("`", "``") + "`"
