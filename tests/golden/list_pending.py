"""Rewrite ``pending.txt`` with the reads that fail now: ``python tests/golden/list_pending.py``."""

from __future__ import annotations

import tempfile
from pathlib import Path

import corpus

HEAD = """\
# Golden reads that do not work yet, one `case/read` a line.  A line whose read works is an error.
# Written by tests/golden/list_pending.py.
"""


def main() -> None:
    failing, total = [], 0
    with tempfile.TemporaryDirectory() as folder:
        unpacked: dict[str, corpus.Case] = {}
        for name, read in corpus.reads():
            total += 1
            case = unpacked.setdefault(name, None) or corpus.unpack(name, Path(folder))
            unpacked[name] = case
            try:
                case.check(read)
            except Exception as error:
                failing.append(f"{name}/{read['name']}")
                print(f"{failing[-1]}: {type(error).__name__}: {str(error)[:200]}")
    (corpus.HERE / "pending.txt").write_text(HEAD + "".join(f"{line}\n" for line in failing))
    print(f"{len(failing)} of {total} reads fail")


if __name__ == "__main__":
    main()
