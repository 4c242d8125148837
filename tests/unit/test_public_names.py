"""The names that users import, which are loaded when they are first used."""

from __future__ import annotations

import pytest

import table_core


@pytest.mark.parametrize("name", table_core.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(table_core, name) is not None
