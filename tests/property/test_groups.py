"""Groups of values, empty ones among them, against lists."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from table_core.merge.runs import Groups


@given(st.lists(st.lists(st.booleans(), max_size=3), max_size=6))
def test_first_last_and_reduce_agree_with_lists(given: list[list[bool]]) -> None:
    groups = Groups.of_lengths(np.array([len(g) for g in given], np.int64))
    mask = np.array([b for g in given for b in g], np.bool_)
    starts = np.cumsum([0, *map(len, given)])
    hits = [[int(s) + i for i, b in enumerate(g) if b] for s, g in zip(starts, given, strict=False)]
    assert groups.first(mask).tolist() == [h[0] if h else -1 for h in hits]
    assert groups.last(mask).tolist() == [h[-1] if h else -1 for h in hits]
    assert groups.reduce(np.add, mask.astype(np.int64), 0).tolist() == [len(h) for h in hits]
    assert groups.ids.tolist() == [i for i, g in enumerate(given) for _ in g]
