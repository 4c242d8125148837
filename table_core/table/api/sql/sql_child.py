"""Runs SELECTs in a process of its own, one after the other: a script that knows DuckDB and Arrow and nothing of us.

``python -I sql_child.py``; its standard input is a line of JSON with Python's path, then one for each query, until the
one who asks is gone.  Rows go to standard output as an Arrow stream, and behind each of them one byte: whether the
process is good for more queries.  What went wrong goes to the file ``error`` of the query's folder, and ends it.
"""

from __future__ import annotations

import datetime as dt
import decimal
import json
import os
import queue
import sys
import threading
from pathlib import Path
from typing import Any, Final

CLOSED: Final = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "allow_unsigned_extensions": "false",
    "python_enable_replacements": "false",
}
"""What a query could otherwise reach besides files: code of others, variables of a process."""
_LAST: Final = ("SET TimeZone = 'UTC'", "SET enable_external_access = false")
_KINDS: Final[dict[str, Any]] = {
    "timestamp": dt.datetime.fromisoformat,
    "date": dt.date.fromisoformat,
    "decimal": decimal.Decimal,
    "bytes": bytes.fromhex,
}
_ELSEWHERE: Final = 256 << 20
"""Memory for stacks, buffers and the rows on their way, beside what the query may take."""


_LEFT_MAX: Final = _ELSEWHERE // 2
"""Memory that queries may leave behind before another process takes the place of this one."""
GOOD_FOR_MORE, AT_ITS_END = b"\1", b"\0"


def _data_bytes() -> int | None:
    """Memory of this process's own; None where the system does not count it."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("VmData:")), None)


class _Bound:
    """How much memory of its own this process may have, where the system counts it: the same for all its queries."""

    def __init__(self) -> None:
        self._base: int | None = None
        self._is_set = False

    def set(self, most: int) -> None:
        """Let it have ``most`` bytes more than now."""
        if self._is_set:
            return
        self._base, self._is_set = _data_bytes(), True
        try:
            import resource

            if self._base is not None:
                resource.setrlimit(resource.RLIMIT_DATA, (self._base + most + _ELSEWHERE,) * 2)
        except (ImportError, OSError, ValueError):
            return  # another system: DuckDB counts what it can

    @property
    def leaves_room(self) -> bool:
        """Whether another query may take as much as the first one."""
        now = _data_bytes()
        return self._base is None or now is None or now - self._base <= _LEFT_MAX


def _listen(asked: queue.SimpleQueue[bytes]) -> None:
    """Take what is asked; with who asks this process ends too, for nobody waits for the rows any more."""
    while line := sys.stdin.buffer.readline():
        asked.put(line)
    os._exit(1)


def _value(said: Any) -> Any:
    """A parameter; one that is no JSON comes under the name of its kind."""
    if not isinstance(said, dict):
        return said
    ((kind, text),) = said.items()
    return _KINDS[kind](text)


def _run(folder: Path, asked: dict[str, Any], bound: _Bound, duckdb: Any, pa: Any) -> None:
    settings = {**CLOSED, **asked["settings"], "temp_directory": str(folder / "spill")}
    with duckdb.connect(config=settings) as connection:
        for number, name in enumerate(asked["tables"]):
            source = pa.memory_map(str(folder / str(number)))
            connection.register(name, pa.ipc.open_stream(source).read_all())
        for setting in (*_LAST, "SET lock_configuration = true"):
            connection.execute(setting)
        bound.set(asked["memory"])
        parameters = {name: _value(value) for name, value in asked["parameters"].items()}
        text = asked["sql"]
        relation = connection.sql(text, params=parameters) if parameters else connection.sql(text)
        if relation is None:
            raise ValueError("it is no query")
        left = asked["memory"]
        with (
            pa.RecordBatchReader.from_stream(relation) as reader,
            pa.ipc.new_stream(sys.stdout.buffer, reader.schema) as rows,
        ):
            for batch in reader:
                left -= batch.nbytes
                if left < 0:
                    raise OverflowError
                rows.write_batch(batch)


def _answered(asked: dict[str, Any], bound: _Bound, duckdb: Any, pa: Any) -> bool:
    """Whether the rows of a query went out; else the reason is in ``error`` of its folder."""
    folder = Path(asked["folder"])
    try:
        _run(folder, asked, bound, duckdb, pa)
        sys.stdout.buffer.flush()
    except (
        duckdb.Error,
        pa.ArrowException,
        ArithmeticError,
        OSError,
        TypeError,
        ValueError,
        MemoryError,
    ) as error:
        kind = "rows" if isinstance(error, OverflowError) else type(error).__name__
        text = json.dumps({"kind": kind, "text": str(error)[:20_000]})
        (folder / "error").write_text(text)
        return False
    return True


def main() -> int:
    """Run what standard input asks; 0, or 3 and the reason in ``error``."""
    sys.path[:] = json.loads(sys.stdin.buffer.readline())
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=[lines], daemon=True).start()
    import duckdb
    import pyarrow as pa

    bound = _Bound()
    while _answered(json.loads(lines.get()), bound, duckdb, pa):
        pa.default_memory_pool().release_unused()
        sys.stdout.buffer.write(GOOD_FOR_MORE if bound.leaves_room else AT_ITS_END)
        sys.stdout.buffer.flush()
        if not bound.leaves_room:
            return 0
    return 3


if __name__ == "__main__":
    os._exit(main())
