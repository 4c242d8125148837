"""Parameters of the pipeline's Dag: which runs have them, and who asks for some that are not there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from table_core.declaration.hints import hint

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from table_core.declaration.model import Declaration

__all__ = ["has_default", "parameter_faults"]

_ASKED: Final = re.compile(r"\bparams(?:\.(\w+)|\[\s*['\"](\w+)['\"]\s*\])")
Told = tuple[tuple[str, ...], str]


def has_default(given: Any) -> bool:
    """Whether a run that nobody starts by hand has a value: a mapping is JSON Schema."""
    return not isinstance(given, dict) or "default" in given


def parameter_faults(found: Declaration) -> Iterator[Told]:
    """Parameters that a run would ask for and not have."""
    params: Mapping[str, Any] = found.pipeline.get("params") or {}
    open_ones = [name for name, given in params.items() if not has_default(given)]
    if found.pipeline.get("schedule") is not None:
        for name in open_ones:
            told = f"parameter {name!r} needs a default: a schedule gives none"
            yield ("pipeline", "params", name), told
    asked = {step.name: _asked(step.arguments) for step in found.steps}
    for step in found.steps:
        for name in sorted(asked[step.name] - set(params)):
            near = hint(name, params)
            if near.startswith("did"):  # others may come from a Dag of the user's own
                yield ("flows", step.name), f"pipeline.params has no {name!r}; {near}"
    for trigger in found.triggers:
        for flow in trigger.flows:
            for name in sorted(asked.get(flow, set()) & set(open_ones)):
                told = f"{flow} asks for params.{name}: give it a default, a trigger gives none"
                yield ("triggers", trigger.name, "flows"), told


def _asked(given: Any) -> set[str]:
    if isinstance(given, str):
        found = _ASKED.findall(given) if "{{" in given or "{%" in given else []
        return {dotted or bracketed for dotted, bracketed in found} - {"get"}
    values = given.values() if isinstance(given, dict) else given
    if not isinstance(given, dict | list | tuple):
        return set()
    return {name for value in values for name in _asked(value)}
