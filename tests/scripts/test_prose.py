"""What can be told of a page's language by looking at its words: three things that a reader whose
English is a second language stumbles over. Code, tables of scripts and pictures are no prose.
"""

import re

import pytest
from test_glossary import NO_PROSE

from ladder.project import ROOT

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
    names = (path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
    return sorted(name for name in names if not name.startswith("results/"))


# Pages that are not yet mended. No new ones.
FAULTY = """
index.md 01_naive.md 02_smem_tiled.md 03_transposed_b.md 04_register_blocked.md 04b_vectorized.md
04c_warp_tiled.md 04d_register_banks.md 05b_split_barrier.md 05d_split_in_cluster.md 05e_few_rows.md
06_wmma.md 06b_wmma_pipelined.md 06c_fragments_ahead.md 07_mma_sync.md 08_tma.md 09_wgmma.md
10_warp_specialized.md 10b_cluster.md 11_persistent.md 11b_overlapped_stores.md
11c_chosen_by_shape.md 12_tensor_parallel.md 12b_copy_beside.md 12d_reduce_scatter.md
13_fit_the_waves.md 13b_ping_pong.md 14_few_rows.md 15_chosen_by_cost.md 16_fused_epilogue.md
17_fp8.md 17b_promoted.md 17c_block_scaled.md 18_layouts.md 19_tf32.md 20_int8.md
"""


@pytest.mark.parametrize("page", pages())
def test_the_language_of_a_page_is_plain(page):
    found = faults((DOCS / page).read_text())
    if page in FAULTY.split():
        assert found, f"{page}: take it out of FAULTY"
    else:
        assert found == []


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
