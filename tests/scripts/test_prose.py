"""What can be told of a page's language by looking at its words: three things that a reader whose
English is a second language stumbles over. Code, tables of scripts and pictures are no prose.
"""

import re

import pytest
from test_glossary import NO_PROSE

from ladder.project import ROOT
from ladder.translated import in_english

DOCS = ROOT / "docs"
COUNT = r"(?:\d[\d.,]*|one|two|three|four|five|six|seven|eight|sixteen)"
COUNTED = (
    r"(?:wavefronts?|sectors?|bytes?|[KMGT]B|ns|us|ms|bits?|floats?|halves|quads?|words?|numbers"
    r"|elements|operands?|operations|instructions?|requests?|loads?|stores?|products?|multiply-adds"
    r"|clocks?|cycles|registers?|threads?|warps?|blocks?|boxes|tiles?|barriers?|columns|rows|lines)"
)
EACH = (
    r"(?:request|lane|thread|warp|warpgroup|block|multiprocessor|scheduler|clock|cycle|second"
    r"|minute|instruction|load|store|element|byte|multiply-add|product|box|tile|step|row|half"
    r"|quarter|stage|part|call)"
)
WHICH = (
    r"(?i:this|that|which|the same|the next|the last|the first|the second|the other|the others?"
    r"|another|the full|the later|the slower|the faster|the smaller|the larger|the wrong|the right)"
)
FAULTS = {
    "write 'per', as in 'bytes per lane'": rf"\b{COUNT} {COUNTED} an? {EACH}\b",
    "'16 of K' and '16 k' are no counts: write '16 steps of k' or '16 deep along K'": (
        r"\b\d+(?:,\d{3})* (?:of [kK]|k)\b"
    ),
    "say what 'one' is": (
        rf"\b{WHICH} ones?\b(?=[.,;:?!)|]| (?:that|which|is|are|was|has|have|with|without|before"
        r"|after|for|in|from|on|does|needs?|behind|and)\b)"
    ),
}


def faults(text):
    """Those of a page: its lines, with what to do instead."""
    prose = NO_PROSE.sub(lambda block: "~" + "\n" * block[0].count("\n"), text)
    return [
        f"line {prose.count(chr(10), 0, fault.start()) + 1}: '{' '.join(fault[0].split())}': {what}"
        for what, pattern in FAULTS.items()
        for fault in re.finditer(pattern.replace(" ", r"\s+"), prose)
    ]


def pages():
    names = (path.relative_to(DOCS).as_posix() for path in in_english(DOCS))
    return sorted(name for name in names if not name.startswith("results/"))


@pytest.mark.parametrize("page", pages())
def test_the_language_of_a_page_is_plain(page):
    assert faults((DOCS / page).read_text()) == []


@pytest.mark.parametrize(
    "text, fault",
    [
        ("It reads 16 bytes a lane.", "16 bytes a lane"),
        ("With one wavefront\na clock.", "one wavefront a clock"),
        ("How many elements a row of a matrix has.", None),
        ("It takes 128 k at a time.", "128 k"),
        ("A tile has 1,024 of K.", "1,024 of K"),
        ("With M = 4, K = 8 and 16 KB.", None),
        ("It waits for the next one.", "the next one"),
        ("The same ones that lanes ask for", "The same ones"),
        ("The first one-way road, and this one block.", None),
        ("`16 bytes a lane` and\n<!-- claims x -->\n2 sectors a request\n<!-- end -->", None),
    ],
)
def test_what_is_a_fault(text, fault):
    assert [found.split("'")[1] for found in faults(text)] == ([fault] if fault else [])
