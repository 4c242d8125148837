"""What ``CALL sys.<procedure>`` does: the verbs of a table, by the names of Paimon's procedures."""

from __future__ import annotations

import datetime as dt
import re
from typing import TYPE_CHECKING, Any, Final

from table_core.errors import ArgumentError
from table_core.sql.statements import TableName
from table_core.table.api.state_jobs import create_branch, create_tag

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from table_core.sql.statements import Call
    from table_core.table.api.sql.context import Context
    from table_core.table.api.table import Table
    from table_core.table.metadata.results import ResultDocument

    Arguments = Mapping[str, Any]

__all__ = ["PERFORMED", "call"]


def call(statement: Call, context: Context, text: str) -> ResultDocument:
    """CALL."""
    return PERFORMED[statement.procedure](statement, context, text)


def _table(statement: Call, context: Context, text: str, **options: object) -> Table:
    """The table that the call names, with its options and these."""
    arguments = statement.arguments
    name = TableName(tuple(str(arguments["table"]).split(".")), statement.start)
    said = _options(arguments.get("options"))
    chosen = {key: str(value) for key, value in options.items() if value is not None}
    full = context.name(name, text)
    return context.catalog.table(full, options={**said, **chosen} or None)


def _options(text: object) -> dict[str, str]:
    """``'key=value,key=value'``."""
    options: dict[str, str] = {}
    for part in str(text).split(",") if text else ():
        key, sign, value = part.partition("=")
        if not sign:
            raise ArgumentError(
                f"options: {part!r}: write key=value", argument="options", value=text
            )
        options[key.strip()] = value.strip()
    return options


def _partitions(text: object) -> list[dict[str, str]] | None:
    """``'dt=2026-01-01,hh=1;dt=2026-01-02'``: AND within, OR between."""
    if not text:
        return None
    partitions = []
    for part in str(text).split(";"):
        values = _options(part)
        partitions.append({key: value.strip("'\"") for key, value in values.items()})
    return partitions


def _moment(name: str, text: object) -> dt.datetime | int | None:
    """A time of text, in UTC unless it says otherwise, or of milliseconds."""
    if text is None or isinstance(text, int):
        return text
    if str(text).isdigit():
        return int(str(text))
    try:
        moment = dt.datetime.fromisoformat(str(text))
    except ValueError as error:
        raise ArgumentError(
            f"{name}={text!r}: write a time such as '2026-01-31 10:00:00'",
            argument=name,
            value=text,
        ) from error
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=dt.UTC)


def _compact(statement: Call, context: Context, text: str) -> ResultDocument:
    arguments = statement.arguments
    order = str(arguments.get("order_strategy", "none")).lower()
    columns = [
        name.strip() for name in str(arguments.get("order_by", "")).split(",") if name.strip()
    ]
    if (order == "none") != (not columns):
        raise ArgumentError(
            "order_strategy and order_by belong together", argument="order_by", value=columns
        )
    if order not in {"none", "order", "zorder", "hilbert"}:
        raise ArgumentError(
            f"order_strategy={order!r}: order, zorder, hilbert or none",
            argument="order_strategy",
            value=order,
        )
    return _table(statement, context, text).compact(
        strategy=str(arguments.get("compact_strategy", "full")),
        partitions=_partitions(arguments.get("partitions")),
        where=_text(arguments.get("where")),
        order_by=None if order == "none" else [f"{order}({', '.join(columns)})"],
        commit=context.commit,
    )


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _compact_database(statement: Call, context: Context, _: str) -> ResultDocument:
    """Patterns are of ``database.table``, as Paimon's."""
    arguments, catalog = statement.arguments, context.catalog
    wanted = re.compile(str(arguments.get("including_databases", ".*")))
    including = re.compile(str(arguments.get("including_tables", ".*")))
    excluding = str(arguments.get("excluding_tables", ""))
    databases = [name for name in catalog.databases() if wanted.fullmatch(name)]
    if len(databases) != 1:
        raise ArgumentError(
            f"including_databases matches {len(databases)} databases ({', '.join(databases)}): call it for "
            "one at a time",
            argument="including_databases",
            value=wanted.pattern,
        )
    (database,) = databases
    tables = [
        table
        for table in catalog.tables(database)
        if including.fullmatch(f"{database}.{table}")
        and not (excluding.strip() and re.fullmatch(excluding, f"{database}.{table}"))
    ]
    chosen = "|".join(map(re.escape, tables)) or "(?!)"
    return catalog.compact_database(database, including=chosen, strategy="full")


def _rescale(statement: Call, context: Context, text: str) -> ResultDocument:
    arguments = statement.arguments
    return _table(statement, context, text).rescale(
        arguments.get("bucket_num"),
        _partitions(arguments.get("partitions")),
        commit=context.commit,
    )


def _expire_snapshots(statement: Call, context: Context, text: str) -> ResultDocument:
    arguments = statement.arguments
    return _table(statement, context, text).expire_snapshots(
        retain_max=arguments.get("retain_max"),
        retain_min=arguments.get("retain_min"),
        older_than=_moment("older_than", arguments.get("older_than")),
        max_deletes=arguments.get("max_deletes"),
    )


def _expire_partitions(statement: Call, context: Context, text: str) -> ResultDocument:
    arguments = statement.arguments
    table = _table(
        statement,
        context,
        text,
        **{
            "partition.timestamp-formatter": arguments.get("timestamp_formatter"),
            "partition.timestamp-pattern": arguments.get("timestamp_pattern"),
            "partition.expiration-strategy": arguments.get("expire_strategy"),
            "partition.expiration-max-num": arguments.get("max_expires"),
        },
    )
    return table.expire_partitions(_text(arguments.get("expiration_time")), commit=context.commit)


