"""A text that is a script where a page does not escape it."""

from __future__ import annotations

EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>\x1b[2J\u202e"
