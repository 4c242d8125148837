"""Names that the field does not know stay out: each was one of ours once."""

from __future__ import annotations

import tokenize
from functools import cache
from pathlib import Path

import pytest

from tests.packages import PACKAGES

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


GENERIC = {"found", "given", "each", "alike"}
"""They fit everything and tell nothing: a name says what it holds, e.g. files, snapshot or options."""

_FACT = "`found` is a fact of the errors of positions, which users read"
KEPT = {
    "cdc/source/diverged.py": _FACT,
    "jobs/pinning.py": _FACT,
    "position/decide.py": _FACT,
    "spark/streams/landed_batches.py": _FACT,
}
"""The files that have a generic word, and why it must stay."""


@cache
def _names(package: Path) -> tuple[tuple[str, int, str], ...]:
    """Each old or generic word that is an identifier: where, and which."""
    names = []
    for path in package.rglob("*.py"):
        with path.open("rb") as file:
            for token in tokenize.tokenize(file.readline):
                if token.type == tokenize.NAME and (token.string in OLD or token.string in GENERIC):
                    names.append(
                        (path.relative_to(package).as_posix(), token.start[0], token.string)
                    )
    return tuple(names)


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.name)
def test_no_old_word_is_an_identifier(package: Path) -> None:
    assert {f"{path}:{line}": name for path, line, name in _names(package) if name in OLD} == {}


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.name)
def test_no_generic_word_is_an_identifier(package: Path) -> None:
    uses = [(path, line, name) for path, line, name in _names(package) if name in GENERIC]
    assert [use for use in uses if use[0] not in KEPT] == []


def test_what_keeps_a_generic_word_has_it_once() -> None:
    uses = [path for path, _, name in _names(PACKAGES[0]) if name in GENERIC]
    assert sorted(uses) == sorted(KEPT)


def test_no_module_has_an_old_word_for_a_name() -> None:
    names = {path.stem for package in PACKAGES for path in package.rglob("*.py")}
    assert not names & {*OLD, *GENERIC}
