"""Writes jobs.md from the registry of actions: ``python docs/jobs_page.py``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from generated import foot

from table_core.jobs.action import COMMON
from table_core.jobs.job_spec import VERSION
from table_core.jobs.registry import ACTIONS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from table_core.jobs.action import Action, Parameter

PAGE = Path(__file__).with_name("jobs.md")
HEAD = f"""\
# Jobs: every verb and its arguments

A job is one piece of work as a JSON document. Operators and commands make them; you can, too:

```json
{{"version": {VERSION}, "action": "compact", "warehouse": "file:///wh", "table": "shop.orders",
 "args": {{"strategy": "minor"}}, "options": {{}}, "commit_user": null, "commit_identifier": null}}
```

Run it with `python -m table_core.spark.entrypoint --spec FILE --result FILE`, or with `table_core.jobs.run.run_embedded`. A job checks its
arguments before it touches the warehouse. It refuses an argument that is unknown (with the nearest spelling), missing or of the wrong kind.
`null` means that the argument is not given. Arguments in **bold** are required.

Every job takes these arguments for its commit:
"""


def rows(parameters: Iterable[Parameter]) -> str:
    lines = ["| argument | type | default | meaning |", "|---|---|---|---|"]
    for parameter in parameters:
        if parameter.job:
            name = f"`{parameter.name}`"
            shown = "" if parameter.default is None else f"`{parameter.default!r}`"
            told = parameter.about.replace("|", "\\|")
            name = f"**{name}**" if parameter.required else name
            lines.append(f"| {name} | {parameter.shape.in_words} | {shown} | {told} |")
    return "\n".join(lines) + "\n"


def described(action: Action) -> str:
    told = f"{action.about} On a {action.target}; run by {action.run_by}."
    if action.command is not None:
        told += f" Command: `table-core {' '.join(action.command.path or (action.name,))}`."
    return f"## {action.name}\n\n{told}\n\n{rows(action.parameters)}"


def page() -> str:
    actions = sorted(ACTIONS.values(), key=lambda action: action.name)
    return "\n".join([HEAD, rows(COMMON), *(described(action) for action in actions)]) + foot(
        "jobs_page.py", "the registry that also checks jobs, commands and operators"
    )


if __name__ == "__main__":
    PAGE.write_text(page())
