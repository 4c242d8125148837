"""Pictures of the page that the documents show, and whether the page still looks so."""

from __future__ import annotations

import base64
import os
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.servers import ROOT

__all__ = ["Pictures"]

KEPT = ROOT / "docs" / "images"
FARTHEST = 12.0
"""Of 255: numbers, times and letters of another machine differ by less, a changed layout by more."""
DISTANCES = """async ([taken, kept]) => {
  const small = async (body) => {
    const image = new Image();
    image.src = `data:image/png;base64,${body}`;
    await image.decode();
    const canvas = new OffscreenCanvas(68, 42);
    const context = canvas.getContext("2d");
    context.imageSmoothingQuality = "high";
    context.drawImage(image, 0, 0, canvas.width, canvas.height);
    return context.getImageData(0, 0, canvas.width, canvas.height).data;
  };
  const one = await small(taken);
  const far = (other) => one.reduce((sum, value, n) => sum + Math.abs(value - other[n]), 0) / one.length;
  return Promise.all(kept.map(async (body) => far(await small(body))));
}"""
"""How far a picture is from each of others: the mean difference of their colours, both made small."""


@dataclass(frozen=True, slots=True)
class Pictures:
    """Takes pictures for the documents with ``SCREENSHOTS=1``, else compares with those."""

    browser: Browser

    def take(self, page: Page, name: str) -> None:
        """The page as it is must look as the picture ``name`` does, and more like it than like another one."""
        taken = page.screenshot()
        if os.environ.get("SCREENSHOTS"):
            (KEPT / name).write_bytes(taken)
            return
        distances = self._distances(taken)
        nearest = min(distances, key=distances.__getitem__)
        if nearest != name or distances[name] >= FARTHEST:
            pytest.fail(
                f"{name} is not what the page looks like: {distances}; look at it, and take the pictures anew "
                "with SCREENSHOTS=1 make test-browser"
            )

    def _distances(self, taken: bytes) -> dict[str, float]:
        paths = sorted(KEPT.glob("*.png"))
        bodies = [base64.b64encode(body).decode() for body in (taken, *map(Path.read_bytes, paths))]
        blank = self.browser.new_page()
        try:
            found = blank.evaluate(DISTANCES, [bodies[0], bodies[1:]])
        finally:
            blank.close()
        return dict(zip((path.name for path in paths), found, strict=True))
