import re
import xml.etree.ElementTree as ElementTree

import pytest

from ladder import access_figure


def line(sample, space="shared", size=4, **more):
    kind = "ideal_wavefronts" if space == "shared" else "ideal_sectors"
    named = {"op": "load", "array": "sB", "space": space, "bytes": size, kind: 1.0}
    return {**named, "sample": sample, **more}


def boxes(svg, kind):
    return len(re.findall(f'class="{kind}"', svg))


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
    svg = access_figure.draw(line([128 * i for i in range(32)]))
    ElementTree.fromstring(svg)
    assert (boxes(svg, "used"), boxes(svg, "extra")) == (1, 31)
    svg = access_figure.draw(line([4 * i for i in range(32)], "global"))
    ElementTree.fromstring(svg)
    assert (boxes(svg, "used"), boxes(svg, "unused")) == (32, 0)
    assert "load of sB, 4 bytes a lane: 4 sectors" in svg
    svg = access_figure.draw(line([0] * 32, "global"))
    assert (boxes(svg, "used"), boxes(svg, "unused")) == (1, 7)
