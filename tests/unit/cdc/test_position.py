"""How far files were read."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from table_core.cdc.model.claims import together
from table_core.errors import EventError
from table_core.position.ahead import lines_ahead
from table_core.position.lines import FilesRead, OffsetsPlace, Piece, Taken
from table_core.position.source import TopicsId


def test_text_and_parse_are_inverse_and_the_text_is_one() -> None:
    position = FilesRead().after("b.jsonl", Taken(3, 40)).after("a.gz", Taken(7, 0))
    assert position.text == '{"v":1,"files":{"a.gz":[7,0],"b.jsonl":[3,40]}}'
    assert FilesRead.parse(position.text) == position
    assert FilesRead.parse(None) == FilesRead()


def test_what_is_ahead_goes_by_name_and_starts_where_it_was_left() -> None:
    position = FilesRead(
        files={
            "b.jsonl": Taken(3, 40),
            "c.gz": Taken(2, 0),
            "d.gz": Taken(9, 90),
            "e.jsonl": Taken(1, 5),
            "f.gz": Taken(4, 30),
        }
    )
    listing = [
        ("f.gz", 60),
        ("e.jsonl", 5),
        ("d.gz", 90),
        ("c.gz", 50),
        ("b.jsonl", 41),
        ("a.jsonl", 1),
    ]
    assert position.ahead(listing) == [
        Piece("a.jsonl", 1, 0, 0),
        Piece("b.jsonl", 41, 3, 40),
        Piece("c.gz", 50, 2, 0),
        Piece("f.gz", 60, 4, 0),
    ]


def test_a_file_that_became_shorter_was_replaced() -> None:
    with pytest.raises(EventError, match="it was replaced"):
        FilesRead(files={"a": Taken(3, 40)}).ahead([("a", 39)])


def test_a_file_that_is_gone_is_done_with() -> None:
    assert FilesRead(files={"a": Taken(3, 40)}).ahead([]) == []


@pytest.mark.parametrize(
    "text", ["", "5", "[]", '{"v":2,"files":{}}', '{"v":1}', '{"v":1,"files":{"a":[1]}}', '{"v":1,"files":{"a":[1,-1]}}']
)  # fmt: skip
def test_a_position_of_something_else_is_refused(text: str) -> None:
    with pytest.raises(EventError, match="not written by a source of files"):
        FilesRead.parse(text)


def test_an_id_of_a_topic_that_is_not_told_now_is_not_forgotten() -> None:
    old = TopicsId(cluster="c", topics={"a": "1", "b": "2"})
    new = TopicsId(cluster="c", topics={"a": "", "b": "3", "c": ""})
    assert together(old, new) == replace(new, topics={"a": "1", "b": "3", "c": ""})


def test_the_next_offset_is_behind_the_furthest_record_that_was_taken() -> None:
    place = OffsetsPlace(offsets={("t", 0): 2}).after([("t", 0, 4), ("t", 0, 3), ("u", 1, 0)])
    assert place == OffsetsPlace(offsets={("t", 0): 5, ("u", 1): 1})
    assert place.after([("t", 0, 1)]) == place
    assert place.ended({("t", 0): 9, ("u", 1): 0}).offsets == {("t", 0): 9, ("u", 1): 1}
    other = OffsetsPlace(offsets={("t", 0): 4, ("u", 1): 7})
    assert (place.covers(other), other.covers(place)) == (False, False)
    assert place.joined(other).offsets == {("t", 0): 5, ("u", 1): 7}
    assert place.joined(other).covers(place)


def test_lines_that_were_taken_out_of_turn_are_forgotten_once_all_before_them_are_taken() -> None:
    ahead = {"a": lines_ahead(np.array([6, 9]), 3)}
    place = FilesRead(files={"a": Taken(3, 30)}, beyond=ahead)
    assert place.after("a", Taken(8, 80)).beyond == ahead
    assert place.after("a", Taken(11, 110)).beyond == {}, "the bits are of lines 4 to 11"
    assert place.covers(FilesRead(files={"a": Taken(3, 30)}))
    assert not place.boundary.covers(place)
    assert place.after("a", Taken(9, 90)).covers(place)
    both = place.joined(FilesRead(files={"a": Taken(7, 70)}, beyond={}))
    assert both.covers(place)
    assert both.boundary == FilesRead(files={"a": Taken(7, 70)})
