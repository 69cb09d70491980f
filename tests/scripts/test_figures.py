import re
import subprocess
import xml.etree.ElementTree as ElementTree

import pytest

from ladder import manifest
from ladder.figures import (
    FIGURES,
    banks,
    copies,
    counted,
    descriptor,
    fragments,
    group_end,
    happens_before,
    lanes,
    machine,
    mbarrier,
    measured,
    order,
    sources,
    svg,
    sweep,
    swizzle,
    tiles,
)
from ladder.project import RESULTS, ROOT, BadInput

SVG = "{http://www.w3.org/2000/svg}"
LARGEST_OVERLAP = 0.15  # of the smaller text's area


# How wide characters are in their font's size, rounded up, of DejaVu Sans: the widest that a
# browser takes for system-ui. Bold ones are up to an eighth wider.
WIDTHS = {
    0.29: "'ijlIJ",
    0.36: " ,./:;\\|f-",
    0.41: "()[]t!r",
    0.53: '"*_`sz?',
    0.59: "cLFkvxy",
    0.64: "PTYaoeESbdghnpqu$0123456789{}",
    0.7: "KAVBRXZC",
    0.79: "UHNDG&OQ",
    0.86: "w#+<=>^~M",
    1.0: "%mW@",
}
WIDTH_OF = {character: width for width, group in WIDTHS.items() for character in group}
BOLD = 1.125


def text_width(content, size, bold):
    return sum(WIDTH_OF.get(c, 1.0) for c in content) * size * (BOLD if bold else 1)


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


@pytest.mark.parametrize("path", sorted((ROOT / "docs/figures").glob("access_*.svg")), ids=str)
def test_every_request_can_be_read_on_a_phone(path):
    assert faults(path.read_text()) == []


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


@pytest.mark.parametrize("stage", tiles.WITH_A_TILE)
def test_tiles_are_those_that_were_measured(stage):
    t = tiles.of_stage(stage)
    variant = tiles.own(tiles.read_report(tiles.RESULTS, stage, 4096))
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


def test_a_threads_elements_are_single_ones_quads_and_pairs():
    def lane(stage):
        t = tiles.of_stage(stage)
        return tiles.runs({m for m, _ in t.lane}), tiles.runs({n for _, n in t.lane})

    singles, quads = [(i, 1) for i in range(0, 128, 16)], [(0, 4), (64, 4)]
    assert lane("04_register_blocked") == (singles, singles)
    assert lane("04b_vectorized") == (quads, quads)
    assert lane("05_cp_async") == ([(0, 4), (16, 4), (32, 4), (48, 4)], [(0, 4), (32, 4)])
    assert lane("07_mma_sync")[1] == [(n, 2) for n in range(0, 64, 8)]
    assert lane("09_wgmma") == ([(0, 1), (8, 1)], [(n, 2) for n in range(0, 256, 8)])


def test_stages_that_choose_among_many_tiles_have_no_figure_of_one():
    measured = [stage for stage in manifest.load().values() if stage.measured]
    labels = {stage.label for stage in measured if stage.name not in tiles.WITH_A_TILE}
    many = ["05d", "05e", "13", "13b", "14", "15", "16", "17", "17b", "17c", "18", "19", "20", "21"]
    assert labels == set(many)


def test_of_two_stages_with_a_name_the_type_says_which():
    assert sources.stage_of("few_rows", "fp32").startswith("05e")
    assert sources.stage_of("few_rows", "fp16").startswith("14")


def test_swizzled_chunks_lie_in_different_banks():
    assert [swizzle.wavefronts(swizzle.unchanged, chunk) for chunk in range(8)] == [8] * 8
    assert [swizzle.wavefronts(swizzle.place, chunk) for chunk in range(8)] == [1] * 8
    assert swizzle.place(5, 3) == 6
    drawing = swizzle.draw().svg
    assert len(re.findall('rect class="hot strong"', drawing)) == 8
    assert len(re.findall('rect class="c strong"', drawing)) == 8


