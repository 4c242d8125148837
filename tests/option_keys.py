"""Every option of Apache Paimon 2.0.0, as ``core_options.tsv`` lists them, with a value that asks for something."""

from __future__ import annotations

from pathlib import Path

LINES = (Path(__file__).with_name("core_options.tsv")).read_text().splitlines()
"""Key, type and, of an enumeration, its values; of a boolean, its default."""
_VALUES = {
    "Boolean": "true",
    "Double": "0.5",
    "Float": "0.5",
    "Duration": "3 min",
    "Integer": "3",
    "Long": "3",
    "MemorySize": "3 mb",
}


def with_request(line: str) -> tuple[str, str]:
    """The option of ``line`` and a value that is not its default."""
    key, type_, *values = line.split("\t")
    if type_ == "Boolean":
        return key, "false" if values == ["true"] else "true"
    return key, _VALUES.get(type_) or (values[-1] if values else "x")


ASKING = dict(map(with_request, LINES))
