"""``engine="auto"``: whether a job is small enough for the worker, or goes to Spark.

Decided by what metadata says the job will touch, and by what the worker has.  Nothing is read here, so
the same figures always give the same choice (docs/adr/0022-engine-auto.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from table_core.errors import ArgumentError
from table_core.options.nearest import require_one_of
from table_core.options.parse import integer, size_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["AUTO", "ENGINES", "AutoLimits", "EngineChoice", "Touched", "Worker", "choose_engine"]

AUTO: Final = "auto"
ENGINES: Final = ("spark", "local", AUTO)
_UNITS: Final = ("B", "kB", "MB", "GB", "TB")
_STEP: Final = 1024
RESERVE: Final = 192 << 20
"""What is left free: of Arrow's own buffers, of Python, and of whatever else the worker begins meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AutoLimits:
    """What is small: up to so much a job runs in the worker."""

    bytes: int = 256 << 20
    """Of data files, as they are stored."""
    rows: int = 5_000_000

    @classmethod
    def of(cls, *settings: Mapping[str, object]) -> AutoLimits:
        """Read ``bytes`` (e.g. ``"256 mb"``) and ``rows``; the later of ``settings`` wins.

        Raises:
            ArgumentError: a name is none, or a value does not parse.
        """
        parsed: dict[str, int] = {}
        for limits in settings:
            for name, value in limits.items():
                require_one_of("auto_limits", name, tuple(_PARSERS))
                try:
                    parsed[name] = _PARSERS[name](str(value))
                except ValueError as error:
                    raise ArgumentError(
                        f"auto_limits: {name}={value!r}: {error}",
                        argument="auto_limits",
                        value=value,
                    ) from error
                if parsed[name] < 0:
                    raise ArgumentError(
                        f"auto_limits: {name}={value!r} is negative",
                        argument="auto_limits",
                        value=value,
                    )
        return cls(**parsed)


_PARSERS: Final[Mapping[str, Callable[[str], int]]] = {"bytes": size_bytes, "rows": integer}


@dataclass(frozen=True, slots=True, kw_only=True)
class Touched:
    """What a job will read, and write anew, as metadata tells it."""

    files: int = 0
    bytes: int = 0
    rows: int = 0
    memory: int = 0
    """Of the worker, at most, while it does the job."""
    packages: tuple[str, ...] = ()
    """Modules that the worker must be able to import."""
    spark_because: str = ""
    """Why the worker cannot or need not do it, whatever the figures are."""

    def __add__(self, other: Touched) -> Touched:
        """Both."""
        return Touched(
            files=self.files + other.files,
            bytes=self.bytes + other.bytes,
            rows=self.rows + other.rows,
            memory=self.memory + other.memory,
            packages=tuple(dict.fromkeys((*self.packages, *other.packages))),
            spark_because=self.spark_because or other.spark_because,
        )

    def __str__(self) -> str:
        """The figures, for people."""
        return f"{self.files:,} files, {in_bytes(self.bytes)}, {self.rows:,} rows"


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """What the worker has when the job starts."""

    free_memory: int | None = None
    """Bytes; None: nobody knows."""
    missing: frozenset[str] = frozenset()
    """Modules that it cannot import."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineChoice:
    """Where a job runs, and why."""

    engine: str
    """``local`` or ``spark``."""
    reason: str

    @property
    def is_local(self) -> bool:
        """Whether the worker does it."""
        return self.engine == "local"


def choose_engine(touched: Touched | None, worker: Worker, limits: AutoLimits) -> EngineChoice:
    """The engine of a job that touches ``touched``; None: its verb has nothing for tasks to share."""
    if touched is None:
        return EngineChoice(engine="local", reason="no task of Spark could share in it")
    why = _why_spark(touched, worker, limits)
    if why:
        return EngineChoice(engine="spark", reason=f"{why}; it touches {touched}")
    free = "" if worker.free_memory is None else f" of {in_bytes(worker.free_memory)} free"
    return EngineChoice(
        engine="local",
        reason=f"it touches {touched}, at most {in_bytes(limits.bytes)} and {limits.rows:,} rows are "
        f"small, and takes up to {in_bytes(touched.memory)} of memory{free}",
    )


def _why_spark(touched: Touched, worker: Worker, limits: AutoLimits) -> str:
    absent = [name for name in touched.packages if name in worker.missing]
    if absent:
        return f"the worker has no {', '.join(absent)}"
    if touched.rows > limits.rows:
        return f"more than {limits.rows:,} rows"
    if touched.bytes > limits.bytes:
        return f"more than {in_bytes(limits.bytes)}"
    if touched.spark_because:
        return touched.spark_because
    if worker.free_memory is not None and touched.memory + RESERVE > worker.free_memory:
        return (
            f"it may take {in_bytes(touched.memory)} of memory and the worker has "
            f"{in_bytes(worker.free_memory)} free, of which {in_bytes(RESERVE)} are kept"
        )
    return ""


def in_bytes(count: int) -> str:
    """``count`` in the unit that people would choose."""
    size = float(count)
    for unit in _UNITS[:-1]:
        if size < _STEP:
            return f"{size:.0f} {unit}" if unit == "B" or size >= 10 else f"{size:.1f} {unit}"
        size /= _STEP
    return f"{size:,.1f} {_UNITS[-1]}"
