import re
import xml.etree.ElementTree as ElementTree

import pytest
from matplotlib.font_manager import FontProperties, findfont
from matplotlib.ft2font import FT2Font

from ladder import manifest
from ladder.figures import FIGURES, sources, svg, swizzle, tiles
from ladder.project import BadInput

SVG = "{http://www.w3.org/2000/svg}"
LARGEST_OVERLAP = 0.15  # of the smaller text's area


def text_width(content, size, bold):
    """In DejaVu Sans, the widest that a browser takes for system-ui."""
    font = FT2Font(findfont(FontProperties("DejaVu Sans", weight="bold" if bold else "normal")))
    font.set_size(100, 72)  # pixels, so that nothing is lost by rounding
    font.set_text(content)
    return font.get_width_height()[0] / 64 * size / 100


def texts(drawing):
    """Of every text its content and left, top, right and bottom, and its size in units."""
    result = []
    for node in ElementTree.fromstring(drawing).iter(f"{SVG}text"):
        kind = node.get("class")
        size = next(svg.SIZES[word] for word in kind.split() if word in svg.SIZES)
        width = text_width(node.text, size, "bold" in kind or "title" in kind)
        x, y = float(node.get("x")), float(node.get("y"))
        left = x - {"start": 0, "middle": width / 2, "end": width}[node.get("text-anchor", "start")]
        result.append((node.text, (left, y - 0.75 * size, left + width, y + 0.2 * size), size))
    return result


def overlap(a, b):
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    smaller = min((box[2] - box[0]) * (box[3] - box[1]) for box in (a, b))
    return max(width, 0) * max(height, 0) / smaller


def faults(drawing):
    """What nobody could read, on a phone or at all."""
    _, _, width, height = map(float, ElementTree.fromstring(drawing).get("viewBox").split())
    found, seen = [], []
    for content, box, size in texts(drawing):
        if size * svg.PHONE / width < svg.LEAST:
            found.append(f"'{content}' is too small")
        if box[0] < 0 or box[1] < 0 or box[2] > width or box[3] > height:
            found.append(f"'{content}' leaves the drawing")
        for other, place in seen:
            if overlap(box, place) > LARGEST_OVERLAP:
                found.append(f"'{content}' lies on '{other}'")
        seen.append((content, box))
    return found


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_can_be_read_on_a_phone_and_adapts_to_dark_pages(name):
    figure = FIGURES[name]()
    assert faults(figure.svg) == []
    assert "prefers-color-scheme: dark" in figure.svg
    for box in ElementTree.fromstring(figure.svg).iter(f"{SVG}rect"):
        assert float(box.get("x")) >= 0 and float(box.get("width")) > 0
        assert float(box.get("x")) + float(box.get("width")) <= svg.WIDTH
    assert figure.caption.endswith(".") and figure.caption.count(". ") <= 1


def test_the_sizes_of_the_style_are_those_that_are_reckoned_with():
    for kind, size in svg.SIZES.items():
        assert f".{kind} {{ font-size: {size:g}px" in svg.STYLE


@pytest.mark.parametrize(
    "text, fault",
    [
        ((300, 20, "a text that is much too long"), "leaves the drawing"),
        ((8, 52, "over"), "'over' lies on 'there'"),
    ],
)
def test_a_text_out_of_place_is_found(text, fault):
    canvas = svg.Canvas("title")
    canvas.text(8, 50, "there")
    canvas.text(*text)
    assert fault in faults(canvas.figure(100, "").svg)[0]


def test_a_small_text_is_found(monkeypatch):
    monkeypatch.setitem(svg.SIZES, "small", 10)
    canvas = svg.Canvas("title")
    canvas.text(8, 50, "there", "small")
    assert faults(canvas.figure(100, "").svg) == ["'there' is too small"]


def test_constants_of_a_header(tmp_path, monkeypatch):
    (tmp_path / "05_x.cuh").write_text("""
namespace ladder::x {
constexpr int BM = 4 * 32, BN = BM / 2;  // constexpr int BM = 7;
namespace other {
constexpr int BM = 1;
}  // namespace other
template <int BK, bool B>
__global__ void __launch_bounds__(1)
    gemm_kernel(int M) {
  constexpr int PIPE = BK >= 16 ? 4 : 2;
}
template <int BK, bool B>
void launch_tiles(const Gemm<float, float>& p) {
}
inline void gemm_variant(const Gemm<float, float>& p) {
  launch_tiles<8, false>(p);
}
inline void gemm(const Gemm<float, float>& p) {
  launch_tiles<16, true>(p);
}
}  // namespace ladder::x
""")
    monkeypatch.setattr(sources, "KERNELS", tmp_path)
    assert sources.constants("05_x") == {"BM": 128, "BN": 64, "BK": 16, "B": 1, "PIPE": 4}
    with pytest.raises(BadInput, match="no expression of ROW"):
        sources.evaluated("int ROW = other;", "ROW", {"x": 1})


def kernels_shared_bytes(stage, t):
    """At least: of tiles without padding; at most: with padding by 16 bytes a row, and staging."""
    size = tiles.element_bytes(stage)
    tile = t.pipe * t.bk * (t.bm + t.bn) * size
    return tile, tile + t.pipe * 16 * (t.bm + 2 * t.bk) + 40 * 1024


@pytest.mark.parametrize("stage", manifest.load())
def test_tiles_are_those_that_were_measured(stage):
    t = tiles.of_stage(stage)
    variant = tiles.own(tiles.read_json(tiles.RESULTS / f"{stage}_4096.json"))
    assert t.threads == variant["threads"]
    if t.bk:
        least, most = kernels_shared_bytes(stage, t)
        assert least <= variant["shared_bytes"] <= most
    else:
        assert variant["shared_bytes"] == 0
    if t.group == "warp":
        assert t.bm // t.wm * (t.bn // t.wn) * 32 == t.threads
    constants = sources.constants(stage)
    if t.lane:
        part = 128 if t.group == "warpgroup" else 32 if t.group else t.threads
        computed = t.wm * t.wn if t.group else t.bm * t.bn
        assert (
            len(t.lane)
            == computed // part
            == constants.get("TM", 1) * constants.get("TN", len(t.lane))
        )


def test_swizzled_chunks_lie_in_different_banks():
    assert [swizzle.wavefronts(swizzle.unchanged, chunk) for chunk in range(8)] == [8] * 8
    assert [swizzle.wavefronts(swizzle.place, chunk) for chunk in range(8)] == [1] * 8
    assert swizzle.place(5, 3) == 6
    drawing = swizzle.draw().svg
    assert len(re.findall('rect class="hot strong"', drawing)) == 8
    assert len(re.findall('rect class="c strong"', drawing)) == 8
