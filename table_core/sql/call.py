"""CALL: the procedures of Paimon on Spark, with their parameters, and which of them are done here.

Source: ``org.apache.paimon.spark.SparkProcedures``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from table_core.options.nearest import hint
from table_core.sql.statements import Call
from table_core.sql.values import take_value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from table_core.sql.text import Words

__all__ = ["PROCEDURES", "Procedure", "parse_call"]

_INDEXES: Final = "global indexes are not written"
_FUNCTIONS: Final = "there are no functions and views of a catalog's own"
_OF_SPARK: Final = "it brings tables of Spark's catalog; use table-core write"


@dataclass(frozen=True, slots=True)
class Procedure:
    """One procedure."""

    parameters: tuple[str, ...] = ()
    """In their order; ``!`` behind the name: required, ``#``: a whole number, ``?``: a truth value."""
    refusal: str = ""
    """Why it is not done, and what is done instead; empty if it is done."""
    ignored: tuple[str, ...] = ()
    """Parameters of Paimon's that are refused."""

    def kinds(self) -> dict[str, str]:
        """Each parameter with its marks."""
        return {name.rstrip("!#?"): name[len(name.rstrip("!#?")) :] for name in self.parameters}


PROCEDURES: Final[Mapping[str, Procedure]] = {
    "compact": Procedure(
        (
            *("table!", "partitions", "compact_strategy", "order_strategy", "order_by", "where"),
            "options",
        ),
        ignored=("partition_idle_time", "buckets"),
    ),
    "compact_database": Procedure(
        ("including_databases", "including_tables", "excluding_tables"), ignored=("options",)
    ),
    "rescale": Procedure(("table!", "bucket_num#", "partitions"), ignored=("where",)),
    "expire_snapshots": Procedure(
        ("table!", "retain_max#", "retain_min#", "older_than", "max_deletes#", "options")
    ),
    "expire_partitions": Procedure(
        (
            *("table!", "expiration_time", "timestamp_formatter", "timestamp_pattern"),
            *("expire_strategy", "max_expires#", "options"),
        )
    ),
    "expire_tags": Procedure(("table!", "older_than")),
    "remove_orphan_files": Procedure(
        ("table!", "older_than", "dry_run?"), ignored=("parallelism", "mode")
    ),
    "compact_manifest": Procedure(
        ("table!", "options", "dry_run?"),
        ignored=(
            *("manifest_sort_enabled", "manifest_sort_partition_field"),
            "manifest_sort_max_rewrite_size",
        ),
    ),
    "rollback": Procedure(("table!", "version", "snapshot#", "tag")),
    "rollback_to_timestamp": Procedure(("table!", "timestamp!#")),
    "create_tag": Procedure(("table!", "tag!", "snapshot#", "time_retained")),
    "create_tag_from_timestamp": Procedure(("table!", "tag!", "timestamp#", "time_retained")),
    "replace_tag": Procedure(("table!", "tag!", "snapshot#", "time_retained")),
    "rename_tag": Procedure(("table!", "tag!", "target_tag!")),
    "delete_tag": Procedure(("table!", "tag!")),
    "create_branch": Procedure(("table!", "branch!", "tag", "ignoreIfExists?")),
    "rename_branch": Procedure(("table!", "from_branch!", "to_branch!")),
    "delete_branch": Procedure(("table!", "branch!")),
    "fast_forward": Procedure(("table!", "branch!")),
    "mark_partition_done": Procedure(("table!", "partitions!")),
    "reset_consumer": Procedure(("table!", "consumerId!", "nextSnapshotId#")),
    "clear_consumers": Procedure(("table!", "includingConsumers", "excludingConsumers")),
    "rollback_to_watermark": Procedure(refusal="write rollback with the snapshot"),
    "purge_files": Procedure(refusal="write TRUNCATE TABLE, then expire_snapshots"),
    "create_global_index": Procedure(refusal=_INDEXES),
    "drop_global_index": Procedure(refusal=_INDEXES),
    "materialize_deletion_vectors": Procedure(
        refusal="write compact with compact_strategy => 'full'"
    ),
    "compact_chain_table": Procedure(refusal="there are no chain tables"),
    "migrate_database": Procedure(refusal=_OF_SPARK),
    "migrate_table": Procedure(refusal=_OF_SPARK),
    "remove_unexisting_files": Procedure(refusal="use table-core recover"),
    "repair": Procedure(refusal="the folders are the catalog"),
    "repair_earliest_snapshot": Procedure(refusal="use table-core recover"),
    "merge_branch": Procedure(refusal="write fast_forward, or MERGE INTO"),
    "trigger_tag_automatic_creation": Procedure(
        refusal="each commit creates the tags that are due"
    ),
    "rewrite_file_index": Procedure(refusal="write compact, which writes the indexes anew"),
    "copy": Procedure(refusal="use table-core clone"),
    "reassign_row_id": Procedure(refusal="rows keep their ids"),
    "alter_view_dialect": Procedure(refusal=_FUNCTIONS),
    "create_function": Procedure(refusal=_FUNCTIONS),
    "alter_function": Procedure(refusal=_FUNCTIONS),
    "drop_function": Procedure(refusal=_FUNCTIONS),
}
"""Every procedure by its name."""


