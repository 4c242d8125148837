"""Tables declared, and their declaration changed."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any, Final

from table_core.errors import ArgumentError
from table_core.jobs.action import Action, Job, Parameter
from table_core.shapes import kinds
from table_core.shapes.containers import ListOf
from table_core.shapes.texts import COMMENT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from table_core.datatypes.kinds import Field
    from table_core.schema.change import SchemaChange
    from table_core.schema.table_schema import TableSchema
    from table_core.table.metadata.results import ResultDocument

__all__ = ["ACTIONS"]


def _create_table(job: Job) -> ResultDocument:
    """A database that is missing is made."""
    from table_core.table.metadata.describing import FilesOf, unchanged

    args = dict(job.args)
    columns = [_field(name, told) for name, told in args.pop("columns").items()]
    table, created = job.catalog.create_with_database(job.target, columns, **args)
    return unchanged(
        table.access,
        "create-table",
        {"created": created, **_advice(table.definition)},
        files=FilesOf.of(table.access, None) if created else None,
    )


def _advice(schema: TableSchema) -> dict[str, str]:
    from table_core.expire.undatable import useless_retention

    advice = useless_retention(schema)
    return {} if advice is None else {"advice": advice}


def _field(name: str, told: Any) -> Field:
    """A column: its type, or that with a comment and a default."""
    from table_core.datatypes.kinds import Field
    from table_core.datatypes.text import parse_type

    if isinstance(told, str):
        return Field(0, name, parse_type(told))
    more = dict(told)
    type_, comment, default = (more.pop(key, None) for key in ("type", "comment", "default"))
    if more or type_ is None:
        raise ArgumentError(
            f"column {name!r}: give a type, or a mapping of type, comment and default",
            argument="columns",
            value=told,
        )
    return Field(0, name, parse_type(type_), comment, default)


def _alter_table(job: Job) -> ResultDocument:
    from table_core.table.api.catalog import altered
    from table_core.table.metadata.describing import unchanged

    wanted = [_schema_change(n, document) for n, document in enumerate(job.args["changes"])]
    before = job.table
    table = altered(before, wanted, job.commit, allow=job.args["allow"])
    after = table.definition
    details = {"schema_before": before.definition.id, "schema_after": after.id, **_advice(after)}
    return unchanged(table.access, "alter-table", details)


def _schema_change(position: int, document: Mapping[str, Any]) -> SchemaChange:
    """``{"change": "SetOption", "key": "bucket", "value": "8"}`` as the change it names."""
    from table_core.schema import change as changes

    where = f"changes[{position}]"
    members = dict(document)
    name = members.pop("change", None)
    known = [cls for cls in changes.__all__ if cls != "SchemaChange"]
    if name not in known:
        raise ArgumentError(
            f"unknown change {name!r}; known: {', '.join(known)}", argument=f"{where}['change']"
        )
    cls = getattr(changes, name)
    taken = {member.name: member.default is MISSING for member in fields(cls)}
    missing = [member for member, required in taken.items() if required and member not in members]
    unknown = [member for member in members if member not in taken]
    if missing or unknown:
        faults = [f"lacks {', '.join(missing)}"] if missing else []
        faults += [f"has no {', '.join(unknown)}"] if unknown else []
        raise ArgumentError(
            f"{name} {' and '.join(faults)}; its members: {', '.join(taken)}", argument=where
        )
    change: SchemaChange = cls(**members)
    return change


ACTIONS: Final = (
    Action(
        name="create-table",
        about="Create a table, and its database if that is missing.",
        run=_create_table,
        parameters=(
            Parameter(
                name="columns",
                shape=kinds.VALUES,
                about="Column name to type, or to {type, comment, default}, in order.",
                required=True,
                templated=True,
            ),
            Parameter(
                name="primary_key",
                shape=kinds.NAMES,
                default=(),
                about="The key columns. Without a key, rows are appended.",
                templated=True,
            ),
            Parameter(
                name="partition_by",
                shape=kinds.NAMES,
                default=(),
                about="The partition columns.",
                templated=True,
            ),
            Parameter(name="options", shape=kinds.OPTIONS, about="Table options.", templated=True),
            Parameter(
                name="comment",
                shape=COMMENT,
                about="A description of the table.",
                templated=True,
            ),
            Parameter(
                name="if_not_exists",
                shape=kinds.FLAG,
                default=True,
                about="Keep an existing table of that name instead of failing.",
            ),
        ),
        command=None,
    ),
    Action(
        name="alter-table",
        about="Change columns, options or the comment of a table.",
        run=_alter_table,
        parameters=(
            Parameter(
                name="changes",
                shape=kinds.RECORDS,
                about="E.g. [{'change': 'AddColumn', 'name': 'note', 'type': 'STRING'}].",
                required=True,
                templated=True,
            ),
            Parameter(
                name="allow",
                shape=ListOf(item=kinds.words("narrow"), what="a list of words"),
                default=(),
                about="narrow: types may become ones that do not hold every value, if all stored values fit.",
                templated=True,
            ),
        ),
        command=None,
    ),
)
