"""Boxes, arrows and words of an SVG that can be read in light and in dark."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape

__all__ = ["DARK", "LIGHT", "Canvas"]

LIGHT = {
    "paper": "#ffffff",
    "ink": "#1f2430",
    "soft": "#4d5566",
    "line": "#6b7385",
    "plain": "#eef0f5",
    "data": "#dbe7ff",
    "good": "#d5f0dd",
    "warn": "#ffe7c7",
}
DARK = {
    "paper": "#1d212b",
    "ink": "#eef1f7",
    "soft": "#b9c0d0",
    "line": "#98a1b5",
    "plain": "#2c3240",
    "data": "#263a61",
    "good": "#234a33",
    "warn": "#5a4421",
}
FILLS = ("plain", "data", "good", "warn")


def _rules(colours: dict[str, str]) -> str:
    rules = [
        f".paper{{fill:{colours['paper']}}}",
        f"text{{fill:{colours['ink']}}}",
        f".soft{{fill:{colours['soft']}}}",
        f".line{{stroke:{colours['line']};fill:none}}",
        f".head{{fill:{colours['line']}}}",
    ]
    rules += [f".{name}{{fill:{colours[name]};stroke:{colours['line']}}}" for name in FILLS]
    return "".join(rules)


@dataclass
class Canvas:
    """A picture of ``width`` by ``height`` pixels with a title and a sentence that replaces it."""

    title: str
    about: str
    width: int
    height: int
    parts: list[str] = field(default_factory=list)

    def box(
        self, x: int, y: int, width: int, height: int, *lines: str, fill: str = "plain"
    ) -> None:
        """A rectangle with centred lines; the first is bold if there are several."""
        self.parts.append(
            f'<rect class="{fill}" x="{x}" y="{y}" width="{width}" height="{height}" rx="6"/>'
        )
        top = y + height / 2 - 9 * (len(lines) - 1) + 5
        for number, line in enumerate(lines):
            bold = number == 0 and len(lines) > 1
            self.text(x + width / 2, top + 18 * number, line, anchor="middle", bold=bold)

    def frame(self, x: int, y: int, width: int, height: int, title: str) -> None:
        """A dashed border with a title in its upper left corner."""
        self.parts.append(
            f'<rect class="line" stroke-dasharray="5 4" x="{x}" y="{y}" width="{width}"'
            f' height="{height}" rx="8"/>'
        )
        self.text(x + 10, y + 20, title, soft=True, bold=True)

    def text(
        self,
        x: float,
        y: float,
        words: str,
        *,
        anchor: str = "start",
        bold: bool = False,
        soft: bool = False,
    ) -> None:
        more = ' font-weight="600"' if bold else ""
        more += ' class="soft"' if soft else ""
        self.parts.append(
            f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}"{more}>{escape(words)}</text>'
        )

    def arrow(self, *points: tuple[int, int]) -> None:
        """A line through ``points`` that ends in a head."""
        path = " ".join(f"{x},{y}" for x, y in points)
        self.parts.append(f'<polyline class="line" points="{path}" marker-end="url(#head)"/>')

    def svg(self) -> str:
        """The document."""
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}"'
                f' width="{self.width}" height="{self.height}" role="img"'
                ' font-family="system-ui, sans-serif" font-size="14" stroke-width="1.4">',
                f"<title>{escape(self.title)}</title>",
                f"<desc>{escape(self.about)}</desc>",
                f"<style>text{{stroke:none}}{_rules(LIGHT)}"
                f"@media (prefers-color-scheme: dark){{{_rules(DARK)}}}</style>",
                '<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7"'
                ' markerHeight="7" orient="auto-start-reverse">'
                '<path class="head" d="M0,0 L10,5 L0,10 z"/></marker></defs>',
                f'<rect class="paper" width="{self.width}" height="{self.height}" rx="10"/>',
                *self.parts,
                "</svg>\n",
            ]
        )
