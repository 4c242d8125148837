"""Write ``options.md`` from the options that ``table_core`` knows: ``python docs/options_page.py``."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from generated import foot

from table_core.options.classes import class_of
from table_core.options.harmless import HARMLESS
from table_core.options.old_names import OLD_NAMES, replacement_of
from table_core.options.refused import REFUSED, Act
from table_core.options.shown_default import default_text
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
    "engine": "Accepted for Apache Paimon's own engine, without effect here",
}
_ACTS = {Act.READ: "reading", Act.COMMIT: "committing", Act.TAG: "tags"}
INTRO = """# Table options

Every option of a table: its default, what it does, and whether we do what it says.

- **Setting options.** Set them when you create a table, later with `SetOption`, or for one handle with
  `catalog.table(name, options={...})`.
- **Refused values.** Unknown options are refused. So are values that Apache Paimon does not read or that are out of range. Values
  that are stored already are not refused for this.
- **Values.** Words match in any case, with the `-` and `_` that Paimon writes. Durations look like `3 min`, `1 h` or `500`
  (milliseconds), sizes like `128 mb` or `1024` (bytes).
- **Patterns.** Options of single columns (such as `fields.<column>.aggregate-function`) and of formats (`parquet.*`, `orc.*`,
  `avro.*`) are recognised by their pattern and not listed.
- **Star.** A star marks an option that cannot change once the table has a snapshot.

Each option of Apache Paimon 2.0 has one class, whichever program stored it:

- **honoured**: we do what it says.
- **harmless**: it changes nothing here; rows and files are right without it. It is stored for Paimon.
- **refused**: a value that asks for something [stops reading, committing or both](#options-that-stop-a-table). Reading still
  works where the rows are right.
"""
STOPS = """## Options that stop a table

Each of these options has values that ask for nothing. If a table stores another value, reading or committing is refused. A refused
commit means that nothing is written, compacted, expired or rolled back, and no orphan is removed. Some options stop tags too. The
`UnsupportedFeatureError` names the option and the remedy: use Apache Paimon for the table, or remove the option with
`RemoveOption`. For one handle, `catalog.table(name, options={option: ""})` ignores the option.

| option | asks for nothing | what it stops | why |
|---|---|---|---|
"""
PASSED_OVER = """## Options that change nothing here

This table does not repeat the options above. It also leaves out the other `metadata.iceberg.*` options, and arguments of callbacks
and indexes whose names contain a name.

| option | why it is harmless |
|---|---|
"""
OLD = """## Options of older releases

If such an option is stored, it is ignored, as in Apache Paimon itself. If you set one, it is refused with the words below. Old names
of an option that still exists are listed with that option, after "Formerly".

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
    return "\n".join(parts) + foot(
        "options_page.py", "`table_core/options`; change the meanings there"
    )


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
    meaning = option.meaning.replace("|", "\\|") + (f". Formerly {aliases}." if aliases else "")
    return f"| {key} | {_default(option)} | {class_of(option.key)} | {meaning} |"


def _default(option: Any) -> str:
    text = default_text(option)
    return f"`{text}`" if text else ""


if __name__ == "__main__":
    PAGE.write_text(page())
