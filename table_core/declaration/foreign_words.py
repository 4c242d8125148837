"""Members as other tools call them, or that stand in another place here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from table_core.options.nearest import hint, nearest
from table_core.options.table import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["member_hint"]

_OURS: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(("models", "entities"), ("tables",)),
    **dict.fromkeys(("environments", "workspaces", "profiles", "outputs"), ("targets",)),
    **dict.fromkeys(("tests", "expectations", "quality", "data_tests"), ("checks",)),
    **dict.fromkeys(("jobs", "pipelines", "tasks", "transformations", "steps"), ("flows",)),
    **dict.fromkeys(("maintenance", "housekeeping"), ("upkeep",)),
    **dict.fromkeys(("events", "sensors", "listeners"), ("triggers",)),
    **dict.fromkeys(("imports", "includes", "import"), ("include",)),
    **dict.fromkeys(
        ("properties", "tblproperties", "table_properties", "config", "settings"), ("options",)
    ),
    **dict.fromkeys(("description", "descriptions", "doc", "docs", "remark"), ("comment",)),
    **dict.fromkeys(("data_type", "datatype", "dtype", "kind"), ("type",)),
    **dict.fromkeys(("default_value", "initial"), ("default",)),
    **dict.fromkeys(
        ("depends_on", "needs", "upstream", "requires", "dependson", "dependencies"), ("after",)
    ),
    **dict.fromkeys(("query", "select", "sql_text", "statement", "transform"), ("sql",)),
    **dict.fromkeys(("target", "into", "output", "sink", "destination", "to", "model"), ("table",)),
    **dict.fromkeys(
        ("inputs", "input", "from", "ref", "refs", "views", "source"), ("reads", "source")
    ),
    **dict.fromkeys(("files", "path", "location", "glob"), ("rows_uri", "warehouse")),
    **dict.fromkeys(("args", "arguments", "parameters"), ("with",)),
    **dict.fromkeys(("incremental", "stream", "streaming"), ("mode",)),
    **dict.fromkeys(("using",), ("source",)),
    **dict.fromkeys(("set", "assignments"), ("values",)),
    **dict.fromkeys(("condition", "filter", "predicate"), ("where", "condition")),
    **dict.fromkeys(("uniqueness", "unique_key", "distinct"), ("unique", "primary_key")),
    **dict.fromkeys(("row_count", "count", "volume"), ("rows",)),
    **dict.fromkeys(("min_max", "between", "bounds"), ("range",)),
    **dict.fromkeys(("compare_with", "reference"), ("against",)),
    **dict.fromkeys(("tolerance", "threshold", "mostly"), ("at_most",)),
    **dict.fromkeys(("poll", "interval", "poll_interval"), ("poll_seconds",)),
    **dict.fromkeys(("old", "old_name"), ("from",)),
    **dict.fromkeys(("new", "new_name", "name"), ("to", "tag")),
    **dict.fromkeys(("keys", "key", "pk"), ("primary_key",)),
    **dict.fromkeys(("partitions", "partitioning", "partition", "cluster_by"), ("partition_by",)),
    **dict.fromkeys(("tag", "labels", "label"), ("tags",)),
    **dict.fromkeys(("cron", "schedule_interval", "timetable"), ("schedule",)),
    **dict.fromkeys(("tz", "zone"), ("timezone",)),
    **dict.fromkeys(("concurrency", "max_active_runs"), ("max_active_tasks",)),
    **dict.fromkeys(("variables", "vars"), ("params",)),
}
"""What others call it, and what it is called here; the first that fits the place."""
_TOLD: Final[dict[str, str]] = {
    **dict.fromkeys(("nullable", "not_null", "null", "required"), "write NOT NULL behind the type"),
    **dict.fromkeys(
        ("owner", "catchup", "start_date", "end_date", "default_args", "dag_id"),
        "give it to load_dags in the Dag file",
    ),
    **dict.fromkeys(
        ("accepted_values", "relationships", "expression"),
        "write a query of the rows that break it: sql: SELECT * FROM rows WHERE …",
    ),
    **dict.fromkeys(
        ("materialized", "strategy", "incremental_strategy"),
        "say with overwrite, merge or mode: changes how rows get into the table",
    ),
    "password": "secrets belong into a connection",
    "apiversion": "write version: 1",
    "resource": "write tables: with a mapping of database.table",
    "provider": "write connection: with the name of an Airflow connection",
}
_NEAR: Final = 0.85
"""How alike a spelling is to a word to count as a slip."""


def member_hint(member: str, known: Iterable[str], *, inner: Iterable[str] = ()) -> str:
    """What may have been meant by a member that there is not; ``inner`` may stand under ``with``."""
    known = list(dict.fromkeys(known))
    if member in inner:
        return f"{member} stands under with"
    folded = member.replace("-", "_").casefold()
    if nearest(folded, known, cutoff=_NEAR):
        return hint(member, known)
    if member in OPTIONS and "options" in known:
        return "it is an option: write it under options"
    ours = next((name for name in _OURS.get(folded, ()) if name in known), None)
    if ours is not None:
        return f"did you mean {ours!r}?"
    near = hint(member, known)
    if near.startswith("did"):
        return near
    return _TOLD.get(folded) or near
