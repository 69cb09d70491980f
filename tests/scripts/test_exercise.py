"""The grader of the exercises: what it refuses, and what a learner sees."""

import json
import re
import subprocess
from dataclasses import replace

import pytest

from ladder import exercise
from ladder.exercise import Build, Verdict, refusal
from ladder.project import ROOT, BadInput

SIGNATURE = """static __global__ void scale_kernel(int rows, int columns, float factor,
                                    const float* in, int ld_in, float* out, int ld_out)"""
RIGHT = """const int row = blockIdx.y * 8 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;
  if (row < rows && column < columns)
    out[row * ld_out + column] = factor * in[row * ld_in + column];"""


def kernel(body, before=""):
    return f'#include "exercise.h"\n{before}\n{SIGNATURE} {{\n  {body}\n}}\n'


@pytest.fixture(scope="module")
def build():
    folder = ROOT / "build"
    if not (folder / "exercises/libraries").is_file():
        pytest.skip("no exercises are configured in build/")
    made = Build(folder)
    if not all((folder / library).is_file() for library in made.libraries[:2]):
        pytest.skip("the grader is not built in build/")
    return made


@pytest.fixture
def verdict(build, tmp_path):
    def of(text, name="01_thread_mapping"):
        path = tmp_path / "exercise.cuh"
        path.write_text(text)
        return exercise.grade(exercise.find(name), path, build, seed=1)

    return of


def test_what_is_right_passes(verdict):
    assert verdict(kernel(RIGHT)).ok


# By the learner's way each is a program of its own, in which nothing stands behind its array.
@pytest.mark.parametrize("mistake", ["for_long_rows", "for_long_rows_cut", "not_wrapped"])
def test_what_is_written_past_an_array_is_said(build, mistake):
    swizzle = exercise.find("29")
    path = swizzle.folder / f"wrong/{mistake}.cuh"
    said = exercise.grade(swizzle, path, build, seed=1)
    assert exercise.expectation(path).search(said.line), said.line


# Each kind of cheat, once or more; what is refused before anything is compiled stands in the next
# test.
CHEATS = {
    "a constant": (kernel(RIGHT.replace("factor * in[row * ld_in + column]", "0")), "wrong result"),
    "nothing at all": (kernel(""), "wrong result: out .* is NaN"),
    "one shape": (kernel(f"if (rows == 128 && columns == 256) {{ {RIGHT} }}"), "wrong result"),
    "one shape, by the number of blocks": (
        kernel(f"if (gridDim.x == 8) {{ {RIGHT} }}"),
        "wrong result",
    ),
    # The grader keeps no expected values, and looks at all that is near.
    "looks for expected values behind its data": (
        kernel(RIGHT.replace("factor * in[row * ld_in + column]", "out[rows * ld_out + column]")),
        "reads past the end of out",
    ),
    "looks for expected values before its data": (
        kernel(RIGHT.replace("in[row", "in[-4096 + row")),
        "reads before in",
    ),
    "writes wherever it can": (
        kernel(RIGHT + "\n  out[row * ld_out + column - 4096] = 0;"),
        "writes before out",
    ),
    "remembers in a variable": (
        kernel(f"if (calls++ == 0) {{ {RIGHT} }}", "int calls;"),
        "`calls` keeps its value between launches",
    ),
    "remembers in a template's variable": (
        kernel(f"if (calls<int>++ == 0) {{ {RIGHT} }}", "template <class T> int calls;"),
        "keeps its value between launches",
    ),
    "remembers from before the first launch": (
        kernel(
            "if (done > 1) return;" + RIGHT,
            "float early() { volatile float x = 1; return x; }\nconst float done = early();",
        ),
        "`done` keeps its value between launches",
    ),
    "remembers in shared memory": (
        kernel(f"__shared__ int calls; if (calls++ < 99) {{ {RIGHT} }}"),
        "shared memory that this block has not written|race",
    ),
    "calls the host by another name": (
        kernel(RIGHT + "\n  if (row > 9999) { const auto leave = system; leave(nullptr); }"),
        "`system`: functions of the host",
    ),
    "copies by a function of the C library": (
        kernel("bcopy(in, out, 4);"),
        "`bcopy`: functions of the host",
    ),
    "computes while its arguments are converted": (
        kernel(RIGHT).replace("float* out", "Out out").replace(
            "static", "struct Out { float* p; Out(float* q) : p(q) {} float& operator[](int i) "
            "{ return p[i]; } };\nstatic"),
        "numbers, pointers and aggregates",
    ),
    "atomics, which are not counted": (
        kernel(RIGHT + "\n  atomicAdd(out, 0.0f);"),
        "`atomicAdd`",
    ),
    "never ends": (kernel("while (rows > 0) out[0] = 1;"), "an endless loop"),
    "puts its own in the place of the grader's": (
        kernel("out[0] = 0;", "struct Shape {}; int ceil_div(int, int) { return 1; }\n"
               "template <class... T> void expect(T...) {}\nvoid check() {}"),
        "wrong result|writes past",
    ),
}  # fmt: skip


