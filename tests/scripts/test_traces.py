import json
import shutil
import subprocess

import pytest

from ladder import traces
from ladder.project import BadInput

PROGRAM = """
struct half { unsigned short bits; };
template <int PAD> void gemm_kernel(int i) {
  static thread_local float sA[32][33 + PAD], flat[8];
  static thread_local half sB[2][16][40];
  sA[i][i] = flat[i]; sB[0][i][i].bits = 1;
}
float other_kernel(int i) {
  static thread_local float sA[33][32];
  return sA[i][i]++;
}
int main() { gemm_kernel<0>(1); gemm_kernel<4>(1); return int(other_kernel(1)); }
"""


@pytest.fixture(scope="module")
def declared(tmp_path_factory):
    if not shutil.which("c++") or not shutil.which("readelf"):
        pytest.skip("there is no compiler or no readelf")
    folder = tmp_path_factory.mktemp("program")
    (folder / "a.cpp").write_text(PROGRAM)
    subprocess.run(["c++", "-g", "-O1", "-o", "a", "a.cpp"], cwd=folder, check=True)
    return traces.declarations(traces.output_of("readelf", "--debug-dump=info", folder / "a"))


def accessed(array, size, line):
    return {"array": array, "array_bytes": size, "line": line}


@pytest.mark.parametrize(
    ("line", "pitch", "element"),
    [
        (accessed("sA", 32 * 37 * 4, 6), 37 * 4, 4),
        (accessed("sB", 2 * 16 * 40 * 2, 6), 40 * 2, 2),
        # of the same name and size, but not of the same rows
        (accessed("sA", 32 * 33 * 4, 6), 33 * 4, 4),
        (accessed("sA", 32 * 33 * 4, 10), 32 * 4, 4),
    ],
)
def test_the_pitch_is_that_of_the_declaration(declared, line, pitch, element):
    found = traces.declaration_of(line, declared)
    assert (found.pitch, found.element) == (pitch, element)


@pytest.mark.parametrize(
    "line", [accessed("sA", 32 * 33 * 4, 2), accessed("flat", 32, 6), accessed("dynamic", 9, 6)]
)
def test_where_no_declaration_says_it_there_is_no_pitch(declared, line):
    assert traces.declaration_of(line, declared) is None


def unpacked(first):
    """As docs/assets/stepper.js reads it."""

    def offsets(what):
        if isinstance(what, list):
            return [o + i * step for o, step, lanes in what for i in range(lanes)]
        return [o if o < 0 else o + what for o in offsets(first[0][0])]

    return [
        {"offsets": offsets(what), "cost": cost} | ({"to": offsets(to[0])} if to else {})
        for what, cost, *to in first
    ]


@pytest.mark.parametrize(
    "requests",
    [
        [[4 * lane for lane in range(32)]],
        [[0] * 32, [132] * 32],
        [[4 * lane for lane in range(32)], [4 * lane + 128 for lane in range(32)]],
        [[lane ^ 3 for lane in range(32)], [lane * lane for lane in range(32)]],
        [[-1] * 5 + [7] + [-1] * 26, [-1] * 4 + [7, 9] + [-1] * 26],
        [[8, 4, 0] + [-1] * 29],
        [[lane if lane % 2 else -1 for lane in range(32)]],
    ],
)
def test_requests_are_packed_without_loss(requests):
    first = [{"offsets": offsets, "cost": i} for i, offsets in enumerate(requests)]
    assert unpacked(traces.packed(first)) == first


def test_where_a_copy_goes_is_packed_without_loss():
    first = [
        {"offsets": [64 * n + k for n in range(32)], "cost": 1, "to": [80 * n for n in range(32)]}
        for k in (0, 32)
    ]
    assert unpacked(traces.packed(first)) == first


def test_what_repeats_is_packed_small():
    first = [{"offsets": [4 * n + 8 * k for n in range(32)], "cost": 1} for k in range(3)]
    assert traces.packed(first) == [[[[0, 4, 32]], 1], [8, 1], [16, 1]]


