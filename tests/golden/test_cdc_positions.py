"""Positions of change capture as tables hold them: they are read, and written again byte by byte.

``cdc_positions.json`` was written by the code that kept each position in two properties.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from table_core.cdc.model.claims import Claims, Who
from table_core.cdc.model.complete import Completed
from table_core.position.lines import FilesRead, OffsetsPlace
from table_core.position.log import LogPlace
from table_core.position.reader import digest_of

CASES: dict[str, dict[str, str]] = json.loads(
    Path(__file__).with_name("cdc_positions.json").read_text()
)


def beside(text: str, position: str) -> dict[str, Any]:
    """Claims as they were written beside a position."""
    return {**json.loads(text), "text": digest_of(position)}


@pytest.mark.parametrize("name", CASES)
def test_what_both_properties_say_is_read_and_written_again(name: str) -> None:
    case = CASES[name]
    claims = Claims.of_table(case["tc.source.positions"], case["tc.source.position"], no_hand)
    (claim,) = claims.held
    assert claims == Claims.parse(case["tc.source.positions"])
    assert beside(claims.text, case["tc.source.position"]) == json.loads(
        case["tc.source.positions"]
    )
    alone = case["tc.source.positions"].replace(
        digest_of(case["tc.source.position"]), digest_of("")
    )
    assert claims.text == alone
    who = Who(source=claim.source, route=claim.route, address=claim.address)
    assert claims.digest(who) == case["digest"]
    assert Completed.parse(case["tc.source.all"]).text == case["tc.source.all"]
    assert Completed.parse(case["tc.source.all"]).of(who)[0].claim == claim


@pytest.mark.parametrize("name", CASES)
def test_the_text_for_people_is_the_same_and_is_read(name: str) -> None:
    text = CASES[name]["tc.source.position"]
    at = Claims.parse(CASES[name]["tc.source.positions"]).held[0].at
    assert at.short == text
    match at:
        case FilesRead():
            assert FilesRead.parse(text).marked_by(at).files == at.files
        case OffsetsPlace():
            assert OffsetsPlace.parse(text) == at.boundary
        case LogPlace():
            assert LogPlace.parse(text, at.server) == at


def no_hand(text: str) -> Any:
    raise AssertionError(f"nobody has set {text}")
