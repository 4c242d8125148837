"""Failures around any store, on purpose and repeatable: for simulation and recovery tests.

A store call is a step.  ``Faults`` decides at each step what goes wrong; ``FaultyStorage`` does it.
After a crash every further call fails too, because the process is gone: clean-up code that would
still run in a test must not reach the files.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeVar

from table_core.errors import OutcomeUnknownError, StorageUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from table_core.ports import FileInfo, Storage

__all__ = ["Call", "Crash", "Fault", "Faults", "FaultyStorage"]

T = TypeVar("T")


class Fault(StrEnum):
    """What goes wrong with one call."""

    ERROR_BEFORE = "error-before"
    """It fails and nothing happened."""
    ERROR_AFTER = "error-after"
    """It fails though it happened: the answer was lost."""
    TWICE = "twice"
    """It happens twice, as when a client library repeats a request."""
    CRASH_BEFORE = "crash-before"
    """The process dies before it happened."""
    CRASH_AFTER = "crash-after"
    """The process dies after it happened."""


class Crash(BaseException):
    """The process died.  No ``except Exception`` may catch it."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a store: its number from 0, its name and the path."""

    index: int
    name: str
    path: str


@dataclass(slots=True)
class Faults:
    """What goes wrong when, and the calls so far.  Shared by every handle of one process."""

    decide: Callable[[Call], Fault | None]
    calls: list[Call] = field(default_factory=list)
    dead: bool = False
    left_open: list[object] = field(default_factory=list)
    """What a crashed call gave: a dead process closes no file, not even when it is collected."""

    @classmethod
    def none(cls) -> Faults:
        """Nothing goes wrong; ``calls`` are counted."""
        return cls(lambda _: None)

    @classmethod
    def at(cls, plan: Mapping[int, Fault]) -> Faults:
        """Faults at the calls with these numbers."""
        return cls(lambda call: plan.get(call.index))

    @classmethod
    def seeded(cls, seed: int, rate: float, kinds: tuple[Fault, ...] = tuple(Fault)) -> Faults:
        """One of ``kinds`` at about ``rate`` of the calls, the same ones for the same seed."""
        draw = random.Random(seed)
        return cls(lambda _: draw.choice(kinds) if draw.random() < rate else None)


class FaultyStorage:
    """A store whose calls fail as ``faults`` say."""

    def __init__(self, inner: Storage, faults: Faults) -> None:
        self.inner = inner
        self.faults = faults

    @property
    def uri(self) -> str:
        """Of the store within."""
        return self.inner.uri

    def within(self, path: str) -> FaultyStorage:
        """The same faults around the folder ``path``."""
        return FaultyStorage(self.inner.within(path), self.faults)

    def create(self, path: str, body: bytes) -> bool:
        """A lost answer is an unknown outcome; a repeated request finds itself and still wins."""
        return self._run("create", path, lambda: self.inner.create(path, body), unknown=True)

    def write(self, path: str, body: bytes, *, durable: bool = True) -> None:
        """As the store within."""
        self._run("write", path, lambda: self.inner.write(path, body, durable=durable))

    def read(self, path: str) -> bytes:
        """As the store within."""
        return self._run("read", path, lambda: self.inner.read(path))

    def exists(self, path: str) -> bool:
        """As the store within."""
        return self._run("exists", path, lambda: self.inner.exists(path))

    def list(self, folder: str) -> Iterator[FileInfo]:
        """As the store within, whole before the first entry is given."""
        yield from self._run("list", folder, lambda: [*self.inner.list(folder)])

    def walk(self, folder: str) -> Iterator[FileInfo]:
        """As the store within, whole before the first file is given."""
        yield from self._run("walk", folder, lambda: [*self.inner.walk(folder)])

    def delete(self, paths: Iterable[str]) -> int:
        """One step for each file, so that a crash may leave some of them."""
        return sum(self._delete_one(path) for path in paths)

    def _delete_one(self, path: str) -> int:
        return self._run("delete", path, lambda: self.inner.delete([path]))

    def delete_tree(self, folder: str) -> None:
        """As the store within."""
        self._run("delete_tree", folder, lambda: self.inner.delete_tree(folder))

    def delete_empty_folder(self, folder: str) -> bool:
        """As the store within."""
        return self._run(
            "delete_empty_folder", folder, lambda: self.inner.delete_empty_folder(folder)
        )

    def make_folder(self, folder: str) -> None:
        """As the store within."""
        self._run("make_folder", folder, lambda: self.inner.make_folder(folder))

    def move(self, source: str, target: str) -> None:
        """As the store within; never twice."""
        self._run("move", source, lambda: self.inner.move(source, target), repeat=False)

    def refuse_links(self, path: str) -> None:
        """As the store within."""
        self.inner.refuse_links(path)

    def open_input(self, path: str, size: int | None = None) -> Any:
        """As the store within; what is open then reads without faults."""
        return self._run(
            "open_input", path, lambda: self.inner.open_input(path, size), repeat=False
        )

    def open_output(self, path: str) -> Any:
        """As the store within; what is open then writes without faults."""
        return self._run("open_output", path, lambda: self.inner.open_output(path), repeat=False)

    def sync(self, paths: Iterable[str]) -> None:
        """As the store within."""
        names = list(paths)
        self._run("sync", ",".join(names), lambda: self.inner.sync(names))

    def _run(
        self,
        name: str,
        path: str,
        effect: Callable[[], T],
        *,
        unknown: bool = False,
        repeat: bool = True,
    ) -> T:
        faults = self.faults
        if faults.dead:
            raise Crash(f"{name} {path}: the process is dead")
        call = Call(len(faults.calls), name, path)
        faults.calls.append(call)
        fault = faults.decide(call)
        if fault is Fault.CRASH_BEFORE:
            self._crash(call)
        if fault is Fault.ERROR_BEFORE:
            raise self._error(call, unknown=False)
        result = effect()
        if fault is Fault.TWICE and repeat:
            effect()
        if fault is Fault.CRASH_AFTER:
            faults.left_open.append(result)
            self._crash(call)
        if fault is Fault.ERROR_AFTER:
            raise self._error(call, unknown=unknown)
        return result

    def _crash(self, call: Call) -> None:
        self.faults.dead = True
        raise Crash(f"crash at {call}")

    def _error(self, call: Call, *, unknown: bool) -> StorageUnavailableError | OutcomeUnknownError:
        what = f"cannot {call.name} {self.uri}/{call.path}: injected fault at call {call.index}"
        cls = OutcomeUnknownError if unknown else StorageUnavailableError
        return cls(what, path=call.path, reason="injected")
