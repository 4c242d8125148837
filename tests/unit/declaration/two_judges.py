"""The JSON Schema and the parser as judges of one document."""

from __future__ import annotations

import json
from typing import Any

import jsonschema

from table_core.declaration.diagnosed import diagnosed
from table_core.declaration.grammar import DECLARATION, json_schema
from table_core.declaration.located import Diagnostic, read_yaml

SCHEMA = jsonschema.Draft202012Validator(json_schema())
VALUES = (
    *(None, True, False, 0, 1, -1, 2.5, 3.0, "", "x", "full", "a.t", "7 d", "tc.x", "{{ x }}"),
    *("local", "table", [], {}, ["x"], [1, None], [[1]], {"x": "y"}, {"table": "a.t"}, "delete"),
    *("not a name", 10**25, "null", "yes", "0 3 * * *", {"sql": "s"}, [{"x": 1}], "append"),
)


def verdicts(document: Any) -> tuple[bool, bool]:
    root, told = read_yaml(json.dumps(document), "f")
    assert root is not None, told
    diagnostics: list[Diagnostic] = list(told)
    diagnostics += diagnosed(DECLARATION, root, "f")
    return SCHEMA.is_valid(document), not diagnostics
