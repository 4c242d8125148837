"""Runs one SELECT in a process of its own: a script that knows DuckDB and Arrow and nothing of us.

``python -I sql_child.py FOLDER``; its standard input is one line of JSON, then nothing until the one who asks is
gone.  Rows go to standard output as an Arrow stream; what went wrong to ``FOLDER/error``.
"""

from __future__ import annotations

import datetime as dt
import decimal
import json
import os
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


def _bound_memory(most: int) -> None:
    """Let this process have ``most`` bytes more of memory of its own, where the system counts it."""
    try:
        import resource

        lines = Path("/proc/self/status").read_text().splitlines()
        now = next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmData:"))
        resource.setrlimit(resource.RLIMIT_DATA, (now + most + _ELSEWHERE,) * 2)
    except (ImportError, OSError, StopIteration, ValueError):
        return  # another system: DuckDB counts what it can


def _end_with_the_asker() -> None:
    """Nobody waits for the rows any more."""
    sys.stdin.buffer.read()
    os._exit(1)


def _value(said: Any) -> Any:
    """A parameter; one that is no JSON comes under the name of its kind."""
    if not isinstance(said, dict):
        return said
    ((kind, text),) = said.items()
    return _KINDS[kind](text)


def _run(folder: Path, asked: dict[str, Any], duckdb: Any, pa: Any) -> None:
    settings = {**CLOSED, **asked["settings"], "temp_directory": str(folder / "spill")}
    with duckdb.connect(config=settings) as connection:
        for number, name in enumerate(asked["tables"]):
            source = pa.memory_map(str(folder / str(number)))
            connection.register(name, pa.ipc.open_stream(source).read_all())
        for setting in (*_LAST, "SET lock_configuration = true"):
            connection.execute(setting)
        _bound_memory(asked["memory"])
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


def main(folder: Path) -> int:
    """Run what standard input asks; 0, or 3 and the reason in ``FOLDER/error``."""
    asked = json.loads(sys.stdin.buffer.readline())
    sys.path[:] = asked["path"]
    threading.Thread(target=_end_with_the_asker, daemon=True).start()
    import duckdb
    import pyarrow as pa

    try:
        _run(folder, asked, duckdb, pa)
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
        return 3
    return 0


if __name__ == "__main__":
    os._exit(main(Path(sys.argv[1])))
