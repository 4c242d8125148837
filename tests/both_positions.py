"""Tables as change capture wrote them while each snapshot held its position twice."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from table_core.cdc.model.claims import Claims
from table_core.position.reader import digest_of

if TYPE_CHECKING:
    from table_core.table.api.table import Table


def write_both_properties(table: Table) -> str:
    """Let the newest snapshot say in ``tc.source.position`` too where the table is; returns that."""
    text = table.position("tc.source.positions")
    assert text is not None
    shown = Claims.parse(text).held[-1].shown
    beside = {**json.loads(text), "text": digest_of(shown)}
    table.positions.set(
        "tc.source.positions", text=json.dumps(beside, separators=(",", ":"), ensure_ascii=False)
    )
    table.positions.set("tc.source.position", text=shown)
    assert table.position("tc.source.position") == shown
    return shown
