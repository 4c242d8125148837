"""A dry run changes no byte, and says of what goes exactly what the run then does.

Every verb that returns a result document is here, but for statements on rows and those that only add; a
test looks for others.  Mutants: a dry run that writes; one that counts nothing; a verb without one.
"""

from __future__ import annotations

import inspect

import pytest

import table_core as tc
from table_core.table.api.catalog_maintenance import CatalogUpkeep
from table_core.table.maintenance.branches import Branches
from table_core.table.maintenance.tags import Tags
from table_core.table.metadata.refs.consumers import Consumers
from tests.unit.dry_runs import VERBS, Shop, filled_shop

STATEMENTS = {"merge_into", "delete", "update"}
REWRITES = {"compact", "compact-database", "rescale"}
"""What comes instead depends on the rows: a dry run says what goes."""
TOTALS = ("files_before", "files_deleted", "bytes_before", "bytes_deleted", "snapshot_before")


@pytest.fixture
def shop() -> Shop:
    return filled_shop()


@pytest.mark.parametrize("action", VERBS)
def test_a_dry_run_says_what_the_run_then_does(action: str, shop: Shop) -> None:
    verb, wish = VERBS[action](shop)
    before = shop.files()
    said = verb(**wish, dry_run=True).to_document()
    assert shop.files() == before
    done = verb(**wish).to_document()
    assert shop.files() != before
    assert (said.pop("dry_run"), done.pop("dry_run")) == (True, False)
    assert said["action"] == done["action"] == action
    if action in REWRITES:
        assert {n: said[n] for n in TOTALS} == {n: done[n] for n in TOTALS}
        assert said["files_deleted"] > 0
        return
    tables = [d.get("tables", {}) for d in (said["details"], done["details"])]
    for document in (said, done, *tables[0].values(), *tables[1].values()):
        for name in ("seconds", "snapshot_after", "dry_run"):
            document.pop(name, None)
    assert said == done


@pytest.mark.parametrize("of", [tc.Table, tc.Catalog, CatalogUpkeep, Tags, Branches, Consumers])
def test_every_verb_with_a_result_document_has_a_dry_run(of: type) -> None:
    verbs = {
        name: inspect.signature(verb).parameters
        for name, verb in inspect.getmembers(of, inspect.isfunction)
        if inspect.signature(verb).return_annotation == "ResultDocument"
    }
    assert {name for name, given in verbs.items() if "dry_run" not in given} <= STATEMENTS
