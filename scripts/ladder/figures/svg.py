"""What the drawings share: a canvas for SVG that adapts to light and dark pages and can be read on
a phone."""

import html
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

# Units of the viewBox. A phone shows them in PHONE pixels, where the smallest text still has
# LEAST pixels; a wide page shows SCALE pixels a unit.
WIDTH, PHONE, LEAST, SCALE = 480, 358, 9, 1.5
SIZES = {"title": 17, "label": 13.5, "small": 12.5}

STYLE = """<style>
svg { --ink: #24292f; --soft: #57606a; --page: #ffffff; --a: #2f81f7; --b: #db6d28; --c: #2da44e;
  --d: #8250df; --hot: #cf222e; --gray: #8c959f; }
@media (prefers-color-scheme: dark) { svg { --ink: #d0d7de; --soft: #9ea7b3; --page: #0d1117;
  --a: #58a6ff; --b: #f0883e; --c: #3fb950; --d: #bc8cff; --hot: #ff7b72; --gray: #768390; } }
text { font-family: system-ui, sans-serif; fill: var(--ink); }
.title { font-size: 17px; font-weight: 600; } .label { font-size: 13.5px; }
.small { font-size: 12.5px; } .soft { fill: var(--soft); } .on { fill: var(--page); }
.bold { font-weight: 600; }
rect, path, line, circle { stroke: var(--soft); stroke-width: 1; }
.a { fill: var(--a); } .b { fill: var(--b); } .c { fill: var(--c); } .d { fill: var(--d); }
.hot { fill: var(--hot); } .gray { fill: var(--gray); } .empty { fill: none; }
rect.a, rect.b, rect.c, rect.d, rect.hot, rect.gray { fill-opacity: 0.28; }
rect.faint { fill-opacity: 0.12; } rect.strong { fill-opacity: 1; }
.bare { stroke: none; } .thin { stroke-width: 0.5; } .thick { stroke: var(--ink); stroke-width: 2; }
line.a, path.a { stroke: var(--a); } line.b, path.b { stroke: var(--b); }
line.c, path.c { stroke: var(--c); } line.d, path.d { stroke: var(--d); }
line.hot, path.hot { stroke: var(--hot); } path { fill: none; }
path.wide { fill: none; stroke-width: 2.2; }
path.head { fill: var(--soft); stroke: none; } path.head.a { fill: var(--a); }
path.head.b { fill: var(--b); } path.head.c { fill: var(--c); } path.head.d { fill: var(--d); }
path.head.hot { fill: var(--hot); } .dash { stroke-dasharray: 4 3; }
</style>"""


@dataclass(frozen=True)
class Figure:
    """`caption`: one or two sentences which say what to see."""

    svg: str
    caption: str


class Canvas:
    """Collects shapes; `kind` is a list of the classes of STYLE."""

    def __init__(self, title: str):
        self.name = title
        self.parts: list[str] = []

    def shape(self, tag: str, kind: str, where: dict[str, float], words: str) -> None:
        at = " ".join(f'{name}="{value:.5g}"' for name, value in where.items())
        inner = f"><title>{html.escape(words)}</title></{tag}>" if words else "/>"
        self.parts.append(f'<{tag} class="{kind}" {at}{inner}')

    def rect(self, x: float, y: float, w: float, h: float, kind: str = "empty", words="") -> None:
        """`words` are for a reader who points at it."""
        self.shape("rect", kind, {"x": x, "y": y, "width": w, "height": h}, words)

    def text(self, x: float, y: float, content: str, kind: str = "label", anchor="start") -> None:
        """`y` is the base line's."""
        at = "" if anchor == "start" else f' text-anchor="{anchor}"'
        content = html.escape(content)
        self.parts.append(f'<text class="{kind}" x="{x:.5g}" y="{y:.5g}"{at}>{content}</text>')

    def lines(self, x: float, y: float, rows: list[str], kind: str = "label") -> float:
        """Rows of text from the base line y on; the base line of what could follow."""
        for row in rows:
            self.text(x, y, row, kind)
            y += 18
        return y

    def box(self, x: float, y: float, w: float, h: float, content: str, kind: str, font="small"):
        """A rectangle with a text in its middle."""
        self.rect(x, y, w, h, kind)
        self.text(x + w / 2, y + h / 2 + 4.5, content, font, "middle")

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str = "") -> None:
        where = f'x1="{x1:.5g}" y1="{y1:.5g}" x2="{x2:.5g}" y2="{y2:.5g}"'
        self.parts.append(f'<line class="{kind}" {where}/>')

    def circle(self, x: float, y: float, radius: float, kind: str, words: str = "") -> None:
        self.shape("circle", kind, {"cx": x, "cy": y, "r": radius}, words)

    def path(self, points: list[tuple[float, float]], kind: str = "") -> None:
        d = "M" + " L".join(f"{x:.5g} {y:.5g}" for x, y in points)
        self.parts.append(f'<path class="{kind}" d="{d}"/>')

    def arrow(self, x1: float, y1: float, x2: float, y2: float, kind: str = "") -> None:
        length = math.hypot(x2 - x1, y2 - y1)
        ux, uy = (x2 - x1) / length, (y2 - y1) / length
        bx, by = x2 - 8 * ux, y2 - 8 * uy
        self.line(x1, y1, bx, by, kind)
        points = [(x2, y2), (bx - 4 * uy, by + 4 * ux), (bx + 4 * uy, by - 4 * ux)]
        self.path(points, f"head {kind.replace('dash', '')}".strip())

    @contextmanager
    def kind(self, words: str) -> Iterator[None]:
        """What is drawn meanwhile can be hidden on the site, by its name."""
        self.parts.append(f'<g data-kind="{html.escape(words)}">')
        yield
        self.parts.append("</g>")

    @contextmanager
    def link(self, to: str) -> Iterator[None]:
        """Leads from what is drawn meanwhile to a page, from docs/figures on. Images have no
        links; the site puts a drawing that has some into the page itself."""
        self.parts.append(f'<a href="{to}">')
        yield
        self.parts.append("</a>")

    def title(self, x: float = 8, y: float = 22) -> None:
        self.text(x, y, self.name, "title")

    def figure(self, height: float, caption: str) -> Figure:
        size = f'width="{WIDTH * SCALE:g}" height="{height * SCALE:g}"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" {size}'
        title = f"<title>{html.escape(self.name)}</title>"
        # Ten a line: what is generated need not bury what is written.
        parts = ["".join(self.parts[i : i + 10]) for i in range(0, len(self.parts), 10)]
        rows = [f'{head} role="img">', title, " ".join(STYLE.split()), *parts, "</svg>"]
        return Figure("\n".join(rows) + "\n", caption)
