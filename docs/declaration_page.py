"""Write ``declaration-reference.md`` from the records of a declaration: ``python docs/declaration_page.py``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from generated import foot

from table_core.declaration.difference import WORDS
from table_core.declaration.grammar import DECLARATION
from table_core.declaration.verbs import ACTIONS, COMMON, OF_AIRFLOW, VERBS
from table_core.shapes.containers import ListOf, MapOf, Record
from table_core.shapes.shape import OneOf, Shape

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path(__file__).with_name("declaration-reference.md")
INTRO = """# Members of a declaration

Every member that a declaration may have. [Declaration](declaration.md) shows how to use them, and an editor can check them by the
[JSON Schema](../declarations/schema.json). Members in **bold** are required.
"""


def rows(members: dict[str, Shape], required: tuple[str, ...]) -> Iterator[str]:
    yield "| member | type | meaning |\n|---|---|---|"
    for name, shape in members.items():
        shown = f"**`{name}`**" if name in required else f"`{name}`"
        about = shape.about.replace("|", "\\|")
        yield f"| {shown} | {shape.in_words} | {about} |"


def records(name: str, shape: Shape) -> Iterator[tuple[str, Record]]:
    """The records below a member, each with where it stands."""
    if isinstance(shape, Record):
        yield name, shape
        for member, inner in shape.members.items():
            yield from records(f"{name}.{member}", inner)
    elif isinstance(shape, ListOf | MapOf):
        yield from records(f"{name}.*" if isinstance(shape, MapOf) else name, shape.item)
    elif isinstance(shape, OneOf):
        for one in shape.shapes:
            yield from records(name, one)


def part(title: str, members: dict[str, Shape], required: tuple[str, ...]) -> str:
    return "\n".join([f"## {title}\n", *rows(members, required)]) + "\n"


def page() -> str:
    parts = [INTRO, part("The file", dict(DECLARATION.members), tuple(DECLARATION.required))]
    seen: set[int] = set()
    for name, shape in DECLARATION.members.items():
        for where, record in records(name, shape):
            if id(record) not in seen and record.members:
                parts.append(part(f"`{where}`", dict(record.members), tuple(record.required)))
            seen.add(id(record))
    parts.append(
        "## Sources and flows\n\nEach has exactly one verb. It also takes these members:\n"
    )
    parts.append("\n".join(rows(dict(COMMON), ("table",))) + "\n")
    for name, verb in VERBS.items():
        members = dict(verb.takes)
        if name != "run":
            members["with"] = verb.arguments
        parts.append(f"### `{name}`\n\n{verb.about}\n")
        parts.append("\n".join(rows(members, (name,))) + "\n")
        for where, record in [r for m, s in verb.takes.items() for r in records(m, s)]:
            parts.append(
                f"`{where}`:\n\n"
                + "\n".join(rows(dict(record.members), tuple(record.required)))
                + "\n"
            )
        own = {k: v for k, v in verb.arguments.members.items() if k not in OF_AIRFLOW}
        if own:
            parts.append("`with`:\n\n" + "\n".join(rows(own, ())) + "\n")
    parts.append("### `with`, of every task\n\n" + "\n".join(rows(dict(OF_AIRFLOW), ())) + "\n")
    for name, action in ACTIONS.items():
        changes = (
            " It changes rows, so readers that come after it in the file wait for it."
            if action.changes_rows
            else ""
        )
        parts.append(f"### `run: {name}`\n\n`{action.operator.rpartition('.')[2]}`.{changes}\n")
        if action.takes:
            parts.append("\n".join(rows(dict(action.takes), tuple(action.required))) + "\n")
    words = "\n".join(f"| `{word}` | {about} |" for word, about in WORDS.items())
    parts.append(f"## Words of `allow`\n\n| word | what it allows |\n|---|---|\n{words}\n")
    return "\n".join(parts) + foot("declaration_page.py", "the records in `table_core/declaration`")


if __name__ == "__main__":
    PAGE.write_text(page())
