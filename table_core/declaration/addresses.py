"""Addresses in a declaration, and secrets that stand in it: a file is read by many."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from table_core.declaration.environment import looks_secret
from table_core.declaration.located import Diagnostic
from table_core.options.nearest import hint
from table_core.options.table import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from table_core.declaration.located import Located, Place

__all__ = ["address_diagnostics"]

_SCHEMES: Final = ("file", "memory", "s3", "s3a", "gs", "abfs", "abfss")
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")
_FOREIGN: Final = re.compile(r"\$\((\w+)\)|(?:^|/)\$([A-Za-z_]\w*)|(?:^|/)%([A-Za-z_]\w*)%(?:/|$)")
"""Variables as other tools write them."""
_SETTINGS: Final = ("options", "spark_conf", "java_options", "registry_options")
_ELSEWHERE: Final = "secrets belong into the connection, not here"
Finding = tuple["Place", str]


def address_diagnostics(root: Located, file: str) -> list[Diagnostic]:
    """Warehouses and connections that cannot be, and settings that hold a secret; in targets too."""
    findings: list[Finding] = []
    for top in (root, *_members(root, "targets").values()):
        members = _members(top)
        findings += _of_warehouse(members.get("warehouse"))
        findings += _of_connection(members.get("connection"))
        findings += _secrets(top)
    for group in ("tables", "sources", "flows"):
        for entry in _members(root, group).values():
            findings += _secrets(entry)
            if "sync" in _members(entry):
                findings += _secrets(_members(entry)["sync"])
    return [Diagnostic(file, *place, message) for place, message in findings]


def _members(here: Located, name: str = "") -> Mapping[str, Any]:
    node: Any = here
    if name:
        node = here.value.get(name) if isinstance(here.value, dict) else None
    return node.value if node is not None and isinstance(node.value, dict) else {}


def _of_warehouse(node: Located | None) -> Iterator[Finding]:
    if node is None or node.text is None:
        return
    text = node.text
    foreign = _FOREIGN.search(text)
    scheme = _SCHEME.match(text)
    if not text.strip():
        yield node.place, "warehouse is empty: write a folder or a URI, or leave it out"
    elif "{{" in text or "{%" in text:
        yield node.place, f"warehouse {text!r}: templates are not known here, write ${{NAME}}"
    elif foreign is not None:
        name = next(filter(None, foreign.groups()))
        yield node.place, f"warehouse {text!r}: write ${{{name}}} for the variable"
    elif scheme is not None and (meant := _scheme_hint(scheme[1].lower())):
        yield node.place, f"warehouse {text!r}: {scheme[1]}: is no kind of store; {meant}"


def _scheme_hint(scheme: str) -> str:
    near = "" if scheme in _SCHEMES else hint(scheme, _SCHEMES)
    return near if near.startswith("did") else ""


def _of_connection(node: Located | None) -> Iterator[Finding]:
    if node is None or node.text is None:
        return
    if "://" in node.text or not node.text.strip():
        message = f"connection {node.text!r}: write the name (conn_id) of an Airflow connection"
        yield node.place, message


def _secrets(entry: Located) -> Iterator[Finding]:
    for member in _SETTINGS:
        for name, item in _members(entry, member).items():
            if name not in OPTIONS and looks_secret(name) and item.text:
                yield item.place, f"{name} looks like a secret: {_ELSEWHERE}"
