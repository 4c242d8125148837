"""Goal: what users build on changes only where somebody means it to.

Method: names, signatures, template fields, commands with their options, JSON Schemas, kinds of errors and what jobs
take, each as a line, against the lines that were recorded.
"""

from __future__ import annotations

from tests.provider.surface import RECORDED, surface


def test_what_users_build_on_is_what_was_recorded() -> None:
    recorded = RECORDED.read_text(encoding="utf-8").splitlines()
    found = surface()
    gone, new = sorted({*recorded} - {*found}), sorted({*found} - {*recorded})
    told = "\n".join([*(f"- {line}" for line in gone), *(f"+ {line}" for line in new)])
    assert not told, f"{told}\nIf that is meant: python -m tests.provider.surface"
