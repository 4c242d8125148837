"""SQL of users in a process of its own, which can be ended whatever it does and cannot take more than it may.

DuckDB counts neither the memory of one huge value nor the time of one slow function, and neither can be
taken back inside a process that also does other things.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import subprocess
import sys
import tempfile
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from table_core.errors import ArgumentError
from table_core.options.parse import duration_ms, integer, size_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = ["SqlLimits", "rows_of"]

_CHILD: Final = Path(__file__).with_name("sql_child.py")
_ENVIRONMENT: Final = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "TMPDIR", "SYSTEMROOT")
"""What Python and its libraries are found by."""
_OF_MEMORY: Final = ("OutOfMemoryException", "MemoryError", "ArrowMemoryError")


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlLimits:
    """What one query may take of the machine, beside the rows of its views."""

    memory: str = "1 gb"
    """Of the process while it works, values of any size counted, and of the rows that it finds."""
    disk: str = "16 gb"
    """Of a temporary folder, for what is larger than ``memory``."""
    time: str = "10 min"
    """From its start to its last row; then it is ended."""
    threads: int = 4

    @classmethod
    def of(cls, options: Mapping[str, str]) -> SqlLimits:
        """Read ``sql.memory-limit``, ``sql.disk-limit``, ``sql.time-limit`` and ``sql.threads``.

        Raises:
            ArgumentError: one of them does not parse.
        """
        limits: dict[str, Any] = {}
        for name, parse in _PARSERS.items():
            key = f"sql.{name}" if name == "threads" else f"sql.{name}-limit"
            if key in options:
                try:
                    number = parse(options[key])
                except ValueError as error:
                    raise ArgumentError(f"{key}: {error}", argument=key) from error
                if number < 1:
                    raise ArgumentError(f"{key}={options[key]}: too small", argument=key)
                limits[name] = number if name == "threads" else options[key]
        return cls(**limits)


_PARSERS: Final[Mapping[str, Callable[[str], int]]] = {
    "memory": size_bytes,
    "disk": size_bytes,
    "time": duration_ms,
    "threads": integer,
}


def rows_of(
    sql: str,
    tables: Mapping[str, pa.RecordBatchReader],
    parameters: Mapping[str, Any],
    limits: SqlLimits,
) -> pa.Table:
    """Rows of ``sql``, one SELECT, over ``tables``, with the values of its ``$name``.

    ``tables`` go to the local disk, a batch at a time.

    Raises:
        ArgumentError: DuckDB refuses it, or it takes more memory, disk or time than it may.
    """
    with tempfile.TemporaryDirectory(prefix="paimon-sql-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        for number, rows in enumerate(tables.values()):
            with rows, pa.ipc.new_stream(str(folder / str(number)), rows.schema) as sink:
                for batch in rows:
                    sink.write_batch(batch)
        asked = {
            "sql": sql,
            "parameters": {name: _as_json(value) for name, value in parameters.items()},
            "tables": list(tables),
            "memory": size_bytes(limits.memory),
            "path": sys.path,
            "settings": {
                "memory_limit": f"{size_bytes(limits.memory)}B",
                "max_temp_directory_size": f"{size_bytes(limits.disk)}B",
                "threads": str(limits.threads),
            },
        }
        with _started(folder, duration_ms(limits.time) / 1000) as (child, late):
            selected: pa.Table | None = None
            try:
                child.stdin.write(json.dumps(asked).encode() + b"\n")
                child.stdin.flush()
                with pa.ipc.open_stream(child.stdout) as reader:
                    selected = reader.read_all()
            except (OSError, pa.ArrowInvalid):  # it ended before its last row
                child.kill()
            if child.wait() != 0 or selected is None:
                raise _failure(sql, folder, child.returncode, limits, late=late.is_set())
            return selected


def _as_json(value: object) -> object:
    """A value beside the SQL; one that JSON has no form for under the name of its kind."""
    if isinstance(value, dt.datetime):
        return {"timestamp": value.isoformat()}
    if isinstance(value, dt.date):
        return {"date": value.isoformat()}
    if isinstance(value, Decimal):
        return {"decimal": str(value)}
    return {"bytes": value.hex()} if isinstance(value, bytes) else value


@contextmanager
def _started(folder: Path, seconds: float) -> Iterator[tuple[Any, threading.Event]]:
    """The process, which ends with this block, and whether it was ended for its time."""
    late = threading.Event()
    kept = {key: os.environ[key] for key in _ENVIRONMENT if key in os.environ}
    command = [sys.executable, "-I", str(_CHILD), str(folder)]
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env=kept,
            cwd=folder,
        ) as child,
    ):

        def end() -> None:
            late.set()
            child.kill()

        pipe = child.stdin
        assert pipe is not None
        timer = threading.Timer(min(seconds, threading.TIMEOUT_MAX), end)
        timer.daemon = True
        timer.start()
        try:
            yield child, late
        finally:
            timer.cancel()
            child.kill()
            with suppress(BrokenPipeError):  # it ended before it took what was asked
                pipe.close()


def _failure(sql: str, folder: Path, code: int, limits: SqlLimits, *, late: bool) -> ArgumentError:
    if late:
        text = (
            f"SQL takes longer than {limits.time}, which is sql.time-limit, and was ended: raise "
            "it, or let Spark run the query"
        )
        return ArgumentError(text, argument="sql", value=sql)
    reason = folder / "error"
    if not reason.exists():
        said = (folder / "log").read_text(errors="replace")[-500:].strip()
        text = (
            f"SQL failed: its process ended with {code}, as one does that needs more memory: {said}"
        )
        return ArgumentError(text, argument="sql", value=sql)
    failure = json.loads(reason.read_text())
    if failure["kind"] == "rows":
        text = (
            f"SQL finds more rows than {limits.memory} hold, which is sql.memory-limit: raise it, "
            "or let Spark run the query"
        )
    elif failure["kind"] in _OF_MEMORY:
        text = (
            f"SQL failed: it needs more memory than {limits.memory}, which is sql.memory-limit: "
            f"{failure['text']}"
        )
    else:
        text = f"SQL failed: {failure['text']}"
    return ArgumentError(text, argument="sql", value=sql)