@pytest.mark.parametrize("cheat", CHEATS)
def test_a_cheat_is_refused(cheat, verdict):
    text, expected = CHEATS[cheat]
    said = verdict(text)
    assert not said.ok
    assert re.search(expected, said.line), said.line


BEFORE = [
    ('#include "../exercises/01_thread_mapping/solution.cuh"', "include"),
    ('#include "check.cpp"', "include"),
    ("#include <cstdlib>", "include"),
    ('#  include  "exercise.h"  "x.h"', "include"),
    ("%:include <cstdlib>", "other spellings"),
    ("??=include <cstdlib>", "other spellings"),
    ("#def\\\nine launch nothing", "spliced"),
    ("#define ceil_div(a, b) 1", "define"),
    ("#pragma GCC push_options", "pragma"),
    ("#line 1 \"check.cpp\"", "line"),
    ("namespace grader { struct Case; }", "`grader`"),
    ("void f() { checked::check; }", "`checked`"),
    ("void f() { cpu_device::settings(); }", "`cpu_device`"),
    ("void f() { threadIdx; this_block; }", "`this_block`"),
    ("void f() { ladder::launch; }", "`ladder`"),
    ('void f() { asm("nop"); }', "`asm`"),
    ('void f() { __asm__("nop"); }', "`__asm__`"),
    ('extern "C" void __tsan_read4(void*);', "`extern`"),
    ("void __tsan_read4(void*) {}", "`__tsan_read4`"),
    ("void f() { __builtin_trap(); }", "`__builtin_trap`"),
    ("const char* f() { return __FILE__; }", "`__FILE__`"),
    ("__attribute__((constructor)) void f() {}", "`__attribute__`"),
    ("[[gnu::constructor]] void f() {}", "attributes"),
    ("void f() { exit(0); }", "`exit`"),
    ("void f() { std::exit(0); }", "`std`"),
    ("void f() { longjmp(0, 1); }", "`longjmp`"),
    ("void f() { throw 1; }", "`throw`"),
    ("void f() { static int calls; }", "`static`"),
    ("static const int* calls;", "`static`"),
    ("static\nint calls;", "`static`"),
    ("thread_local int calls;", "`thread_local`"),
    ("void f(float* x) { memcpy(x, x + 1, 4); }", "`memcpy`"),
    ("void f() { e\\u0078it(0); }", "other spellings"),
    ("}\nint ceil_div;\nnamespace x {", "closes what it has not opened"),
    ("%>\nint ceil_div;\nnamespace x <%", "other spellings"),
    ("namespace x {", "never closed"),
    ("int x = 1'0; void f() { exit(0); } int y = 1'0;", "quotation mark"),
    ('auto x = R"(", exit(0), ")";', "quotation mark"),
    ("[\n[gnu::no_sanitize(\"thread\")]] void f() {}", "attributes"),
    ("<:<:gnu::constructor:>:> void f() {}", "other spellings"),
    ("LADDER_UNTRACED void f() {}", "`LADDER_UNTRACED`"),
    ('_Pragma("GCC optimize(3)")', "`_Pragma`"),
    ("void f(float* x) { cudaMemcpy(x, x + 1, 4, cudaMemcpyHostToDevice); }", "`cudaMemcpy`"),
]  # fmt: skip


@pytest.mark.parametrize("line, expected", BEFORE)
def test_what_is_refused_before_it_is_compiled(line, expected):
    said = refusal(kernel(RIGHT, line))
    assert expected in said
    assert said.startswith("line 2") or "mark" in said or "never" in said, said


@pytest.mark.parametrize(
    "line",
    [
        "// exit(0), #include <x>",
        "/* asm\nextern */ constexpr int read = 1;",
        "static constexpr int TILE = 16;",
        "static __device__ __forceinline__ float f(float x) { return __expf(x); }",
        "template <int TILE> static __device__ void f(const float* __restrict__ x) {}",
        'static_assert(1 < 2, "std::exit");',
        "#pragma unroll 4",
        "constexpr char LETTER = 'x';  // don't",
        "static __device__ void f(const CUtensorMap* map) {}",
    ],
)
def test_what_kernels_say_is_not_refused(line):
    assert refusal(kernel(RIGHT, line)) == ""


