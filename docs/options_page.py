"""Write ``options.md`` from the options that ``table_core`` knows: ``python docs/options_page.py``."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from table_core.options import parse
from table_core.options.classes import class_of
from table_core.options.harmless import HARMLESS
from table_core.options.old_names import OLD_NAMES, replacement_of
from table_core.options.refused import REFUSED, Act
from table_core.options.table import OPTIONS

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
_ACTS = {Act.READ: "reading", Act.COMMIT: "committing", Act.TAG: "tags"}
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
created, by `SetOption`, or for one handle by `catalog.table(name, options={...})`. Unknown ones are refused, and so are values that Apache Paimon
does not read or that are out of range, except where they are stored already. Words are taken in any case, with the `-` and
`_` that Paimon writes; durations are as `3 min`, `1 h` or `500` (milliseconds), sizes as `128 mb` or `1024` (bytes). Options of single columns (`fields.<column>.aggregate-function` and its like) and of formats
(`parquet.*`, `orc.*`, `avro.*`) are known by their pattern and not listed. A star marks what cannot change once the table
has a snapshot.

Each option of Apache Paimon 2.0 has one class, whoever stored it:

- **honoured**: we do what it says.
- **harmless**: it changes nothing here; rows and files are right without it. It is stored for Paimon.
- **refused**: a value that asks for something [stops reading, committing or both](#options-that-stop-a-table). Reading goes
  on where the rows are right.
"""
STOPS = """## Options that stop a table

A table that stores such an option with another value than those that ask for nothing is not read, or is not committed to:
nothing is written, compacted, expired or rolled back, and no orphan is removed. Some stop tags too. The
`UnsupportedFeatureError` names the option and the way out: use Apache Paimon for it, or take the option away with
`RemoveOption`. For one handle, `catalog.table(name, options={option: ""})` says that you do without what it asks for.

| option | asks for nothing | what it stops | why |
|---|---|---|---|
"""
PASSED_OVER = """## Options that change nothing here

Those of the tables above are not listed again. Nor are `metadata.iceberg.*` beside `metadata.iceberg.storage`, and
arguments of callbacks and indexes whose names hold a name.

| option | why it is harmless |
|---|---|
"""
OLD = """## Options of older releases

Stored ones are passed over, as Apache Paimon itself does; one that you give is refused with these words. Old names that mean
a new one are told of with that one, as "Formerly".

| option | what to do |
|---|---|
"""


def page() -> str:
    """The whole document."""
    parts = [INTRO]
    for name, title in GROUPS.items():
        module = import_module(f"table_core.options.keys_{name}")
        options = sorted((getattr(module, each) for each in module.__all__), key=lambda o: o.key)
        parts.append(f"## {title}\n\n| option | default | class | meaning |\n|---|---|---|---|")
        parts[-1] += "".join(f"\n{_row(option)}" for option in options) + "\n"
    parts += [STOPS + _refusals(), PASSED_OVER + _harmless(), OLD + _old_names()]
    return "\n".join(parts)


def _refusals() -> str:
    lines = []
    for _, refusal in sorted(REFUSED.items()):
        idle = ", ".join(f"`{value}`" for value in refusal.idle if value) or "unset"
        if refusal.readable:
            more = ", ".join(f"`{value}`" for value in refusal.readable)
            idle += f"; for reading {more}"
        stops = ", ".join(_ACTS[act] for act in Act if act in refusal.stops)
        lines.append(f"| `{refusal.key}` | {idle} | {stops} | {refusal.why} |\n")
    return "".join(lines)


def _harmless() -> str:
    rest = sorted((key, why) for key, why in HARMLESS.items() if key not in OPTIONS)
    return "".join(f"| `{key}` | {why} |\n" for key, why in rest)


def _old_names() -> str:
    names = sorted([*OLD_NAMES.items(), ("log.*", replacement_of("log.system"))])
    return "".join(f"| `{key}` | {what} |\n" for key, what in names)


def _row(option: Any) -> str:
    key = f"`{option.key}`" + ("*" if option.immutable else "")
    aliases = ", ".join(f"`{alias}`" for alias in option.aliases)
    meaning = option.meaning.replace("|", "\\|") + (f" Formerly {aliases}." if aliases else "")
    return f"| {key} | {_default(option)} | {class_of(option.key)} | {meaning} |"


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
