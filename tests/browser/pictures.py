"""Pictures of the page that the documents show, and whether the page still looks so."""

from __future__ import annotations

import base64
import os
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.servers import ROOT

__all__ = ["Pictures"]

KEPT = ROOT / "docs" / "images"
FARTHEST = 4.0
"""Of 255: other numbers and times move a picture by up to 1.7, one bar more by 3.4; another tab lies 4.6 or more away."""
PATIENCE_S = 120.0
"""A page that is still fading in, or asks for newer data at this moment, is looked at again for so long."""
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
    refused: Path
    """The folder for what did not look as it should."""

    def take(self, page: Page, name: str) -> None:
        """The page comes to look as the picture ``name`` does, and more like it than like another one."""
        if os.environ.get("SCREENSHOTS"):
            (KEPT / name).write_bytes(page.screenshot())
            return
        deadline = time.monotonic() + PATIENCE_S
        while True:
            taken = page.screenshot()
            distances = self._distances(taken)
            if min(distances, key=distances.__getitem__) == name and distances[name] < FARTHEST:
                return
            if time.monotonic() > deadline:
                break
        (self.refused / name).write_bytes(taken)
        pytest.fail(
            f"the page does not look like {name}: {distances}; it is kept in {self.refused / name}: look at it, "
            "and take the pictures anew with SCREENSHOTS=1 make test-browser"
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
