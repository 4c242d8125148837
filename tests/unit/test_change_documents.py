"""A schema change as a job's document: what is missing or unknown is told before anything changes."""

from __future__ import annotations

import pytest

import table_core as tc
from table_core.errors import ArgumentError
from table_core.jobs.actions.tables import _schema_change


def test_a_document_becomes_the_change_that_it_names() -> None:
    document = {"change": "SetOption", "key": "bucket", "value": "8"}
    assert _schema_change(0, document) == tc.SetOption("bucket", "8")
    assert _schema_change(0, {"change": "DropColumn", "name": "note"}) == tc.DropColumn("note")


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"change": "AddColumn"}, "AddColumn lacks name, type; its members: name, type, comment"),
        ({"change": "SetOption", "key": "bucket"}, "SetOption lacks value"),
        ({"change": "DropColumn", "name": "a", "cascade": True}, "DropColumn has no cascade"),
        ({"change": "SetOption", "name": "a"}, "SetOption lacks key, value and has no name"),
        ({"change": "SchemaChange"}, "unknown change 'SchemaChange'; known: AddColumn, DropColumn"),
        ({"change": "__init__"}, "unknown change '__init__'"),
        ({"name": "a"}, "unknown change None"),
    ],
)
def test_a_document_that_is_no_change_is_refused_with_its_place(document, words) -> None:
    with pytest.raises(ArgumentError) as error:
        _schema_change(3, document)
    assert words in str(error.value)
    assert error.value.facts["argument"].startswith("changes[3]")
    assert error.value.kind.value == "invalid"
