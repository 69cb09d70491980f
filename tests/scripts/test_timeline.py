import json
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from itertools import pairwise

import pytest
from test_figures import faults

from ladder import manifest, timeline
from ladder.figures import timelines
from ladder.project import ROOT, BadInput
from ladder.timeline import Doing, Piece

SVG = "{http://www.w3.org/2000/svg}"
STEP = 1000  # clocks along K
STEPS = 6


def warp(number, spans, role="all", block=7):
    return {"block": block, "warp": number, "role": role, "spans": spans}


def two_barriers(number, block):
    """04: multiplies for 500 clocks and copies for 300; a wait of 100 at the end of each."""
    spans = []
    for step in range(-1, STEPS + 1):
        at = step * STEP + 10 * number
        spans += [["barrier", 77, at, at + 100], ["barrier", 88, at + 600, at + 700]]
    return warp(number, spans, block=block)


def consumer(number, role, ends_at=None):
    """10: waits for a tile, then for its wgmmas, and from `ends_at` on for all, to store C."""
    spans = []
    for step in range(-1, STEPS + 1):
        at = step * STEP
        if at == ends_at:
            spans += [["wgmma_all", 93, at, at + 500], ["mbarrier", 121, at + 510, at + 520]]
        else:
            spans += [["mbarrier", 80, at, at + 50], ["wgmma", 90, at + 100, at + 950]]
    return warp(number, spans, role)


def producer(number):
    spans = []
    for step in range(-1, STEPS + 1):
        at = step * STEP
        spans += [["mbarrier", 60, at, at + 900], ["copy", 61, at + 910, at + 910]]
    return warp(number, spans, "copies")


def stage(name, steady, change=None, **waiting):
    windows = {"steady": {"clocks": STEPS * STEP, "warps": steady}}
    if change:
        windows["change"] = {"clocks": STEPS * STEP, "warps": change}
    return {
        "stage": name,
        "time_ms": {"plain": 0.2, "one_multiprocessor_recorded": 0.202, "all_recorded": 0.208},
        "ns_per_clock": 0.55,
        "multiprocessor": 0,
        "waiting": waiting,
        "windows": windows,
    }


def report():
    blocks = [two_barriers(n, block) for block in (7, 139) for n in range(8)]
    roles = [producer(8), *(consumer(n, "multiplies") for n in range(8))]
    change = [producer(8), *(consumer(n, "multiplies", 2 * STEP) for n in range(8))]
    ten_waits = {"multiplies": {"mbarrier": 0.05, "wgmma": 0.8, "wgmma_all": 0.02}}
    return {
        "device": "NVIDIA H200",
        "size": 4096,
        "timer_step_ns": 32,
        "clocks_a_recording": 60,
        "stages": [
            stage("04_register_blocked", blocks, all={"barrier": 0.2}),
            stage("10_warp_specialized", roles, change, copies={"mbarrier": 0.9}, **ten_waits),
        ],
    }


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    path = tmp_path / "timelines.json"
    path.write_text(json.dumps(report()))
    monkeypatch.setattr(timeline.load, "__defaults__", (tmp_path,))
    return path


def pieces_of(name, number, window="steady"):
    found = timeline.stage_of(report(), name)["windows"][window]
    warps = timeline.warps_of(found)
    return timeline.pieces(name, warps[number], found["clocks"])


def test_behind_the_first_barrier_04_multiplies_and_behind_the_second_it_copies():
    assert pieces_of("04_register_blocked", 0)[:4] == [
        Piece(Doing.BARRIER, 0, 100),
        Piece(Doing.MULTIPLIES, 100, 600),
        Piece(Doing.BARRIER, 600, 700),
        Piece(Doing.COPIES, 700, 1000),
    ]


def test_04c_copies_between_its_barriers():
    found = timeline.stage_of(report(), "04_register_blocked")["windows"]["steady"]
    pieces = timeline.pieces("04c_warp_tiled", timeline.warps_of(found)[0], found["clocks"])
    assert [p.doing for p in pieces[1:4:2]] == [Doing.COPIES, Doing.MULTIPLIES]


