"""Which trigger rules begin a task although a task before it has failed."""

from __future__ import annotations

from typing import Any, Final

__all__ = ["begins_whatever_happened", "fails_with_others"]

_STRICT: Final = frozenset({"all_success", "none_failed", "none_failed_min_one_success"})
_AFTER_FAILURES: Final = frozenset({"all_failed", "one_failed", "all_skipped"})


def fails_with_others(rule: Any) -> bool:
    """Whether a task of trigger rule ``rule`` cannot begin where a task before it has failed."""
    return _name(rule) in _STRICT


def begins_whatever_happened(rule: Any) -> bool:
    """Whether a task of trigger rule ``rule`` begins after a success, and after a failure too."""
    return _name(rule) not in _STRICT | _AFTER_FAILURES


def _name(rule: Any) -> str:
    return str(getattr(rule, "value", rule))
