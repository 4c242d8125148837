"""Values of every type that a binary row can hold."""

from __future__ import annotations

from hypothesis import strategies as st

_NS = st.integers(-(10**15), 10**15)
VALUES_OF_TYPES = {
    "BOOLEAN": st.booleans(),
    "TINYINT": st.integers(-128, 127),
    "SMALLINT": st.integers(-(2**15), 2**15 - 1),
    "INT": st.integers(-(2**31), 2**31 - 1),
    "BIGINT": st.integers(-(2**63), 2**63 - 1),
    "FLOAT": st.floats(width=32, allow_nan=False),
    "DOUBLE": st.floats(allow_nan=False),
    "DATE": st.integers(-(2**31), 2**31 - 1),
    "TIME(3)": st.integers(0, 86_399_999),
    "STRING": st.text(),
    "CHAR(3)": st.text(max_size=3),
    "BYTES": st.binary(max_size=20),
    "DECIMAL(9, 3)": st.decimals(-(10**5), 10**5, places=3),
    "DECIMAL(38, 10)": st.decimals(-(10**27), 10**27, places=10),
    "TIMESTAMP(3)": _NS.map(lambda ms: ms * 1_000_000),
    "TIMESTAMP(6)": _NS.map(lambda us: us * 1000),
    "TIMESTAMP(9) WITH LOCAL TIME ZONE": _NS,
}