def test_a_producer_waits_for_empty_buffers_and_a_consumer_for_full_ones():
    assert pieces_of("10_warp_specialized", 0)[:3] == [
        Piece(Doing.EMPTY, 0, 900),
        Piece(Doing.ORDERS, 900, 910),
        Piece(Doing.ORDERS, 910, 1000),
    ]
    assert [p.doing for p in pieces_of("10_warp_specialized", 1)[:4]] == [
        Doing.DATA,
        Doing.ISSUES,
        Doing.WGMMA,
        Doing.ISSUES,
    ]


def test_behind_the_last_wgmma_of_a_tile_c_is_stored_until_operands_are_waited_for():
    stores = [p for p in pieces_of("10_warp_specialized", 1, "change") if p.doing == Doing.STORES]
    assert [(p.begin, p.end) for p in stores] == [(2500, 2510), (2520, 3000)]


def test_a_block_starts_until_it_waits_for_operands():
    start = [["barrier", 40, 100, 200], ["copy", 61, 300, 300], ["mbarrier", 80, 400, 900]]
    spans = [*start, ["wgmma", 90, 1000, 1900]]
    found = timeline.warps_of({"warps": [warp(0, spans)]})[0]
    doings = [piece.doing for piece in timeline.pieces("09_wgmma", found, 2000)]
    assert doings == [
        Doing.BARRIER,
        Doing.STARTS,
        Doing.ORDERS,
        Doing.DATA,
        Doing.ISSUES,
        Doing.WGMMA,
    ]


def test_pieces_cover_the_window_without_overlap():
    for name, number in (("04_register_blocked", 3), ("10_warp_specialized", 2)):
        pieces = pieces_of(name, number)
        assert (pieces[0].begin, pieces[-1].end) == (0, STEPS * STEP)
        assert all(a.end == b.begin for a, b in pairwise(pieces))


def test_a_row_goes_on_with_the_next_block():
    first, second = (
        timeline.Warp(block, 0, "all", (timeline.Span("barrier", 1, begin, begin + 10),))
        for block, begin in ((1, 0), (2, 100))
    )
    beside = timeline.Warp(3, 0, "all", (timeline.Span("barrier", 1, 5, 50),))
    assert timeline.rows([second, beside, first]) == [[first, second], [beside]]
    between = timeline.of_row("09_wgmma", [first, second], 200)[1]
    assert between == Piece(Doing.STORES, 10, 100)
    producers = [replace(warp, role="copies") for warp in (first, second)]
    assert all(p.doing != Doing.STORES for p in timeline.of_row("10", producers, 200))


@pytest.mark.parametrize("name", ["04_register_blocked", "10_warp_specialized"])
def test_the_drawing_can_be_read_on_a_phone(recorded, name):
    figure = timelines.draw(name)
    assert faults(figure.svg) == []
    for box in ElementTree.fromstring(figure.svg).iter(f"{SVG}rect"):
        assert float(box.get("x")) >= 0 and float(box.get("width")) > 0
    assert figure.caption.endswith(".") and figure.caption.count(". ") <= 1


def test_the_caption_says_how_long_who_waits_for_what(recorded):
    caption = timelines.draw("10_warp_specialized").caption
    assert "that multiply wait 82% for wgmmas of their own, 5% for operands;" in caption
    assert "the one that copies waits 90% for empty buffers" in caption
    assert "slows the kernel by 4.0%" in caption


def test_what_is_not_there_or_no_recording_is_one_line(tmp_path):
    with pytest.raises(BadInput, match="build/timeline --json FILE writes it"):
        timeline.load(tmp_path)
    (tmp_path / "timelines.json").write_text('{"stages": [1]}')
    with pytest.raises(BadInput, match="has no 'device'"):
        timeline.load(tmp_path)
    with pytest.raises(BadInput, match="no 09_wgmma"):
        timeline.stage_of(report(), "09_wgmma")


def test_every_kind_of_event_has_a_meaning():
    text = (ROOT / "bench/timeline/windows.cpp").read_text()
    kinds = set(re.findall(r'case Kind::\w+:\s+return "(\w+)"', text))
    assert len(kinds) == 10
    assert kinds == timeline.WAITS.keys() | timeline.INSTANTS


def test_of_every_stage_that_is_not_recorded_there_is_a_reason():
    others = {name for name, stage in manifest.load().items() if stage.measured}
    assert others - {*timelines.RECORDED} == timeline.STAGES["not_recorded"].keys()
