"""SQL of users in a process of its own, which can be ended whatever it does and cannot take more than it may.

DuckDB counts neither the memory of one huge value nor the time of one slow function, and neither can be
taken back inside a process that also does other things.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import weakref
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from table_core.errors import ArgumentError
from table_core.options.parse import duration_ms, integer, size_bytes
from table_core.table.api.sql.sql_child import GOOD_FOR_MORE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = ["SqlLimits", "SqlProcesses", "rows_of"]

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
    processes: SqlProcesses | None = None,
) -> pa.Table:
    """Rows of ``sql``, one SELECT, over ``tables``, with the values of its ``$name``.

    ``tables`` go to the local disk, a batch at a time.  Without ``processes`` the query has one that ends with it.

    Raises:
        ArgumentError: DuckDB refuses it, or it takes more memory, disk or time than it may.
    """
    if processes is None:
        with closing(SqlProcesses()) as processes:
            return rows_of(sql, tables, parameters, limits, processes)
    with processes.taken(size_bytes(limits.memory)) as process, process.folder() as folder:
        for number, rows in enumerate(tables.values()):
            with rows, pa.ipc.new_stream(str(folder / str(number)), rows.schema) as sink:
                for batch in rows:
                    sink.write_batch(batch)
        asked = {
            "folder": str(folder),
            "sql": sql,
            "parameters": {name: _as_json(value) for name, value in parameters.items()},
            "tables": list(tables),
            "memory": size_bytes(limits.memory),
            "settings": {
                "memory_limit": f"{size_bytes(limits.memory)}B",
                "max_temp_directory_size": f"{size_bytes(limits.disk)}B",
                "threads": str(limits.threads),
            },
        }
        with process.ended_after(duration_ms(limits.time) / 1000) as late:
            selected = process.answer(asked)
        if selected is None:
            raise _failure(sql, folder, process, limits, late=late.is_set())
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


class SqlProcesses:
    """Processes that wait for the next query of one who asks, because each takes 0.4 s to start.

    They are of one task of one user, and are given to nobody else: not to what is forked either.  Each runs one query
    at a time, and ends with ``close`` or with who holds this.
    """

    def __init__(self) -> None:
        self._idle: list[_Process] = []
        self._lock = threading.Lock()
        weakref.finalize(self, _end_all, self._idle)

    def start(self, limits: SqlLimits) -> None:
        """Have one begun for the first query, while who asks prepares it."""
        with self._lock:
            if not self._idle:
                self._idle.append(_Process(size_bytes(limits.memory)))

    @contextmanager
    def taken(self, memory: int) -> Iterator[_Process]:
        """One that is bounded by ``memory`` bytes."""
        with self._lock:
            fit = [one for one in self._idle if one.is_for(memory)]
            for one in fit:
                self._idle.remove(one)
            over = [one for one in fit if one.is_over]
            there = [one for one in fit if one not in over]
            self._idle.extend(there[1:])
        for one in over:
            one.end()
        process = there[0] if there else _Process(memory)
        try:
            yield process
        except BaseException:
            process.end()
            raise
        if process.is_over:
            process.end()
        else:
            with self._lock:
                self._idle.append(process)

    def close(self) -> None:
        """End those that wait."""
        _end_all(self._idle)


def _end_all(processes: list[_Process]) -> None:
    while processes:
        processes.pop().end()


class _Process:
    """One process; a folder for its life, and one in it for each query."""

    def __init__(self, memory: int) -> None:
        self._memory, self._owner, self._queries = memory, os.getpid(), 0
        self._home = Path(tempfile.mkdtemp(prefix="paimon-sql-"))
        self._log = self._home / "log"
        kept = {key: os.environ[key] for key in _ENVIRONMENT if key in os.environ}
        with self._log.open("wb") as log:
            self._child: Any = subprocess.Popen(
                [sys.executable, "-I", str(_CHILD)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=kept,
                cwd=self._home,
            )
        self.said = ""
        """The end of what it wrote before it ended."""
        self._put(sys.path)

    def is_for(self, memory: int) -> bool:
        """Whether it is bounded so, and was started here: what was forked leaves it alone."""
        return self._memory == memory and self._owner == os.getpid()

    @property
    def is_over(self) -> bool:
        """Whether it takes no more queries."""
        return self._child.poll() is not None

    @property
    def code(self) -> int | None:
        """What it ended with."""
        code: int | None = self._child.returncode
        return code

    @contextmanager
    def folder(self) -> Iterator[Path]:
        """Where the next query has its tables, and what is larger than its memory."""
        self._queries += 1
        folder = self._home / f"query-{self._queries}"
        folder.mkdir()
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    @contextmanager
    def ended_after(self, seconds: float) -> Iterator[threading.Event]:
        """It is ended where this block takes longer; whether it was."""
        late = threading.Event()

        def end() -> None:
            late.set()
            self._child.kill()

        timer = threading.Timer(min(seconds, threading.TIMEOUT_MAX), end)
        timer.daemon = True
        timer.start()
        try:
            yield late
        finally:
            timer.cancel()
            if late.is_set():
                self._child.wait()

    def answer(self, asked: Mapping[str, Any]) -> pa.Table | None:
        """Rows of a query; None where the process ended before their last one."""
        self._put(asked)
        try:
            with pa.ipc.open_stream(self._child.stdout) as reader:
                selected = reader.read_all()
            if self._child.stdout.read(1) == GOOD_FOR_MORE:
                return selected
        except (OSError, pa.ArrowInvalid):  # it ended before its last row
            selected = None
            self._child.kill()
        code = self._child.wait()
        self.said = self._log.read_text(errors="replace")[-500:].strip()
        return selected if code == 0 and selected is not None else None

    def end(self) -> None:
        """End it, whatever it does; where it was forked into, it is left to who started it."""
        if self._owner == os.getpid():
            self._child.kill()
            self._child.wait()
            with suppress(BrokenPipeError):  # it ended before it took what was asked
                self._child.stdin.close()
            self._child.stdout.close()
            shutil.rmtree(self._home, ignore_errors=True)

    def _put(self, document: Any) -> None:
        with suppress(BrokenPipeError):  # it ended: that shows where its rows are read
            self._child.stdin.write(json.dumps(document).encode() + b"\n")
            self._child.stdin.flush()


def _failure(
    sql: str, folder: Path, process: _Process, limits: SqlLimits, *, late: bool
) -> ArgumentError:
    if late:
        text = (
            f"SQL takes longer than {limits.time}, which is sql.time-limit, and was ended: raise "
            "it, or let Spark run the query"
        )
        return ArgumentError(text, argument="sql", value=sql)
    reason = folder / "error"
    if not reason.exists():
        text = (
            f"SQL failed: its process ended with {process.code}, as one does that needs more memory: "
            f"{process.said}"
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