def test_every_reference_and_starter_may_be_compiled():
    for e in exercise.all_exercises():
        for path in [*e.folder.glob("*.cuh"), *e.folder.glob("wrong/*.cuh")]:
            assert refusal(path.read_text()) == "", path


def test_checksums_are_those_of_the_files():
    known = json.loads((exercise.EXERCISES / "checksums.json").read_text())
    progress = exercise.Progress()
    changed = {
        name for name, value in exercise.checksums().items() if known.get(name) != value
    } | known.keys() - exercise.checksums().keys()
    edited = {str(e.edited.relative_to(exercise.EXERCISES)) for e in exercise.all_exercises()}
    if progress.all:  # of somebody who works with them
        changed -= edited
    assert changed == set(), "scripts/exercise.py --protect writes them"


@pytest.fixture
def copied(tmp_path, monkeypatch):
    """A copy of 01 and 02, whose files a test may edit; returns its folder."""
    folder = tmp_path / "exercises"
    folder.mkdir()
    for name in ("01_thread_mapping", "02_predict_sectors", "checksums.json"):
        subprocess.run(["cp", "-r", exercise.EXERCISES / name, folder], check=True)
    monkeypatch.setattr(exercise, "EXERCISES", folder)
    monkeypatch.setattr(exercise, "ROOT", tmp_path)
    return folder


@pytest.mark.parametrize(
    "file, old, new",
    [
        ("01_thread_mapping/exercise.yaml", "8192", "99999"),
        ("01_thread_mapping/check.cpp", "1e-6", "1e6"),
        ("02_predict_sectors/exercise.cuh", "in[40]", "in[lane]"),
    ],
)
def test_an_edited_limit_is_bad_input(copied, capsys, file, old, new):
    path = copied / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    assert exercise.main([file[:2], "--build", str(ROOT / "build")]) == 2
    assert f"{path.name}: not as the grader has it" in capsys.readouterr().err


def test_a_kernel_that_is_given_is_counted(build):
    e = exercise.find("02")
    if not (build.folder / "exercises" / e.name).is_file():
        pytest.skip("02 is not built")
    cases = exercise.run(build.program(e), "exercise", 1)
    assert exercise.judge_answer(e, cases, e.solution).ok
    said = exercise.judge_answer(e, cases, e.folder / "wrong/all_aligned.yaml")
    assert said == Verdict(False, "load_sectors is not 17")


def test_hints_come_one_at_a_time(copied, capsys):
    for shown in (1, 2, 3, 3):
        assert exercise.main(["01", "--hint"]) == 0
        out = capsys.readouterr().out
        assert [f"hint {i} of 3" in out for i in (1, 2, 3)] == [i <= shown for i in (1, 2, 3)]


def test_the_solution_is_shown_after_asking_once(copied, capsys, monkeypatch):
    monkeypatch.setattr("builtins.input", lambda question: "")
    assert exercise.main(["01", "--solution"]) == 1
    monkeypatch.setattr("builtins.input", lambda question: "y")
    assert exercise.main(["01", "--solution"]) == 0
    monkeypatch.setattr("builtins.input", lambda question: pytest.fail("asks twice"))
    capsys.readouterr()
    assert exercise.main(["01", "--solution"]) == 0
    assert capsys.readouterr().out == (copied / "01_thread_mapping/solution.cuh").read_text()


def test_a_learner_sees_the_way_from_the_starter_to_done(build, copied, capsys, monkeypatch):
    # What compiles it knows the exercise by the folder of the real one.
    command = build.commands[str(build.folder / "exercises/01_thread_mapping.cpp")]
    assert command
    arguments = ["1", "--build", str(ROOT / "build")]
    assert exercise.main(arguments) == 1
    out = capsys.readouterr().out
    assert out.startswith("NOT YET  01_thread_mapping: wrong result: out at row 0, column 0 is NaN")
    assert "next: edit exercises/01_thread_mapping/exercise.cuh" in out
    mine = copied / "01_thread_mapping/exercise.cuh"
    mine.write_text(kernel(RIGHT.replace("int row", "int rwo")))
    assert exercise.main(arguments) == 1
    assert re.search("exercise.cuh:6: .row. was not declared", capsys.readouterr().out)
    mine.write_text((copied / "01_thread_mapping/wrong/columns_of_a_tile.cuh").read_text())
    assert exercise.main(arguments) == 1
    out = capsys.readouterr().out
    assert "too expensive: 16384 sectors in 128 x 256, the limit is 8192" in out
    assert "exercise.cuh:10: out[row" in out
    mine.write_text(kernel(RIGHT))
    assert exercise.main(arguments) == 0
    out = capsys.readouterr().out
    assert out.startswith("PASSED") and "next: ./scripts/exercise.sh 02" in out
    assert exercise.main([]) == 0
    assert "done  01  " in capsys.readouterr().out
    # A later mistake does not undo it.
    mine.write_text(kernel(""))
    assert exercise.main(arguments) == 1
    assert exercise.Progress().of(exercise.find("01"))["done"]


