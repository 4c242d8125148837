"""What a source or flow may say under ``with``: the arguments of its action, and a few of Airflow's.

The parameters of the provider's operators, without Airflow; a test of the provider compares the two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from table_core.declaration.shape import AnyValue, Flag, ListOf, MapOf, Number, OneOf, Record, Text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from table_core.declaration.shape import Shape

__all__ = ["OF_AIRFLOW", "STEP_ARGUMENTS", "of_operator"]

_TEXTS: Final = ListOf(item=Text())
_COUNT: Final = Number(minimum=1)
_MOMENT: Final = Text(about="A point in time, e.g. 2026-01-01T00:00:00Z.")
_PARTITIONS: Final = ListOf(item=MapOf(item=Text()))
_PARTITION_LIST: Final = OneOf(
    what="a list of partitions or a template", shapes=[_PARTITIONS, Text()]
)
_DRY: Final = Flag(about="Only tell what would be done.")
_KEEP: Final[Mapping[str, Shape]] = {
    "retain_max": _COUNT,
    "retain_min": _COUNT,
    "older_than": _MOMENT,
    "max_deletes": _COUNT,
    "dry_run": _DRY,
}
OF_AIRFLOW: Final[Mapping[str, Shape]] = {
    "deferrable": Flag(),
    "pool": Text(),
    "pool_slots": _COUNT,
    "priority_weight": Number(),
    "queue": Text(),
    "retries": Number(minimum=0),
    "retry_delay": Number(about="Seconds.", minimum=0),
    "trigger_rule": Text(),
}
"""Of every task."""
_PARAMETERS: Final = {"parameters": MapOf(item=AnyValue(), about="Values of $name in the SQL.")}
_ACTIONS: Final[Mapping[str, tuple[Mapping[str, Shape], Sequence[str]]]] = {
    "analyze": ({"columns": _TEXTS, "dry_run": _DRY}, ()),
    "compact": (
        {
            "strategy": Text(one_of=("full", "minor")),
            "partitions": _PARTITION_LIST,
            "where": Text(),
            "order_by": _TEXTS,
            "dry_run": _DRY,
        },
        (),
    ),
    "create-tag": (
        {
            "tag": Text(),
            "snapshot": Text(),
            "timestamp": _MOMENT,
            "time_retained": Text(about="e.g. 7 d"),
            "if_not_exists": Flag(),
        },
        ("tag",),
    ),
    "delete": ({"where": Text()}, ("where",)),
    "delete-tag": ({"tag": Text(), "if_exists": Flag(), "dry_run": _DRY}, ("tag",)),
    "drop-partitions": ({"partitions": _PARTITION_LIST, "dry_run": _DRY}, ("partitions",)),
    "expire-changelogs": (_KEEP, ()),
    "expire-partitions": ({"expiration_time": Text(about="e.g. 7 d"), "dry_run": _DRY}, ()),
    "expire-snapshots": (_KEEP, ()),
    "expire-tags": ({"older_than": _MOMENT, "dry_run": _DRY}, ()),
    "mark-done": (
        {"partitions": _PARTITION_LIST, "announce_partitions": Flag()},
        ("partitions",),
    ),
    "rescale": ({"buckets": Text(), "partitions": _PARTITION_LIST, "dry_run": _DRY}, ()),
    "rewrite-manifests": ({"dry_run": _DRY}, ()),
    "remove-orphan-files": (
        {"older_than": _MOMENT, "allow_young": Flag(), "dry_run": _DRY},
        (),
    ),
    "update": ({"values": MapOf(item=Text()), "where": Text()}, ("values", "where")),
    "sync": (
        {
            "primary_key": _TEXTS,
            "partition_by": _TEXTS,
            "computed_columns": _TEXTS,
            "type_mapping": _TEXTS,
            "until": Text(),
            "settings": MapOf(item=AnyValue()),
        },
        (),
    ),
    "sql": (_PARAMETERS, ()),
    "rows_uri": ({}, ()),
    "merge": (_PARAMETERS, ()),
}
"""By action of ``run`` and by other verb: its arguments, and those that it cannot do without."""
STEP_ARGUMENTS: Final[Mapping[str, Record]] = {
    action: Record(members={**members, **OF_AIRFLOW}, required=required)
    for action, (members, required) in _ACTIONS.items()
}


def of_operator(action: str) -> set[str]:
    """The arguments of ``action`` that are its own, not those of every task."""
    return set(_ACTIONS[action][0])
