"""The options that we classify are those of the released Apache Paimon, and it refuses what we refuse.

Method: its ``CoreOptions`` are read by reflection and compared with ``tests/core_options.tsv``, which the
tests without Java read.  ``query-auth.enabled``, which stops reading here, stops it there.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from judge import Judge, JudgeError

from tests.option_keys import LINES


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
