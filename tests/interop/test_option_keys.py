"""The options that we classify are those of the released Apache Paimon, and it refuses what we refuse.

Method: its ``CoreOptions`` are read by reflection and compared with ``tests/core_options.tsv``, which the
tests without Java read.  ``query-auth.enabled``, which stops reading here, stops it there.  Its parser is given
the values that ours is given.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from judge import Judge, JudgeError

from table_core.errors import OptionError
from table_core.options.refused import REFUSED
from table_core.options.table import OPTIONS
from table_core.options.user_options import refuse_wrong
from tests.option_keys import LINES
from tests.option_values import WORDS, WRONG

RIGHT = (
    *(
        "0",
        "1",
        "3",
        "+3",
        "-1",
        "2147483647",
        "9223372036854775807",
        "0.5",
        ".5",
        "5.",
        "1d",
        "1f",
        "5e-1",
    ),
    *(
        "true",
        "TRUE",
        "False",
        "1 h",
        "1h",
        "2 H",
        " 3 min ",
        "1 µs",
        "7 days",
        "500",
        "1 d",
        "10 m",
    ),
    *("128 mb", "128MB", "1 gb", " 4 Kb ", "2 gibibytes", "1 t", "1 bytes"),
)
WORDS_OF_ALL = sorted({word for words in WORDS.values() for word in words})
VALUES = list(
    dict.fromkeys(
        [
            *RIGHT,
            *(value for values in WRONG.values() for value in values),
            *WORDS_OF_ALL,
            *(word.upper() for word in WORDS_OF_ALL),
            *(word.replace("-", "_") for word in WORDS_OF_ALL),
            *(word.replace("_", "-") for word in WORDS_OF_ALL),
        ]
    )
)


def test_the_list_of_options_is_that_of_apache_paimon(paimon: Judge, tmp_path: Path) -> None:
    assert paimon.ask("options", tmp_path, "") == LINES


def test_a_file_system_gives_paimon_no_rows_where_a_catalog_has_to_allow_them(
    paimon: Judge, tmp_path: Path
) -> None:
    theirs = paimon.table(tmp_path, "d.t")
    theirs.create([("id", "INT NOT NULL")], bucket="-1", query_auth__enabled="true")
    theirs.write([["+I", 1]])
    with pytest.raises(JudgeError):
        theirs.read()


def test_its_parser_takes_and_refuses_the_values_that_we_do(paimon: Judge, tmp_path: Path) -> None:
    """What a user may give is what it reads, but for a range; what it reads is taken."""
    asked = {
        line.split("\t")[0]: VALUES
        for line in LINES
        if line.split("\t")[0] in OPTIONS and line.split("\t")[1] not in {"String", "Map"}
    }
    verdicts = paimon.ask("option values", tmp_path, "", values=asked)
    assert verdicts.keys() == asked.keys()
    assert len(asked) > 140
    wrong = []
    for key, verdict in verdicts.items():
        for value, theirs in zip(VALUES, verdict, strict=True):
            ours = _taken(key, value) if value or key not in REFUSED else theirs
            if ours != theirs and not (theirs and _out_of_range(key, value)):
                wrong.append((key, value, theirs))
    assert wrong == []


def _taken(key: str, value: str) -> bool:
    try:
        refuse_wrong({key: value})
    except OptionError:
        return False
    return True


def _out_of_range(key: str, value: str) -> bool:
    fits = OPTIONS[key].fits
    if fits is None:
        return False
    try:
        fits(OPTIONS[key].parse(value))
    except ValueError:
        return True
    return False