def test_the_order_of_blocks_is_that_of_the_kernels(tmp_path):
    text = (sources.KERNELS / "parts/block_order.cuh").read_text()
    function = text[text.index("// The tile's first") : text.rindex("}  // namespace")]
    program = tmp_path / "order.cpp"
    program.write_text(
        "#include <algorithm>\n#include <cstdio>\nusing std::min;\n"
        "#define __device__\n#define __forceinline__ inline\n"
        "int ceil_div(int a, int b) { return (a + b - 1) / b; }\n"
        + function
        + "int main() { for (int i = 0; i < 35; ++i) { Tile t = tile_of<2, 3, 4>(i, 14, 15);\n"
        'std::printf("%d %d\\n", t.m0 / 2, t.n0 / 3); } }\n'
    )
    subprocess.run(["c++", program, "-o", tmp_path / "order"], check=True)
    printed = subprocess.run([tmp_path / "order"], check=True, capture_output=True, text=True)
    rows = [tuple(map(int, line.split())) for line in printed.stdout.splitlines()]
    assert rows == [order.tile_of(n, 7, 5, 4) for n in range(35)]
    assert sorted(rows) == [(m, n) for m in range(7) for n in range(5)]


def test_bands_read_less_than_rows():
    rows, bands = (order.at_once(132, 64, 32, group) for group in (1, 16))
    assert order.footprint(rows) == (5, 32) and order.footprint(bands) == (16, 9)


def test_waves_of_real_tile_counts():
    assert [order.tiles_at("05b_split_barrier", size) for size in (1024, 3072, 4096)] == [
        32,
        288,
        512,
    ]


def test_parities_alternate_and_the_producers_first_wait_passes():
    assert [mbarrier.parity("full", t) for t in (0, 3, 4, 8)] == [0, 0, 1, 0]
    assert [mbarrier.parity("empty", t) for t in (0, 3, 4, 8)] == [1, 1, 0, 1]
    assert mbarrier.tile_bytes() == 49152


def test_a_buffer_that_is_released_early_is_filled_without_the_clock_of_its_reader():
    assert happens_before.missing(happens_before.ring(early=False)) == []
    (reader,) = happens_before.missing(happens_before.ring(early=True))
    assert (reader.agent, reader.words, reader.clock) == ("W", "reads buffer 0", 1)
    *_, producer, _, copy = happens_before.ring(early=False)
    assert {agent: producer.knows[agent] for agent in "TW"} == {"T": 1, "W": 1}
    assert (copy.agent, copy.clock) == ("T", 2)


def test_fragments_of_mma_are_those_of_ptx():
    """PTX ISA, mma.m16n8k16: by group lane / 4 and lane % 4."""
    in_a, in_b = fragments.table()
    assert len(in_a) == len(in_b) == 16
    for row in range(16):
        for pair in range(8):
            lane = row % 8 * 4 + pair % 4
            assert in_a[row][pair] == f"{lane}.{row // 8 + pair // 4 * 2}"
            assert in_b[row][pair] == f"{lane}.{row // 8 * 2 + pair // 4}"