def _expire_tags(statement: Call, context: Context, text: str) -> ResultDocument:
    older_than = _moment("older_than", statement.arguments.get("older_than"))
    return _table(statement, context, text).expire_tags(older_than)


def _remove_orphan_files(statement: Call, context: Context, text: str) -> ResultDocument:
    arguments = statement.arguments
    return _table(statement, context, text).remove_orphan_files(
        _moment("older_than", arguments.get("older_than")), dry_run=arguments.get("dry_run", False)
    )


def _compact_manifest(statement: Call, context: Context, text: str) -> ResultDocument:
    dry_run = bool(statement.arguments.get("dry_run", False))
    table = _table(statement, context, text)
    return table.rewrite_manifests(dry_run=dry_run, commit=context.commit)


def _rollback(statement: Call, context: Context, text: str) -> ResultDocument:
    arguments = statement.arguments
    said = [name for name in ("version", "snapshot", "tag") if name in arguments]
    if len(said) != 1:
        raise ArgumentError(
            "rollback takes one of version, snapshot and tag", argument="version", value=said
        )
    version = str(arguments[said[0]])
    is_tag = said[0] == "tag" or (said[0] == "version" and not version.isdigit())
    where: dict[str, Any] = {"tag": version} if is_tag else {"snapshot": int(version)}
    return _table(statement, context, text).rollback_to(**where, commit=context.commit)


def _rollback_to_timestamp(statement: Call, context: Context, text: str) -> ResultDocument:
    moment = statement.arguments["timestamp"]
    return _table(statement, context, text).rollback_to(timestamp=moment, commit=context.commit)


def _create_tag(statement: Call, context: Context, text: str) -> ResultDocument:
    arguments = statement.arguments
    chosen = {name: arguments.get(name) for name in ("snapshot", "timestamp", "time_retained")}
    asked = {"name": arguments["tag"], "if_not_exists": False, **chosen}
    return create_tag(_table(statement, context, text), asked)


def _replace_tag(statement: Call, context: Context, text: str) -> ResultDocument:
    arguments = statement.arguments
    return _table(statement, context, text).tags.replace(
        arguments["tag"],
        snapshot=arguments.get("snapshot"),
        time_retained=arguments.get("time_retained"),
    )


def _rename_tag(statement: Call, context: Context, text: str) -> ResultDocument:
    arguments = statement.arguments
    return _table(statement, context, text).tags.rename(arguments["tag"], arguments["target_tag"])


def _delete_tag(statement: Call, context: Context, text: str) -> ResultDocument:
    names = [name.strip() for name in str(statement.arguments["tag"]).split(",")]
    return _table(statement, context, text).delete_tags(names)


def _create_branch(statement: Call, context: Context, text: str) -> ResultDocument:
    arguments = statement.arguments
    asked = {
        "name": arguments["branch"],
        "tag": arguments.get("tag"),
        "if_not_exists": arguments.get("ignoreIfExists", False),
    }
    return create_branch(_table(statement, context, text), asked)


def _rename_branch(statement: Call, context: Context, text: str) -> ResultDocument:
    arguments = statement.arguments
    branches = _table(statement, context, text).branches
    return branches.rename(arguments["from_branch"], arguments["to_branch"])


def _delete_branch(statement: Call, context: Context, text: str) -> ResultDocument:
    name = str(statement.arguments["branch"])
    if "," in name:
        raise ArgumentError(
            "delete_branch takes one branch here: call it for each", argument="branch", value=name
        )
    return _table(statement, context, text).branches.delete(name)


def _fast_forward(statement: Call, context: Context, text: str) -> ResultDocument:
    branches = _table(statement, context, text).branches
    return branches.fast_forward(statement.arguments["branch"])


def _mark_partition_done(statement: Call, context: Context, text: str) -> ResultDocument:
    partitions = _partitions(statement.arguments["partitions"])
    return _table(statement, context, text).mark_done(partitions)


def _reset_consumer(statement: Call, context: Context, text: str) -> ResultDocument:
    arguments = statement.arguments
    consumers = _table(statement, context, text).consumers
    if "nextSnapshotId" not in arguments:
        return consumers.delete(arguments["consumerId"])
    return consumers.reset(arguments["consumerId"], arguments["nextSnapshotId"])


def _clear_consumers(statement: Call, context: Context, text: str) -> ResultDocument:
    arguments = statement.arguments
    return _table(statement, context, text).consumers.clear(
        arguments.get("includingConsumers", ".*"), arguments.get("excludingConsumers", "")
    )


PERFORMED: Final[dict[str, Callable[[Call, Context, str], ResultDocument]]] = {
    "clear_consumers": _clear_consumers,
    "compact": _compact,
    "compact_database": _compact_database,
    "compact_manifest": _compact_manifest,
    "create_branch": _create_branch,
    "create_tag": _create_tag,
    "create_tag_from_timestamp": _create_tag,
    "delete_branch": _delete_branch,
    "delete_tag": _delete_tag,
    "expire_partitions": _expire_partitions,
    "expire_snapshots": _expire_snapshots,
    "expire_tags": _expire_tags,
    "fast_forward": _fast_forward,
    "mark_partition_done": _mark_partition_done,
    "remove_orphan_files": _remove_orphan_files,
    "rename_branch": _rename_branch,
    "rename_tag": _rename_tag,
    "replace_tag": _replace_tag,
    "rescale": _rescale,
    "reset_consumer": _reset_consumer,
    "rollback": _rollback,
    "rollback_to_timestamp": _rollback_to_timestamp,
}
"""Every procedure that ``table_core.sql.call`` calls done."""
