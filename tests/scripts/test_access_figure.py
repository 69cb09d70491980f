import re
import xml.etree.ElementTree as ElementTree

import pytest

from ladder import access_figure
from ladder.figures import access


def line(sample, space="shared", size=4, **more):
    kind = "ideal_wavefronts" if space == "shared" else "ideal_sectors"
    named = {"op": "load", "array": "sB", "space": space, "bytes": size, kind: 1.0}
    return {**named, "sample": sample, **more}


def boxes(svg, kind):
    """How many words are drawn as of this kind."""
    found = re.findall(rf'<rect class="{kind}(?: faint)? bare"[^>]*width="([\d.]+)"', svg)
    return sum(float(width) for width in found) / access.CELL


@pytest.mark.parametrize(
    "sample, size, words",
    [
        ([4 * i for i in range(32)], 4, "1 wavefront"),
        ([128 * i for i in range(32)], 4, "32 wavefronts"),
        ([132 * i for i in range(32)], 4, "1 wavefront"),
        ([0] * 32, 4, "1 wavefront"),
        ([256 * (i % 2) for i in range(32)], 4, "2 wavefronts"),
        ([16 * i for i in range(32)], 16, "4 wavefronts"),
        ([16 * (i // 2) for i in range(32)], 16, "2 wavefronts"),
        ([0] * 32, 16, "2 wavefronts"),
        ([128 * i for i in range(32)], 16, "32 wavefronts"),
        ([0] + [-1] * 31, 4, "1 wavefront"),
    ],
)
def test_wavefronts_of_shared_memory(sample, size, words):
    assert access_figure.words(line(sample, size=size)) == words


@pytest.mark.parametrize(
    "sample, words",
    [
        ([4 * i for i in range(32)], "4 sectors"),
        ([4 + 4 * i for i in range(32)], "5 sectors"),
        ([1024 * i for i in range(32)], "32 sectors"),
        ([64] * 32, "1 sector"),
    ],
)
def test_sectors_of_global_memory(sample, words):
    assert access_figure.words(line(sample, "global")) == words


def test_the_drawing_has_a_cell_for_what_is_touched_and_red_for_what_is_too_much():
    svg = access.draw(line([128 * i for i in range(32)]))
    ElementTree.fromstring(svg)
    assert (boxes(svg, "a"), boxes(svg, "hot")) == (1, 31)
    assert "load of sB: 32 wavefronts" in svg and ">lane 31</text>" in svg
    svg = access.draw(line([4 * i for i in range(32)], "global"))
    ElementTree.fromstring(svg)
    assert boxes(svg, "a") == 32 and ">lanes 8 to 15</text>" in svg
    svg = access.draw(line([0] * 32, "global"))
    assert boxes(svg, "a") == 1 and ">lanes 0 to 31</text>" in svg
    svg = access.draw(line([16 * (i // 2) for i in range(32)], size=16, ideal_wavefronts=2.0))
    assert boxes(svg, "a") == 64 and ">14, 15</text>" in svg


def test_lanes_are_written_where_there_is_room_and_nowhere_else():
    crowded = [128 * i + 8 * i for i in range(13)] + [-1] * 19  # every other bank
    assert access.draw(line(crowded)).count(">lane") == 1  # the last, behind which there is room
    assert access.named([3, 1, 2, 1]) == "lanes 1 to 3" and access.named([1, 5]) == "2 lanes"
    assert access.written([1, 3], 40) == "1, 3" and access.written([1, 3, 5, 7], 56) == "4 lanes"
    assert access.written([1, 3, 5, 7], 28) == ""
