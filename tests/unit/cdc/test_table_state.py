"""What a run knows of a table is one frozen value, and one place replaces it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import pytest

import table_core.cdc
from table_core.cdc.apply.table_state import Pending, Stored, TableState
from table_core.cdc.model.record import SourceTable

SOURCE = SourceTable("shop", "customers")
CDC = Path(table_core.cdc.__file__).parent


@pytest.mark.parametrize(
    ("state", "has_changes"),
    [
        (TableState(), False),
        (TableState(remembered=lambda _: "columns"), True),
        (TableState(remembered=lambda _: "a", stored=Stored(source_schemas="a")), False),
        (TableState(pending=Pending(events=1)), True),
    ],
)
def test_a_look_at_what_has_changed_changes_nothing(state: TableState, has_changes: bool) -> None:
    before = replace(state)
    assert [state.has_changes, state.has_changes, state.has_news] == [has_changes] * 3
    assert state == before


def test_what_is_known_is_of_the_sources_at_that_moment() -> None:
    """A table that gets its first rows of a source says what is known of that one, too."""
    state = TableState().at(None, lambda sources: "".join(sorted(s.name for s in sources)) or None)
    assert not state.has_news
    assert replace(state, sources=frozenset({SOURCE})).has_news


def test_each_change_is_a_new_value() -> None:
    first = TableState()
    second = first.waiting(events=2, properties={"a": "1"}).counted("drops", 1).timed(7).timed(5)
    third = second.waiting(events=1, properties={"b": "2"}).counted("drops", 2)
    assert first == TableState(remembered=first.remembered)
    assert (second.pending.events, dict(second.pending.properties)) == (2, {"a": "1"})
    assert (third.pending.events, dict(third.pending.properties)) == (3, {"a": "1", "b": "2"})
    assert (second.counts, third.counts, third.time_ms) == ({"drops": 1}, {"drops": 3}, 7)
    for value, name in ((first, "position"), (first.pending, "rows"), (first.stored, "claims")):
        with pytest.raises(FrozenInstanceError):
            setattr(value, name, None)


def assigned() -> Iterator[tuple[str, str]]:
    """File and text of each assignment to a member of a target, or to one called ``state``."""
    for path in sorted(CDC.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Assign(targets=[ast.Tuple(elts=places)]) | ast.Assign(targets=places):
                    pass
                case ast.AugAssign(target=place) | ast.AnnAssign(target=place):
                    places = [place]
                case _:
                    continue
            for place in places:
                while isinstance(place, ast.Subscript):
                    place = place.value
                text = ast.unparse(place)
                if "target." in text or text.endswith(".state"):
                    yield path.name, text


def test_only_the_target_replaces_its_state() -> None:
    assert set(assigned()) == {("target.py", "self.state")}
