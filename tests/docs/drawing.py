"""
A small drawing board: boxes, arrows and labels as SVG, with colours for light and for dark screens.
"""

import math
from xml.sax.saxutils import escape

STYLE = """
svg { font: 14px system-ui, sans-serif; }
.ground { fill: #f8f9fa; stroke: #d0d5db; }
.box { fill: #ffffff; stroke: #5b6673; stroke-width: 1.5; }
.end { fill: #e6f0e8; }
.wait { fill: #fbf1d9; }
.alarm { fill: #f9e3e0; }
.line { fill: none; stroke: #5b6673; stroke-width: 1.5; }
.head { fill: #5b6673; }
text { fill: #1c2733; text-anchor: middle; dominant-baseline: central; }
.label, .halo { font-size: 12px; fill: #46525f; }
.halo { stroke: #f8f9fa; stroke-width: 5px; stroke-linejoin: round; }
@media (prefers-color-scheme: dark) {
  .ground { fill: #1a1d21; stroke: #3a424b; }
  .box { fill: #262b31; stroke: #93a0ad; }
  .end { fill: #24382a; }
  .wait { fill: #443a1f; }
  .alarm { fill: #4a2a27; }
  .line { stroke: #93a0ad; }
  .head { fill: #93a0ad; }
  text { fill: #e4e9ee; }
  .label, .halo { fill: #b9c4cf; }
  .halo { stroke: #1a1d21; }
}
"""
HEAD = 9.0
Point = tuple[float, float]


class Drawing:
    """
    One picture. What is drawn later lies above what was drawn before.
    """

    def __init__(self, width: int, height: int, title: str) -> None:
        self.arrows = 0
        self._boxes: dict[str, tuple[float, float, float, float]] = {}
        self._above: list[str] = []
        self._parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
            f"<title>{escape(title)}</title>",
            f"<style>{STYLE}</style>",
            f'<rect class="ground" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8"/>',
        ]

    def box(self, name: str, at: Point, text: str, *, width: float = 150, kind: str = "") -> None:
        """A box around *at* that arrows reach by its name; lines of its text are divided by a line break."""
        lines = text.split("\n")
        height = 18.0 * len(lines) + 18
        x, y = at
        self._boxes[name] = (x, y, width / 2, height / 2)
        self._above.append(
            f'<rect class="{f"box {kind}".strip()}" x="{x - width / 2:g}" y="{y - height / 2:g}" '
            f'width="{width:g}" height="{height:g}" rx="7"/>'
        )
        for place, line in enumerate(lines):
            self._above.append(_text(x, y + 18 * (place - (len(lines) - 1) / 2), line))

    def dot(self, name: str, at: Point) -> None:
        """The mark of a beginning."""
        self._boxes[name] = (*at, 8, 8)
        self._above.append(f'<circle class="head" cx="{at[0]:g}" cy="{at[1]:g}" r="7"/>')

    def point(self, name: str, at: Point) -> None:
        """A place without a mark that arrows reach by its name."""
        self._boxes[name] = (*at, 0.1, 0.1)

    def arrow(self, first: str, second: str, label: str = "", *, aside: float = 0, at: float = 0.5) -> None:
        """An arrow between two boxes, moved *aside* to its left, with a label at a part of its way."""
        (x1, y1, *_), (x2, y2, *_) = self._boxes[first], self._boxes[second]
        length = math.hypot(x2 - x1, y2 - y1)
        shift = (aside * (y2 - y1) / length, -aside * (x2 - x1) / length)
        centres = [(x + shift[0], y + shift[1]) for x, y in ((x1, y1), (x2, y2))]
        begin = self._border(first, centres[0], centres[1])
        end = self._border(second, centres[1], centres[0])
        self._line([begin, end])
        self.label(begin[0] + (end[0] - begin[0]) * at, begin[1] + (end[1] - begin[1]) * at, label)

    def around(self, first: str, second: str, by: float, label: str = "") -> None:
        """An arrow from the left side of one box to the left side of another, by way of the column *by*."""
        (x1, y1, half1, _), (x2, y2, half2, _) = self._boxes[first], self._boxes[second]
        self._line([(x1 - half1, y1), (by, y1), (by, y2), (x2 - half2, y2)])
        self.label(by, y1 + (y2 - y1) / 4, label)

    def label(self, x: float, y: float, text: str) -> None:
        """A small text on its own ground."""
        lines = text.split("\n") if text else []
        for place, line in enumerate(lines):
            height = y + 15 * (place - (len(lines) - 1) / 2)
            self._above += [_text(x, height, line, "halo"), _text(x, height, line, "label")]

    def svg(self) -> str:
        """The picture as a file."""
        return "\n".join([*self._parts, *self._above, "</svg>"]) + "\n"

    def _border(self, name: str, start: Point, towards: Point) -> Point:
        """Where a line from inside a box leaves it."""
        x, y, half_width, half_height = self._boxes[name]
        dx, dy = towards[0] - start[0], towards[1] - start[1]
        steps = [
            ((centre + math.copysign(half, d)) - begin) / d
            for centre, half, begin, d in ((x, half_width, start[0], dx), (y, half_height, start[1], dy))
            if abs(d) > 0.01
        ]
        step = min(steps)
        return start[0] + dx * step, start[1] + dy * step

    def _line(self, points: list[Point]) -> None:
        self.arrows += 1
        (x1, y1), (x2, y2) = points[-2:]
        angle = math.degrees(math.atan2(y2 - y1, x2 - x1))
        way = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self._parts.append(f'<polyline class="line" points="{way}"/>')
        self._parts.append(
            f'<path class="head" d="M0,0 L{-HEAD:g},{HEAD / 2:g} L{-HEAD:g},{-HEAD / 2:g} Z" '
            f'transform="translate({x2:.1f} {y2:.1f}) rotate({angle:.1f})"/>'
        )


def _text(x: float, y: float, text: str, kind: str = "") -> str:
    of_kind = f' class="{kind}"' if kind else ""
    return f'<text{of_kind} x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'
