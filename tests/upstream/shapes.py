"""Tables that many cases begin with."""

from __future__ import annotations

from tests.upstream.play import shape

__all__ = ["AP", "APPARTED", "KV", "PARTED"]

KV = shape("k INT, v STRING", key="k", bucket="1")
AP = shape("k INT, v STRING")
PARTED = shape("k INT, v STRING, p STRING", key="k, p", partition="p", bucket="1")
APPARTED = shape("k INT, v STRING, p STRING", partition="p")
