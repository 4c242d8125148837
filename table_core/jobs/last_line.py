"""The last line of a job: what it did, or what went wrong and what that came of first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from table_core.errors import TableError
from table_core.shortened import shortened

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["done_facts", "failed_facts"]

_TEXT_MAX: Final = 2_000
_CAUSED_BY: Final = "Caused by: "
_IN_WORKER: Final = "The above exception was the direct cause"
"""How the text of a Python worker goes on behind what an error came of."""


def done_facts(action: str, table: str | None, result: Mapping[str, Any]) -> dict[str, object]:
    """What a result document says was done; numbers that say nothing are left out."""
    return {
        "action": action,
        "table": table,
        "dry_run": bool(result.get("dry_run")),
        "snapshot": _step(result, "snapshot"),
        "rows_written": result.get("rows_written"),
        "files": _step(result, "files"),
        "files_deleted": result.get("files_deleted"),
        "seconds": round(float(result.get("seconds") or 0), 3),
    }


def failed_facts(error: Exception, raised: BaseException | None = None) -> dict[str, object]:
    """``error`` as its class and words, and the first of its causes, if it has one.

    ``raised`` is what was caught, where ``error`` was made of it.
    """
    caught = error if raised is None else raised
    cause = _first_cause(caught)
    text = _named(error)
    return {"error": text, "cause": None if cause is None or cause in text else cause}


def _step(result: Mapping[str, Any], name: str) -> str | None:
    """``3 to 4``; only the number where it is alike before and after, or was not there."""
    before, after = result.get(f"{name}_before"), result.get(f"{name}_after")
    if not after and not before:
        return None
    return f"{after}" if before in {None, after} else f"{before} to {after}"


def _first_cause(error: BaseException) -> str | None:
    """The innermost exception, or what the text of another process says it came of."""
    seen: list[BaseException] = [error]
    while (cause := seen[-1].__cause__) is not None and cause not in seen:
        seen.append(cause)
    text = str(seen[-1])
    if _IN_WORKER in text:
        lines = text.partition(_IN_WORKER)[0].rstrip().splitlines()
        return lines[-1].strip() if lines else None
    if _CAUSED_BY in text:
        return _one_line(text.rpartition(_CAUSED_BY)[2].splitlines()[0])
    return None if seen[-1] is error else _named(seen[-1], whole=False)


def _named(error: BaseException, *, whole: bool = True) -> str:
    text = str(error).strip()
    if not whole:
        text = text.partition("\n")[0]
    name = type(error).__name__
    kind = f" ({error.kind.value})" if isinstance(error, TableError) else ""
    return _one_line(f"{name}{kind}: {text}")


def _one_line(text: str) -> str:
    line = " ".join(part.strip() for part in text.splitlines())
    return shortened(line, _TEXT_MAX)
