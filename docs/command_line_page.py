"""Write ``command-line.md`` from the commands: ``python docs/command_line_page.py``."""

from __future__ import annotations

import inspect
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Any, get_args

from generated import foot

from table_core.cli.commands import PROGRAM, Entry
from table_core.cli.json_schemas import ROWS, SCHEMAS
from table_core.cli.main import COMMAND, COMMANDS
from table_core.jobs.action import Heading

PAGE = Path(__file__).with_name("command-line.md")
HEAD = """\
# The command line

`table-core` reads, writes and maintains tables without Spark and without Airflow. It comes with the extra `cli` ([Install](install.md)), or with the
provider for Airflow.

Name the warehouse once:

```bash
export TABLE_CORE_WAREHOUSE=warehouse
table-core tables
```

`--warehouse` does the same for one call, and wins. A warehouse is a folder or a [URI of a store](stores.md).

The command takes a store's address and keys from the environment, as the store's own tools do. For S3, set `AWS_REGION`,
`AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`. Set `AWS_ENDPOINT_URL` too if the server is not Amazon's.

The options of a [JDBC, REST or Hive catalog](choose/3-catalog.md) go into a file that only you can read. Every user of a machine can read
a command line. Name the file in `TABLE_CORE_CATALOG_FILE`. It holds one JSON object, as `storage_options` of `open_catalog`. With a
REST catalog, `--warehouse` is the name that the server knows:

```bash
export TABLE_CORE_CATALOG_FILE=~/.catalog.json
table-core tables --warehouse lake
```

## What all commands have in common

| exit status | it means |
|---|---|
| 0 | done |
| 1 | failed. The [kind of the error](errors.md), its message and its facts are on standard error. `doctor` found a fault, or `validate` and `plan` refuse something |
| 2 | misuse: an unknown command or option, or one that is missing. With `plan --detailed-exitcode`: there are changes |

- **People and programs.** On a terminal you get tables that fit its width. Columns that a narrow terminal has no room for are named
  below the table. `--json` prints one document, or one object a line for rows. With `--json`, an error is one JSON document too.
- **Promised JSON.** `table-core json-schema COMMAND` prints the JSON Schema of what a command prints with `--json`. Members stay.
  New ones may come.
- **Progress.** Long work shows bars with rate and remaining time on a terminal. Pipes and `--json` get nothing of them.
- **Dry runs.** Every command that deletes has `--dry-run`. It says what would be done, and does nothing.
- **Once and only once.** With `--commit-user` and `--commit-identifier`, a second call finds what the first one committed. See
  [stores](stores.md#once-and-only-once).
- **Completion.** `table-core --install-completion` lets your shell complete commands, databases, tables and options of tables.

## Rows in files

`write` and `merge-into` read Parquet, CSV and JSON lines. They read in blocks, so a file may be larger than memory. The ending of a
name tells the format; `--format` wins. CSV and JSON may be packed (`.csv.gz`).

- **CSV** has the names of the columns in its first line. An empty cell is NULL. An empty text is `""`.
- **JSON lines** hold one object a line. A member that is missing is NULL.
- **Types** come from the table. Decimals, dates and times may be text. Bytes are base64. Maps are lists of pairs, or objects.
- **Zones.** A time with a zone, in a column without one, is stored as UTC. A time without a zone, in a column with one, is UTC.
- **Wrong values.** The first value that does not fit is named by file, line and column. Nothing is written then.

What `read` prints with `--format csv` or `--json`, `write` reads again. A column `_ROW_KIND` says what each row does, as in
[writing](writing.md).

## Commands
"""


KINDS = {str: "text", int: "number", float: "number", datetime: "time", Path: "file"}


def page() -> str:
    """The whole document."""
    parts = [HEAD]
    for heading in Heading:
        found = [entry for entry in COMMANDS if entry.heading is heading]
        if found:
            parts.append(f"### {heading.value}\n")
            parts += [described(entry) for entry in found]
    return (
        "\n".join(parts).rstrip() + "\n" + foot("command_line_page.py", "the commands themselves")
    )


def described(entry: Entry) -> str:
    command: Any = COMMAND
    for word in entry.path:
        command = command.commands[word]
    words = " ".join((PROGRAM, *entry.path))
    about = inspect.cleandoc(command.help or "").replace("\n\n", "\n").replace("\n", " ")
    lines = [f"#### {words}\n", f"{about}\n"]
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option" and p.name != "help"]
    usage = " ".join([words, *(_usage(p) for p in arguments), *(["[OPTIONS]"] if options else [])])
    lines.append(f"`{usage}`\n")
    if arguments or options:
        lines += ["| option | type | default | meaning |", "|---|---|---|---|"]
        lines += [_row(parameter) for parameter in (*arguments, *options)]
        lines.append("")
    lines.append(f"{_json(entry)}\n")
    lines.append(f"```bash\n{entry.line}\n```\n")
    return "\n".join(lines)


def _usage(argument: Any) -> str:
    name = argument.metavar or argument.name.upper()
    return name if argument.required else f"[{name}]"


def _row(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        name = f"`{parameter.metavar or parameter.name.upper()}`"
    else:
        name = ", ".join(f"`{word}`" for word in (*parameter.opts, *parameter.secondary_opts))
    if parameter.required:
        name = f"**{name}**"
    default = parameter.default
    plain = (
        default is None or default == () or default is False or default == "" or callable(default)
    )
    shown = "" if plain or parameter.required else f"`{getattr(default, 'value', default)}`"
    told = (parameter.help or "").replace("|", "\\|")
    if parameter.param_type_name == "option" and parameter.envvar:
        told += f" Variable: `{parameter.envvar}`."
    return f"| {name} | {_type(parameter)} | {shown} | {told} |"


def _type(parameter: Any) -> str:
    """What it takes, in a word."""
    if getattr(parameter, "is_flag", False):
        return "flag"
    kind = parameter.type_descriptor.annotation
    if several := get_args(kind):
        return f"{KINDS[several[0]]}, several"
    if issubclass(kind, Enum):
        return ", ".join(f"`{one.value}`" for one in kind)
    return KINDS[kind]


def _json(entry: Entry) -> str:
    words = " ".join(entry.path)
    if entry.path in ROWS:
        return "With `--json`: one object a line, with the columns of the table."
    if words not in SCHEMAS:
        return "It has no `--json`."
    if "rows_written" in SCHEMAS[words].get("properties", {}):
        return "With `--json`: the [result document](upkeep.md#what-every-verb-has-in-common)."
    return f"With `--json`: as `table-core json-schema {words}` says."


if __name__ == "__main__":
    PAGE.write_text(page())
