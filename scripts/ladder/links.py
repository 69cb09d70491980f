"""Links of the built site that lead nowhere. MkDocs knows files, but not the anchors that our hooks
add, nor links in HTML."""

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin


class Page(HTMLParser):
    """The places that a link may name, and where the article's links lead."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str | None] = set()
        self.links: list[str] = []
        self.url, self.articles = path.as_uri(), 0
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.articles += tag == "article"
        self.anchors.add(given.get("id"))
        if tag == "a":
            self.anchors.add(given.get("name"))
            if self.articles > 0 and "href" in given:
                self.links.append(unquote(urljoin(self.url, given["href"])))

    def handle_endtag(self, tag: str) -> None:
        self.articles -= tag == "article"


def broken_links(site: Path) -> Iterator[str]:
    pages = {p: Page(p) for p in sorted(site.resolve().rglob("*.html")) if p.name != "404.html"}
    for path, page in pages.items():
        for target in page.links:
            if not target.startswith("file://"):
                continue
            file, _, anchor = target.removeprefix("file://").partition("#")
            file = Path(file.partition("?")[0])
            if file not in pages and not file.exists():
                yield f"{path.name}: no {file}"
            elif anchor and (file not in pages or anchor not in pages[file].anchors):
                yield f"{path.name}: no #{anchor} in {file.name}"
