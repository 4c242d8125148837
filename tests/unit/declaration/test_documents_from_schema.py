"""Documents that are made from the JSON Schema itself: the parser takes those that the schema takes."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import pytest

from table_core.declaration.grammar import json_schema
from tests.unit.declaration.two_judges import VALUES, verdicts

SCHEMA = json_schema()
TEXTS = (
    *("x", "a.t", "tc.x", "7 d", "5", "1 %", "0 3 * * *", "2026-01-01T00:00:00Z", "now", "table"),
    *("shop", "daily", "Europe/Oslo", "{{ x }}", "dev_", "id", "a.x$branch_b", "07", "NO", ""),
    *("a b", "@daily", "1 h", "2.5", "tc."),
)
NUMBERS = (0, 1, 2, 3, 2.5, 0.1, -1, 10**20)
ROWS_OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"delimiter": ";", "decimal": ",", "encoding": "cp1252"},
    {"header": False, "skip_lines": 2, "timezone": "Europe/Oslo"},
    {"date_format": "%d.%m.%Y", "null_values": ["NA", ""]},
)
"""No schema says which encodings there are, nor which marks go together: ``test_file_corpus`` has the wrong ones."""
SLIP = 0.03
"""How often a value is any of those that there are, whatever the schema says."""


def made(schema: dict[str, Any], chance: random.Random, depth: int = 0) -> Any:
    """A value of ``schema``, but for a slip now and then."""
    if "$ref" in schema:
        return made(SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]], chance, depth)
    if "const" in schema or "enum" in schema:
        return chance.choice(schema.get("enum") or [schema["const"]])
    if "allOf" in schema and "oneOf" in schema:
        return made(step(schema, chance), chance, depth)
    if "anyOf" in schema and "properties" not in schema:
        return made(chance.choice(schema["anyOf"]), chance, depth)
    kind = schema.get("type", "object" if "properties" in schema else None)
    kind = chance.choice(kind) if isinstance(kind, list) else kind
    if kind == "object":
        return mapping(schema, chance, depth)
    if kind == "array":
        count = max(schema.get("minItems", 0), chance.randrange(3))
        count = min(count, schema.get("maxItems", count))
        return [made(schema["items"], chance, depth + 1) for _ in range(count)]
    if kind == "string":
        fits = [one for one in TEXTS if re.search(schema.get("pattern", ""), one)]
        return chance.choice(TEXTS if not fits or chance.random() < SLIP else fits)
    if kind in {"integer", "number"}:
        least = schema.get("minimum", -9)
        some = [n for n in NUMBERS if n >= least and (kind == "number" or n == int(n))]
        return chance.choice(NUMBERS if chance.random() < SLIP else some)
    return {"boolean": chance.random() < 0.5, "null": None}.get(kind or "", chance.choice(VALUES))


def step(schema: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """The schema of a step of one of the verbs."""
    rule: dict[str, Any] = chance.choice(schema["allOf"])["then"]
    actions = rule.get("allOf")
    found: dict[str, Any] = chance.choice(actions)["then"] if actions else rule
    return found


def mapping(schema: dict[str, Any], chance: random.Random, depth: int) -> dict[str, Any]:
    needed = set(schema.get("required", ()))
    either: set[str] = set()
    for rule in ("oneOf", "anyOf"):
        if rule in schema:
            needed |= set(chance.choice(schema[rule])["required"])
            either = {one["required"][0] for one in schema["oneOf"]} if rule == "oneOf" else either
    found = {}
    for name, one in schema.get("properties", {}).items():
        wanted = chance.random() < (0.35 if depth < 5 else 0.1) and name not in either - needed
        if name in needed or wanted:
            is_known = name == "rows_options"
            found[name] = chance.choice(ROWS_OPTIONS) if is_known else made(one, chance, depth + 1)
    if isinstance(schema.get("additionalProperties"), dict):
        pattern = schema.get("propertyNames", {}).get("pattern", "")
        names = [one for one in TEXTS if re.search(pattern, one)]
        count = max(schema.get("minProperties", 0), chance.randrange(3))
        for name in chance.sample(names, min(len(names), count)):
            found[name] = made(schema["additionalProperties"], chance, depth + 1)
    return found


@pytest.mark.parametrize("seed", range(3))
def test_what_is_made_from_the_schema_is_judged_alike(seed: int) -> None:
    chance = random.Random(seed)
    taken = 0
    for _ in range(150):
        document = made(SCHEMA, chance)
        groups = [name for name, one in document.items() if isinstance(one, dict)]
        if groups and chance.random() < 0.3:
            document[chance.choice(groups)][chance.choice(TEXTS)] = chance.choice(VALUES)
        of_schema, of_parser = verdicts(document)
        assert of_schema == of_parser, json.dumps(document)
        taken += of_parser
    assert 30 < taken < 140, "random documents must be of both kinds"
