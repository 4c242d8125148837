"""What the address of a Spark master may be, and an amount of memory that a JVM takes.

Spark says so only after its JVM has started, in an error that looks like any other failure.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from table_core.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["require_master", "require_memory"]

_HOST: Final = r"[^\s,/@\[\]:]+|\[[0-9A-Fa-f:.]+\]"
_LOCAL: Final = r"local(\[\s*(\*|[1-9]\d*)\s*(,\s*[1-9]\d*\s*)?\])?"
_CLUSTER: Final = (
    rf"local-cluster\[\s*\d+\s*,\s*\d+\s*,\s*\d+\s*\]|spark://({_HOST}):\d+(,({_HOST}):\d+)*"
    r"|yarn|k8s://\S+"
)
_CONNECT: Final = rf"sc://({_HOST})(:\d+)?(/(;\S*)?)?"
_FORMS: Final[Mapping[str, tuple[re.Pattern[str], str]]] = {
    "local": (
        re.compile(f"{_LOCAL}|{_CLUSTER}"),
        "local, local[4], local[*], spark://host:7077, yarn or k8s://https://host:6443",
    ),
    "spark-submit": (
        re.compile(f"{_LOCAL}|{_CLUSTER}"),
        "spark://host:7077, yarn, k8s://https://host:6443, local, local[4] or local[*]",
    ),
    "standalone": (
        re.compile(rf"spark://({_HOST})(:\d+)?(,({_HOST})(:\d+)?)*"),
        "spark://host:7077",
    ),
    "connect": (re.compile(_CONNECT), "sc://host:15002"),
}
_MEMORY: Final = re.compile(r"\s*\d+(\.\d+)?\s*([kmgtp]b?|b)?\s*", re.IGNORECASE)
_MEMORY_NAME: Final = re.compile(r"spark\.(driver|executor)\.(memory|memoryOverhead)")


def require_master(backend: str, master: str) -> None:
    """Refuse a ``master`` that Spark would not understand where ``backend`` runs it.

    Raises:
        ArgumentError: it has no form that there is; names them.
    """
    form, known = _FORMS[backend]
    if not form.fullmatch(master.strip()):
        shown = master.partition(";")[0]
        raise ArgumentError(
            f"spark_master={shown!r} is no address of a Spark master that backend {backend!r} can "
            f"use: give {known}",
            argument="spark_master",
            value=shown,
        )


def require_memory(conf: Mapping[str, str]) -> None:
    """Refuse an amount of memory with which no JVM of Spark would start.

    Raises:
        ArgumentError: it is no number with a unit.
    """
    for name, value in conf.items():
        if _MEMORY_NAME.fullmatch(name) and not _MEMORY.fullmatch(value):
            raise ArgumentError(
                f"spark_conf: {name}={value!r} is no amount of memory such as '2g' or '512m'",
                argument="spark_conf",
                value=name,
            )