def test_the_next_one_is_behind_the_one_that_is_done(build, copied, capsys):
    (copied / "02_predict_sectors/answer.yaml").write_text(
        (copied / "02_predict_sectors/solution.yaml").read_text()
    )
    assert exercise.main(["2", "--build", str(ROOT / "build")]) == 0
    assert "next: ./scripts/exercise.sh 01" in capsys.readouterr().out  # the only one left
    exercise.show(exercise.find("01"), Verdict(True, "all holds"), exercise.Progress())
    assert "next: ./scripts/exercise.sh 01" in capsys.readouterr().out
    (copied / "progress.json").unlink()
    exercise.show(exercise.find("01"), Verdict(True, "all holds"), exercise.Progress())
    assert "next: ./scripts/exercise.sh 02" in capsys.readouterr().out


@pytest.mark.parametrize("option", ["--watch", "--hint", "--solution", "--test"])
def test_an_option_without_an_exercise_is_bad_input(option, capsys):
    assert exercise.main([option]) == 2
    assert f"./scripts/exercise.sh 01 {option}" in capsys.readouterr().err


def test_no_answer_shows_no_solution(copied, capsys, monkeypatch):
    def closed(question):
        raise EOFError

    monkeypatch.setattr("builtins.input", closed)
    assert exercise.main(["01", "--solution"]) == 1
    assert capsys.readouterr().out == "not shown\n"


def test_several_exercises_of_a_name_are_listed(capsys):
    assert exercise.main(["tile"]) == 2
    assert "05_shared_tile, 11_thread_tile" in capsys.readouterr().err


def test_arguments_can_be_looked_at_alone(copied, capsys):
    assert exercise.main(["--valid", "01"]) == 0
    assert exercise.main(["--valid", "99"]) == 2
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("name", ["99", "no_such", "0"])
def test_an_unknown_exercise_is_bad_input(name, capsys):
    assert exercise.main([name]) == 2
    assert "./scripts/exercise.sh lists them" in capsys.readouterr().err


def case(**changes):
    return {
        "name": "a",
        "memory": [],
        "barriers": 0,
        "dynamic_bytes": 0,
        "findings": [],
        "error": "",
        "stray": "",
        "wrong": None,
        "wrong_elements": 0,
    } | changes


def line(space, operation, array, requests, cost, array_bytes=64):
    return {"file": "x.cuh", "line": 3, "text": "code", "array": array, "array_bytes": array_bytes,
            "space": space, "operation": operation, "requests": requests, "cost": cost}  # fmt: skip


MEMORY = [
    line("global", "load", "A", 4, 16),
    line("global", "load", "B", 2, 2),
    line("global", "store", "C", 1, 8),
    line("global", "tma load", "A", 3, 100),
    line("shared", "load", "sA", 5, 10, 1024),
    line("shared", "store", "sA", 2, 3, 1024),
    line("shared", "copy", "dynamic", 7, 9, 232448),
    line("shared", "wgmma", "dynamic", 1, 32, 232448),
]


@pytest.mark.parametrize(
    "cost, expected",
    [
        ("sectors", 126),
        ("load_sectors", 118),
        ("load_sectors of A", 116),
        ("store_sectors", 8),
        ("requests", 7),
        ("wavefronts", 13),
        ("store_wavefronts", 3),
        ("copy_wavefronts", 9),
        ("copies", 7),
        ("boxes", 3),
        ("operand_wavefronts", 32),
        ("barriers", 6),
        ("shared_bytes", 4096 + 1024),
    ],
)
def test_costs_are_sums_of_the_memory_report(cost, expected):
    measured = case(memory=MEMORY, barriers=6, dynamic_bytes=4096)
    assert exercise.cost_of(measured, cost) == expected


