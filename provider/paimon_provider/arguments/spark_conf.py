"""Spark configuration of a task: who may say what (docs/adr/0014-what-comes-from-outside.md)."""

from __future__ import annotations

from collections.abc import Mapping

from paimon_provider.arguments.table_identity import is_template
from table_core.errors import ArgumentError
from table_core.options.spark_settings import chooses_code, require_settings

__all__ = ["literal_conf", "rendered_conf"]


def literal_conf(conf: object, *, mapped: bool) -> dict[str, str]:
    """What the Dag's own code says, no template and no other task."""
    if mapped or not isinstance(conf, Mapping):
        return {}
    return {
        name: value
        for name, value in conf.items()
        if isinstance(name, str) and isinstance(value, str) and not is_template(name + value)
    }


def rendered_conf(conf: Mapping[str, str] | None, literal: Mapping[str, str]) -> dict[str, str]:
    """``conf`` as it was rendered, checked against what was ``literal``.

    Raises:
        ArgumentError: a name or value is none, or a setting that chooses code was templated.
    """
    rendered = dict(conf or {})
    require_settings(rendered)
    for name, value in rendered.items():
        if chooses_code(name, value) and literal.get(name) != value:
            raise ArgumentError(
                f"spark_conf: {name!r} chooses code, a place or an identity: set it in the "
                "connection, or as plain text in the Dag, not by a template or a mapped value",
                argument="spark_conf",
                value=name,
            )
    return rendered
