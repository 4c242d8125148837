"""The JSON Schema for editors and the parser take the same documents."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

import pytest

from table_core.declaration.verbs import ACTIONS, VERBS
from tests.lanes import budget
from tests.unit.declaration.two_judges import VALUES, verdicts

STEPS: dict[str, Any] = {
    "sync": {"table": "a.t", "sync": {"kind": "files"}, "with": {"until": "now", "retries": 1}},
    "sql": {
        "table": "a.t",
        "sql": "SELECT 1",
        "reads": {"o": "a.t", "p": {"table": "a.t", "mode": "changes", "position": "tc.x"}},
        "pending": {"table": "a.t", "sql": "SELECT 1"},
        "overwrite": {"dt": "07"},
    },
    "files": {"table": "a.t", "rows_uri": "x", "rows_position": "tc.f", "overwrite": "table"},
    "merge": {
        "table": "a.t",
        "merge": {
            "source": {"sql": "SELECT 1", "reads": {"o": "a.t"}},
            "on": ["x"],
            "when": [{"action": "matched-upsert", "values": {"x": "1"}, "condition": "x > 1"}],
        },
        "with": {"parameters": {"x": 1}},
    },
    "delete": {"table": "a.t", "run": "delete", "with": {"where": "x = 1"}, "after": ["sql"]},
    "compact": {"table": "a.t", "run": "compact", "engine": "local", "events": "none"},
    "tag": {"table": "a.t", "run": "create-tag", "with": {"tag": "x", "time_retained": "7 d"}},
}
RIGHT: dict[str, Any] = {
    "version": 1,
    "name": "shop",
    "connection": "c",
    "warehouse": "w",
    "pool": {"name": "p", "slots": 3},
    "allow": ["drop"],
    "moved": [{"from": "a.x", "to": "a.t"}],
    "options": {"bucket": 1},
    "pipeline": {
        "schedule": {"changes": ["a.t"]},
        "params": {"x": {"type": "string"}, "y": None},
        "retries": 3,
        "retry_delay": "5 s",
        "engine": "spark",
        "drift": "fail",
    },
    "tables": {
        "a.t": {
            "columns": {"x": "INT", "y": {"type": "DATE", "comment": "c", "default": "d"}},
            "primary_key": ["x"],
            "options": {"bucket": 2, "write-only": True},
            "comment": "c",
            "moved": [{"from": "z", "to": "y"}],
            "allow": ["narrow"],
        }
    },
    "external": {"a.x$branch_b": {"columns": {"x": "INT"}}, "a.y": {}},
    "targets": {
        "dev": {"warehouse": "w", "pool": {"slots": 2}, "pipeline": {"retries": 1}},
        "prod": {"upkeep": {"schedule": "H 3 * * *"}, "options": {"bucket": 4}},
    },
    "sources": {"sync": STEPS["sync"], "files": STEPS["files"]},
    "flows": {name: STEPS[name] for name in ("sql", "merge", "delete", "compact", "tag")},
    "checks": {
        "c": {"table": "a.t", "not_null": ["x"], "range": {"x": [0, None]}, "rows": [1, None]}
    },
    "upkeep": {
        "schedule": "0 3 * * *",
        "policy": {"compact": {"strategy": "full"}, "expire-snapshots": {"retain_max": 5}},
        "databases": {"a*": {"compact": False, "thresholds": {"small_files_due": 2.5}}},
    },
    "triggers": {
        "t": {
            "table": "a.t",
            "on": "append",
            "poll_seconds": 0.5,
            "partitions": [{"dt": "x"}],
            "report": {"label_column": "x", "value_column": "y"},
        }
    },
}
NAMES = (
    *("x", "table", "with", "where", "reads", "sql", "run", "merge", "sync", "overwrite", "rows"),
    *("apply_declaration", "upkeep"),
    *("columns", "type", "options", "pending", "rows_uri", "report", "flows", "after", "a b", ""),
    *("policy", "compact", "retain_max", "name", "version", "from", "to", "on", "action", "a.t"),
)


def places(node: Any) -> list[tuple[Any, Any]]:
    """Each container with a key or index in it."""
    if isinstance(node, dict):
        return [(node, key) for key in node] + [p for v in node.values() for p in places(v)]
    if isinstance(node, list):
        return [(node, at) for at in range(len(node))] + [p for v in node for p in places(v)]
    return []


def changed(chance: random.Random) -> Any:
    document = copy.deepcopy(RIGHT)
    for group in ("sources", "flows"):
        for name in list(document[group]):
            if chance.random() < 0.5:
                del document[group][name]
    for _ in range(chance.choice((0, 1, 1, 1, 2))):
        holder, key = chance.choice(places(document))
        kind = chance.random()
        if kind < 0.5:
            holder[key] = copy.deepcopy(chance.choice(VALUES))
        elif kind < 0.7:
            del holder[key]
        elif isinstance(holder, dict):
            value = holder[key] if kind < 0.85 else copy.deepcopy(chance.choice(VALUES))
            holder[chance.choice(NAMES)] = value
    return document


@pytest.mark.parametrize("seed", range(budget("GRAMMAR", ci=1, nightly=40)))
def test_what_the_schema_takes_the_parser_takes_and_the_reverse(seed: int) -> None:
    chance = random.Random(seed)
    taken = 0
    for _ in range(400):
        document = changed(chance)
        of_schema, of_parser = verdicts(document)
        assert of_schema == of_parser, json.dumps(document)
        taken += of_parser
    assert 50 < taken < 350, "random documents must be of both kinds"


def test_every_value_at_every_place_is_judged_alike() -> None:
    """Each place of a step with each value; the documents are small, so these are thousands."""
    for name, step in STEPS.items():
        for at in range(len(places(step))):
            for value in VALUES:
                document = {
                    "version": 1,
                    "name": "n",
                    "tables": {},
                    "flows": {name: copy.deepcopy(step)},
                }
                holder, key = places(document["flows"])[at]  # type: ignore[index]  # a mapping
                holder[key] = copy.deepcopy(value)
                of_schema, of_parser = verdicts(document)
                assert of_schema == of_parser, json.dumps(document)


def test_each_member_of_a_verb_is_refused_by_the_others() -> None:
    own = {verb: set(one.takes) for verb, one in VERBS.items()}
    for verb, step in (("sync", STEPS["sync"]), ("run", STEPS["compact"]), ("sql", STEPS["sql"])):
        for other, members in own.items():
            for member in members - own[verb]:
                if other == verb:
                    continue
                flow = {**step, member: STEPS["sql"].get(member, "x")}
                document = {"version": 1, "name": "n", "tables": {}, "flows": {"f": flow}}
                assert verdicts(document) == (False, False), (verb, member)


def test_the_clauses_of_a_merge_are_those_of_the_table() -> None:
    from table_core.shapes.kinds import CLAUSE
    from table_core.table.dml import merge_into

    for clause in CLAUSE.one_of:
        assert hasattr(merge_into, "".join(part.title() for part in clause.split("-"))), clause
    assert set(ACTIONS) & set(VERBS) == set()