STAGE = """#!/bin/sh
while [ "$1" != --trace ]; do shift; done
cat > "$2" <<END
{report}
END
"""
REPORT = {
    "stage": "01_first",
    "input": "fp16",
    "output": "bf16",
    "variants": [
        {
            "name": "first",
            "lines": [
                {
                    "file": "/somewhere/kernels/parts/x.cuh",
                    "line": 7,
                    "text": "acc += A[i];",
                    "array": "A",
                    "array_bytes": 512,
                    "space": "global",
                    "op": "load",
                    "bytes": 2,
                    "requests": 12,
                    "pitch": 64,
                    "warp": 0,
                    "sectors_per_request": 2.0,
                    "ideal_sectors": 2.0,
                    "first": [{"offsets": [2 * lane for lane in range(32)], "cost": 2}],
                }
            ],
        }
    ],
}


@pytest.fixture
def project(tmp_path, monkeypatch, manifest_of):
    """A project with one stage, whose program writes REPORT."""
    manifest_of("01_first")
    built = tmp_path / "cpu"
    built.mkdir()
    stage = built / "01_first"
    stage.write_text(STAGE.replace("{report}", json.dumps(REPORT)))
    stage.chmod(0o755)
    monkeypatch.setattr(traces, "CPU_STAGES", built)
    monkeypatch.setattr(traces, "TRACES", tmp_path / "traces")
    monkeypatch.setattr(traces, "debug_information", lambda executable: "")
    return tmp_path


def test_it_writes_a_file_for_each_stage_of_the_cpu_device(project):
    assert traces.main([]) == 0
    written = {path.name: path.read_text() for path in (project / "traces").iterdir()}
    assert written.keys() == {"index.js", "01_first.js"}
    assert written["index.js"] == 'ladderStages(["01_first"]);\n'
    text = written["01_first.js"].removeprefix("ladderTrace(").removesuffix(");\n")
    line = json.loads(text)["variants"][0]["lines"][0]
    assert (line["path"], line["file"], line["line"]) == ("parts/x.cuh", "x.cuh", 7)
    assert (line["pitch"], line["element"], line["cost"], line["ideal"]) == (64, 2, 2, 2)
    assert "somewhere" not in text


def test_elements_are_those_of_the_operands_and_of_c():
    first = REPORT["variants"][0]["lines"][0]
    lines = [first, {**first, "array": "C"}]
    report = {**REPORT, "input": "e4m3", "variants": [{"name": "first", "lines": lines}]}
    written = traces.page_of(report, [])["variants"][0]["lines"]
    assert [line["element"] for line in written] == [1, 2]


def test_check_tells_what_is_not_up_to_date(project, capsys):
    assert traces.main(["--check"]) == 1
    assert traces.main([]) == 0
    assert traces.main(["--check"]) == 0
    (project / "traces/09_gone.js").touch()
    capsys.readouterr()
    assert traces.main(["--check"]) == 1
    assert capsys.readouterr().err == (
        "ladder traces: docs/assets/traces/09_gone.js is not up to date\n"
    )
    assert traces.main([]) == 0
    assert not (project / "traces/09_gone.js").exists()


def test_what_is_not_built_is_one_line(project, capsys):
    (project / "cpu/01_first").unlink()
    assert traces.main([]) == 2
    assert capsys.readouterr().err == f"ladder traces: not built in {project}/cpu: 01_first\n"


def test_a_stage_that_fails_is_one_line(project, capsys):
    (project / "cpu/01_first").write_text("#!/bin/sh\necho 'it broke' >&2; exit 1\n")
    assert traces.main([]) == 2
    assert capsys.readouterr().err == f"ladder traces: {project}/cpu/01_first failed: it broke\n"


def test_a_tool_that_is_missing_is_bad_input():
    with pytest.raises(BadInput, match="no-such-tool"):
        traces.output_of("no-such-tool")
