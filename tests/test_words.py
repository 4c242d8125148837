"""Names that the field does not know stay out: each was one of ours once."""

from __future__ import annotations

import tokenize

import pytest

from tests.test_circles import PACKAGES

OLD = {
    "Told": "Finding",
    "unsent": "unavailable",
    "table_news": "schema_changes",
    "TableNews": "UnseenSnapshots",
    "news": "unseen_snapshots",
    "by_line": "json_fallback",
    "waves": "parallel_batches",
    "_in_waves": "_in_batches",
    "Places": "TakeIndices",
    "Newest": "LatestNonNull",
    "Unmerged": "SortOnly",
    "Fold": "Aggregator",
    "fold": "aggregate, merge_runs",
    "folds": "aggregators",
    "primed": "initialized",
    "speaks": "non_null",
    "_Hand": "_RunCursor",
    "Problems": "ValidationErrors",
    "keep_up": "run_maintenance",
    "misplacing": "unsupported options",
    "forgives": "ignores_damage",
    "Carried": "CarriedProperties",
    "Live": "LiveFiles",
    "Fate": "CreateOutcome",
    "fate": "outcome",
    "Performer": "CommitEffects, ExpiryEffects",
    "performer": "effects",
    "BatchRoom": "BatchBudget",
    "find_spans": "find_row_ranges",
    "FolderedStorage": "PrefixedStorage",
    "_foldered": "_prefixed",
    "waits": "wait_conditions",
    "asking": "with_request",
    "Asking": "BlockingCalls",
    "Marks": "SavedPositions",
    "shared_out": "distributed",
    "_Alike": "_FileKind",
}
"""The old name, and what it is called now."""


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.name)
def test_no_old_word_is_an_identifier(package) -> None:
    found = {}
    for path in package.rglob("*.py"):
        with path.open("rb") as file:
            for token in tokenize.tokenize(file.readline):
                if token.type == tokenize.NAME and token.string in OLD:
                    found[f"{path.relative_to(package)}:{token.start[0]}"] = token.string
    assert found == {}


def test_no_module_has_an_old_word_for_a_name() -> None:
    names = {path.stem for package in PACKAGES for path in package.rglob("*.py")}
    assert not names & OLD.keys()