def finding(**changes):
    return {
        "file": "a/x.cuh",
        "line": 3,
        "text": "y = s[0];",
        "cause": "race: reads what another thread has written since the last barrier",
        "example": "",
        "count": 1,
    } | changes


def test_a_race_has_both_lines():
    other = {"file": "a/x.cuh", "line": 5, "text": "s[0] = x;"}
    said = exercise.correctness([case(findings=[finding(other=other)])])
    assert said.line.startswith("x.cuh:3: race: ") and said.line.endswith("(in a, 1 time)")
    assert said.details[:3] == ["    y = s[0];", "The other access, x.cuh:5:", "    s[0] = x;"]
    said = exercise.correctness([case(findings=[finding(other=other | {"line": 3})])])
    assert "in the same line" in said.details[1]


def test_the_grader_reports_the_other_line_of_a_race(verdict):
    text = kernel("""const int t = threadIdx.y * 32 + threadIdx.x;
  __shared__ float x[256]; x[t] = 0; __syncthreads();
  out[0] = x[255 - t];
  x[t] = 1;""")
    said = verdict(text)
    assert re.search(r"exercise.cuh:[78]: race", said.line), said.line
    line = 8 if ":7: " in said.line else 7
    other = said.details.index(f"The other access, exercise.cuh:{line}:")
    assert said.details[other + 1].strip() in text


def test_a_limit_is_the_most_or_the_least():
    e = replace(exercise.find("01"), limits={"a": {"copies": "at least 8", "sectors": 126}})
    said = exercise.judge(e, [case(memory=MEMORY)])
    assert said.line == "not as asked: 7 copies in a, it takes at least 8"
    e = replace(e, limits={"a": {"copies": "at least 7", "sectors": 126}})
    assert exercise.judge(e, [case(memory=MEMORY)]).ok


def test_a_limit_of_no_case_is_bad_input():
    with pytest.raises(BadInput, match="no case 'b'"):
        exercise.judge(replace(exercise.find("01"), limits={"b": {"sectors": 1}}), [case()])


def timed(seconds, cublas=0.0, **changes):
    return case(timed=True, seconds=seconds, cublas_seconds=cublas, **changes)


def test_what_passes_on_a_gpu_has_its_times_beside_the_references():
    plain = case(timed=False)
    said = exercise.judge_on_gpu([plain, timed(2e-3, 5e-4)], [plain, timed(1e-3, 5e-4)])
    assert said == Verdict(
        True, "all holds", ["GPU, a: 2.000 ms, reference 1.000 ms, cuBLAS 0.500 ms"]
    )


def test_what_is_wrong_on_a_gpu_alone_does_not_pass():
    failed = timed(1e-3, error="an illegal memory access was encountered")
    said = exercise.judge_on_gpu([failed], [timed(1e-3)])
    assert not said.ok
    assert said.line == (
        "on the GPU: cannot be launched: an illegal memory access was encountered (in a)"
    )
    with pytest.raises(BadInput, match="the reference fails"):
        exercise.judge_on_gpu([timed(1e-3)], "ended with code 1")


def test_the_notebook_has_the_first_starter_and_commands_that_exist():
    cells = json.loads((exercise.EXERCISES / "notebook.ipynb").read_text())["cells"]
    texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    starter = (exercise.EXERCISES / "01_thread_mapping/exercise.cuh").read_text()
    name = "exercises/01_thread_mapping/exercise.cuh"
    assert f"%%writefile {name}\n{starter}" in [text + "\n" for text in texts]
    assert sum("./scripts/exercise.sh 01" in text for text in texts) == 2
    for text in texts:
        if not text.startswith(("!", "%")):
            compile(text, "cell", "exec")


def test_every_exercise_is_in_the_table_with_its_page():
    table = exercise.table()
    for e in exercise.all_exercises():
        assert f"](/exercises/{e.name}/README.md) | " in table and f"](/{e.page})" in table


def test_an_array_keeps_its_name_in_a_verdict():
    one = replace(exercise.find("01"), limits={"small": {"load_requests of scales_A": 1}})
    line = {"space": "global", "operation": "load", "requests": 2, "cost": 2}
    line |= {"array": "scales_A", "file": "a.cuh", "line": 1, "text": ""}
    _, exceeded = exercise.cost_table(one, {"small": {"memory": [line]}})
    assert exceeded == ["too expensive: 2 load requests of scales_A in small, the limit is 1"]