def test_fragments_of_wgmma_are_those_of_mma_side_by_side():
    in_c, _ = fragments.table()
    for lane in range(32):
        for h in (0, 1):
            row, column, number = fragments.accumulator(lane, h, 1)
            assert in_c[row][column // 2 - 4].split(".")[0] == str(lane)
            assert 8 <= column < 16 and number == 4 + 2 * h


@pytest.mark.parametrize("request_, rows", zip(banks.REQUESTS, (1, 2, 4, 2), strict=True))
def test_wide_requests_are_served_in_parts_of_128_bytes(request_, rows):
    _, size, step = request_
    assert len(banks.access_figure.wavefronts(banks.request(size, step))) == rows


def test_the_swapped_quads_are_in_the_other_bank_and_b_stays_at_the_turn():
    assert [banks.parity_of_acc(j) for j in range(8)] == [1, 0] * 4
    assert [banks.column_of(0, step) for step in range(8)] == list(range(8))
    assert [banks.column_of(1, step) for step in range(8)] == list(range(8))[::-1]


def test_the_descriptors_bits():
    assert descriptor.shifts() == {
        "address": 0,
        "leading_bytes": 16,
        "stride_bytes": 32,
        "SWIZZLE_128B": 62,
    }
    value = descriptor.descriptor(0x4000, 8192, 1024)
    assert value == 1 << 62 | 64 << 32 | 512 << 16 | 0x400
    assert descriptor.field_at(13) == "address" and descriptor.field_at(14) is None


def test_groups_boxes_and_calls_are_the_kernels():
    assert copies.pending() == 2 and copies.box_of_map() == (64, "128B")
    text = sources.header("11b_overlapped_stores")
    text = text[text.index("constexpr int STAGED") :]
    places = []
    for call in copies.CALLS:
        places.append(text.index(call, places[-1] if places else 0))
    assert places == sorted(places)


def test_tiles_of_groups_are_numbered_as_the_kernel_walks():
    tiles = group_end.tiles()  # the page finds tile 7 by hand
    assert len(tiles) == 10 and tiles[7] == (2, 200, 328, 256)
    assert tiles[1] == (0, 128, 200, 0)


def test_memories_get_faster_towards_the_arithmetic():
    assert machine.tb_s(128) == pytest.approx(33.45, abs=0.01)
    assert machine.device()["memory_gb_s"] / 1000 < machine.l2_tb_s() < machine.tb_s(128)


def test_a_bar_of_the_ladder_crosses_the_line_exactly_when_its_label_exceeds_100():
    root = ElementTree.fromstring(measured.ladder_linear(RESULTS).svg)
    (line,) = {node.get("x1") for node in root.iter(f"{SVG}line")}
    labels = [t.text for t in root.iter(f"{SVG}text") if t.get("x") == "472"][1:]
    links = list(root.iter(f"{SVG}a"))
    stages = [link.find(f"{SVG}text").text for link in links]
    timed = manifest.measured_at_squares()
    assert sorted(stages) == sorted(timed) and len(labels) == len(timed)
    for link, stage, label in zip(links, stages, labels, strict=True):
        bar = link.find(f"{SVG}rect")
        end = float(bar.get("x")) + float(bar.get("width"))
        assert (end > float(line)) == (float(label) > 100), stage
        page = (ROOT / "docs/figures" / link.get("href")).resolve()
        assert page == ROOT / manifest.stage(stage).page
    assert "05c" in measured.percent_sizes(RESULTS).svg


def test_no_roof_and_no_point_lies_on_a_label_of_the_roofline():
    drawing = counted.roofline(RESULTS).svg
    root = ElementTree.fromstring(drawing)
    points = [(float(c.get("cx")), float(c.get("cy"))) for c in root.iter(f"{SVG}circle")]
    paths = [re.findall(r"([\d.]+) ([\d.]+)", p.get("d")) for p in root.iter(f"{SVG}path")]
    flat = [[(float(x), float(y)) for x, y in path[1:]] for path in paths]
    for content, (left, top, right, bottom), _ in texts(drawing):
        for x, y in points:
            assert not (left < x < right and top < y < bottom), content
        for (begin, y), (end, _) in flat:
            assert not (left < end and begin < right and top < y < bottom), content


def test_what_a_figure_has_no_room_for_is_said():
    assert sweep.beyond([50, 100, 200]) == ""
    assert sweep.beyond([49, 201]) == "; 2 beyond 50 and 200 drawn at the edge"
    assert "drawn at the edge" not in FIGURES["sweep"]().caption + FIGURES["rows"]().caption


def test_the_column_of_floats_is_one_bank_and_a_padded_one_is_all():
    rows = banks.access_figure.wavefronts(banks.column(32))
    assert [list(row.values()) for row in rows] == [[[lane]] for lane in range(32)]
    assert len(banks.access_figure.wavefronts(banks.column(33))) == 1


def test_missing_results_are_one_line(tmp_path):
    with pytest.raises(BadInput, match="no reports in"):
        measured.ladder_linear(tmp_path)


def test_labels_are_spread_and_stay_in_the_drawing():
    assert measured.spread([5, 6, 40], 0, 50, 10) == [5, 15, 40]
    assert measured.spread([45, 46, 47], 0, 50, 10) == [30, 40, 50]


def test_lanes_are_where_the_kernels_put_them():
    assert lanes.elements("gemm_kernel") == [(0, lane) for lane in range(32)]
    assert lanes.elements("gemm_uncoalesced_kernel") == [(lane, 0) for lane in range(32)]
    assert lanes.grid_of("04b_vectorized") == [(lane // 16, lane % 16) for lane in range(32)]
    places = lanes.grid_of("04c_warp_tiled")
    assert sorted(places) == [(m, n) for m in range(4) for n in range(8)]
    assert all(places[lane][0] == places[lane ^ 1][0] for lane in range(32))  # one quad of A
    assert all(places[lane][1] == places[lane ^ 2][1] for lane in range(32))  # one of B
    assert lanes.addresses() == [(lane % 16, lane // 16 * 8) for lane in range(32)]