def parse_call(words: Words) -> Call:
    """What follows CALL.

    Raises:
        SqlError: no such procedure or parameter, or a value is of another kind.
        UnsupportedFeatureError: one that is not done here.
    """
    start = words.word.start if words.word else 0
    parts = [part.lower() for part in words.table_name("a procedure")]
    if len(parts) > 3 or (len(parts) > 1 and parts[-2] != "sys"):
        raise words.wrong("expected sys.procedure", start)
    name = parts[-1]
    procedure = PROCEDURES.get(name)
    if procedure is None:
        raise words.wrong(f"no procedure {name!r}: {hint(name, PROCEDURES)}", start)
    if procedure.refusal:
        raise words.refused(f"CALL sys.{name}", procedure.refusal, start)
    return Call(name, _arguments(words, name, procedure), start)


def _arguments(words: Words, name: str, procedure: Procedure) -> dict[str, Any]:
    kinds = procedure.kinds()
    by_small = {parameter.lower(): parameter for parameter in kinds}
    arguments: dict[str, Any] = {}
    words.expect("(")
    while not words.take(")"):
        start = words.word.start if words.word else 0
        after = words.words[words.at + 1 : words.at + 2]
        if after and after[0].means("=>"):
            said = words.name("a parameter").lower()
            words.expect("=>")
            if said in procedure.ignored:
                raise words.refused(f"{said} of sys.{name}", "leave it out", start)
        elif len(arguments) < len(kinds):
            said = list(kinds)[len(arguments)].lower()
        else:
            raise words.wrong(f"sys.{name} takes {len(kinds)} arguments", start)
        parameter = by_small.get(said)
        if parameter is None:
            raise words.wrong(f"sys.{name} has no {said!r}: {hint(said, kinds)}", start)
        if parameter in arguments:
            raise words.wrong(f"{parameter!r} is said twice", start)
        value = take_value(words)
        _check(words, parameter, kinds[parameter], value, start)
        if value is not None:
            arguments[parameter] = value
        if not words.take(",") and not words.ahead(")"):
            raise words.wrong("expected , or )")
    for parameter, marks in kinds.items():
        if "!" in marks and parameter not in arguments:
            raise words.wrong(f"sys.{name} needs {parameter} => …")
    return arguments


def _check(words: Words, parameter: str, marks: str, value: object, start: int) -> None:
    if value is None:
        return
    is_flag = isinstance(value, bool)
    if "#" in marks:
        if is_flag or not isinstance(value, int):
            raise words.wrong(f"{parameter} is a whole number", start)
    elif "?" in marks:
        if not is_flag:
            raise words.wrong(f"{parameter} is true or false", start)
    elif not isinstance(value, str):
        raise words.wrong(f"{parameter} is a text in quotes", start)
