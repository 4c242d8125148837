"""Write ``options.md`` from the options that ``table_core`` knows: ``python docs/options_page.py``."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from table_core.options import parse

PAGE = Path(__file__).with_name("options.md")
GROUPS = {
    "identity": "What a table is",
    "merge": "Merging",
    "files": "Files",
    "write": "Writing and compaction",
    "commit": "Commits",
    "scan": "Reading",
    "retention": "Expiry and retention",
    "engine": "Taken for Apache Paimon's own engine, without effect here",
}
UNITS = {
    parse.duration_ms: (
        ("d", 86_400_000),
        ("h", 3_600_000),
        ("min", 60_000),
        ("s", 1000),
        ("ms", 1),
    ),
    parse.size_bytes: (("gb", 1 << 30), ("mb", 1 << 20), ("kb", 1 << 10), ("b", 1)),
}
INTRO = """# Table options

Written by `docs/options_page.py` from `table_core/options`; change the meanings there. Options are set when a table is
created, by `SetOption`, or for one handle by `catalog.table(name, options={...})`. Unknown ones are refused, except where
they are stored already. Options of single columns (`fields.<column>.aggregate-function` and its like) and of formats
(`parquet.*`, `orc.*`, `avro.*`) are known by their pattern and not listed. A star marks what cannot change once the table
has a snapshot.
"""


def page() -> str:
    """The whole document."""
    parts = [INTRO]
    for name, title in GROUPS.items():
        module = import_module(f"table_core.options.keys_{name}")
        options = sorted((getattr(module, each) for each in module.__all__), key=lambda o: o.key)
        parts.append(f"## {title}\n\n| option | default | meaning |\n|---|---|---|")
        parts[-1] += "".join(f"\n{_row(option)}" for option in options) + "\n"
    return "\n".join(parts)


def _row(option: Any) -> str:
    key = f"`{option.key}`" + ("*" if option.immutable else "")
    aliases = ", ".join(f"`{alias}`" for alias in option.aliases)
    meaning = option.meaning.replace("|", "\\|") + (f" Formerly {aliases}." if aliases else "")
    return f"| {key} | {_default(option)} | {meaning} |"


def _default(option: Any) -> str:
    value = option.default
    if option.parse in UNITS and value is not None:
        return f"`{_amount(value, UNITS[option.parse])}`"
    if value is None or value == () or value == "":
        return ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, tuple | list):
        return f"`{','.join(map(str, value))}`"
    return f"`{value}`"


def _amount(value: int, units: tuple[tuple[str, int], ...]) -> str:
    unit, size = next(pair for pair in units if value % pair[1] == 0)
    return f"{value // size} {unit}"


if __name__ == "__main__":
    PAGE.write_text(page())
