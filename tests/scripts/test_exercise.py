"""The grader of the exercises: what it refuses, and what a learner sees."""

import json
import re
import subprocess
import sys
from contextlib import nullcontext
from dataclasses import replace

import pytest

from ladder import exercise
from ladder.exercises import (
    catalogue,
    compiling,
    costs,
    grading,
    judging,
    learner,
    mistakes,
    refusals,
    wrong_map,
)
from ladder.exercises.compiling import Build
from ladder.exercises.judging import Verdict
from ladder.exercises.refusals import refusal
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
        return grading.grade(catalogue.find(name), path, build, seed=1)

    return of


def test_what_is_right_passes(verdict):
    assert verdict(kernel(RIGHT)).ok


@pytest.mark.slow
def test_a_solution_is_compiled_for_a_gpu_where_there_is_a_toolkit(build, tmp_path):
    one = catalogue.find("01_thread_mapping")
    program = compiling.compile_for_gpu(one, build, tmp_path, "sm_90a", solution=one.solution)
    if program is None:
        pytest.skip("the grader for a GPU is not built in build/")
    assert program.is_file()


@pytest.mark.slow
# By the learner's way each is a program of its own, in which nothing stands behind its array.
@pytest.mark.parametrize("name", ["for_long_rows", "for_long_rows_cut", "not_wrapped"])
def test_what_is_written_past_an_array_is_said(verdict, name):
    mistake = mistakes.find_mistake(catalogue.find("29"), name)
    said = verdict(mistake.text, "29")
    assert mistake.refused.search(said.line), said.line


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
    "fast at the shape that is named": (
        kernel(
            f"if (rows == 128 && columns == 256) {{ {RIGHT} return; }}"
            "const int column = blockIdx.y * 8 + threadIdx.y;"
            "for (int row = blockIdx.x * 32 + threadIdx.x; row < rows; row += gridDim.x * 32)"
            " for (int c = column; c < columns; c += gridDim.y * 8)"
            "  out[row * ld_out + c] = factor * in[row * ld_in + c];"
        ),
        "too expensive: .* in a drawn shape, where the reference has",
    ),
    "overwrites an input": (
        kernel(RIGHT + "\n  if (row == 0 && column == 0) const_cast<float*>(in)[0] = 0;"),
        "stray write: in is written although it is an input",
    ),
    "shared memory that no block has": (
        kernel(
            "__shared__ float s[100000]; s[threadIdx.y * 32 + threadIdx.x] = 0;"
            f"{RIGHT} if (rows < 0) out[0] = s[rows];"
        ),
        "400000 bytes of __shared__ arrays: a block has 49152",
    ),
    "a table that no device has": (
        kernel(
            "out[0] = table[rows];",
            "struct Table { float all[1 << 20]; };\nconstexpr Table made() { Table t{};"
            " t.all[1] = 1; return t; }\nconstexpr Table the_table = made();"
            "\nconstexpr const float* table = the_table.all;",
        ),
        "tables of 4[0-9]+ bytes: a device has 65536",
    ),
    "never ends": (kernel("while (rows > 0) out[0] = 1;"), "an endless loop"),
    "puts its own in the place of the grader's": (
        kernel("out[0] = 0;", "struct Shape {}; int ceil_div(int, int) { return 1; }\n"
               "template <class... T> void expect(T...) {}\nvoid check() {}"),
        "race: writes global memory that another block of this launch has written",
    ),
}  # fmt: skip


# The others take two seconds each.
QUICK_CHEATS = ["nothing at all", "remembers in a variable", "overwrites an input"]


@pytest.mark.parametrize(
    "cheat",
    [
        pytest.param(cheat, marks=() if cheat in QUICK_CHEATS else pytest.mark.slow)
        for cheat in CHEATS
    ],
)
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
    ("void f() { __syncthread(); }", "is `__syncthreads` meant?"),
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


def test_what_the_cpu_device_has_may_be_used():
    text = (ROOT / "tests/device_functions_test.cu").read_text()
    names = set(re.findall(r"\b__[a-z]\w*", text))
    assert len(names) > 250
    assert {name for name in names if not refusals.CUDA.fullmatch(name)} == set()


def test_what_the_cpu_device_lacks_is_named(verdict):
    body = RIGHT.replace("factor *", "__half2float(__float2half_ru(factor)) *")
    assert verdict(kernel(body)).line == (
        "does not compile: exercise.cuh:7: the CPU device has no __float2half_ru"
    )


CONSTANT = "__constant__ float factors[2] = {0, 1};"


@pytest.mark.slow
def test_a_constant_is_no_state(verdict):
    said = verdict(kernel(RIGHT.replace("factor *", "factor * factors[1] *"), CONSTANT))
    assert said.ok, said.line
    said = verdict(kernel("factors[0] += 1;" + RIGHT, CONSTANT))
    assert "read-only" in said.line


ROW = """struct Row { float v[8]; };
static __device__ float first(Row row) { return row.v[0]; }"""


@pytest.mark.slow
def test_what_a_call_passes_by_value_is_seen(verdict):
    body = RIGHT.replace("    out", "    { float (*volatile by_pointer)(Row) = first;\n    out")
    body = body.replace("in[", "by_pointer(*(const Row*)&in[").replace("];", "]); }", 1)
    said = verdict(kernel(body, ROW))
    assert "reads past the end of in" in said.line, said.line


def test_every_reference_and_starter_may_be_compiled():
    for e in catalogue.all_exercises():
        for path in e.folder.glob("*.cuh"):
            assert refusal(path.read_text()) == "", path


def test_every_mistake_is_an_edit_that_fits():
    for e in catalogue.all_exercises():
        for mistake in mistakes.mistakes_of(e):
            if not e.is_predict:
                assert mistake.text != e.solution.read_text(), f"{e.name}: {mistake.id}"
                assert refusal(mistake.text) == "", f"{e.name}: {mistake.id}"


WRONG = """- id: first
  refused: race
  mistake: It is.
  old: a
  new: b
"""


@pytest.mark.parametrize(
    "text, said",
    [
        (WRONG, None),
        (WRONG.replace("old: a", "old: c"), "first: solution.cuh has `old` 0 times, not once"),
        (WRONG.replace("old: a", "old: x"), "first: solution.cuh has `old` 2 times, not once"),
        (WRONG + WRONG, "there are two 'first'"),
        (WRONG + "  of: nobody\n", "first: of: there is no 'nobody' that is of the solution"),
        (WRONG + "  of: first\n", "first: of: there is no 'first' that is of the solution"),
        (WRONG.replace("race", "("), "[0].refused is not a regular expression"),
        (WRONG.replace("  new: b\n", ""), "[0] has no 'new'"),
        ("[]", "is empty"),
    ],
)
def test_a_mistake_that_does_not_fit_is_one_line(tmp_path, text, said):
    path = tmp_path / "wrong.yaml"
    path.write_text(text)
    if said is None:
        (mistake,) = mistakes.read_mistakes(path, "xax")
        assert mistake.shown() == "// refused: race\n// It is.\nxbx"
        return
    with pytest.raises(BadInput, match=re.escape(said)):
        mistakes.read_mistakes(path, "xax")


def test_a_mistake_may_be_of_another_or_a_text(tmp_path):
    path = tmp_path / "wrong.yaml"
    head = "- id: {}\n  refused: race\n  mistake: It is.\n"
    path.write_text(
        WRONG
        + head.format("second")
        + "  of: first\n  edits:\n    - {old: b, new: c}\n    - {old: xc, new: d}\n"
        + head.format("third")
        + "  text: whole\n"
    )
    texts = [mistake.text for mistake in mistakes.read_mistakes(path, "xax")]
    assert texts == ["xbx", "dx", "whole"]


def test_a_wrong_solution_is_shown(capsys):
    assert exercise.main(["15", "--wrong", "two_buffers"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("// refused: ") and "BUFFERS = 2;" in out
    assert exercise.main(["02", "--wrong", "in_floats"]) == 0
    assert capsys.readouterr().out.endswith("# Floats are counted.\n" + IN_FLOATS)
    assert exercise.main(["02", "--wrong", "nobody"]) == 2
    assert (
        "02_predict_sectors has no wrong solution 'nobody'; there are " in capsys.readouterr().err
    )


IN_FLOATS = "load_sectors: 97\nstore_sectors: 128\n"


def test_a_program_has_the_starter_until_it_is_edited(copied, tmp_path, capsys):
    def solutions(*options):
        folder = tmp_path / "written"
        folder.mkdir(exist_ok=True)
        assert exercise.main(["01", "--write", str(folder), *options]) == 0
        text = (folder / f"01_thread_mapping{'_rest' if options else ''}.cpp").read_text()
        return re.findall("#define SOLUTION (.*)", text)

    first = [mistake.id for mistake in mistakes.mistakes_of(catalogue.find("01"))]
    assert solutions() == ["solution", "exercise", *first[:2]]
    assert solutions("--rest") == first[2:]
    (copied / "01_thread_mapping/exercise.cuh").write_text("int")
    assert solutions() == ["solution", *first[:2]]
    assert exercise.main(["--protect"]) == 0
    assert solutions() == ["solution", "exercise", *first[:2]]


def test_checksums_are_those_of_the_files():
    known = json.loads((catalogue.EXERCISES / "checksums.json").read_text())
    progress = learner.Progress()
    changed = {
        name for name, value in catalogue.checksums().items() if known.get(name) != value
    } | known.keys() - catalogue.checksums().keys()
    edited = {str(e.edited.relative_to(catalogue.EXERCISES)) for e in catalogue.all_exercises()}
    if progress.all:  # of somebody who works with them
        changed -= edited
    assert changed == set(), "./ladder exercise --protect writes them"


@pytest.fixture
def copied(tmp_path, monkeypatch):
    """A copy of 01 and 02, whose files a test may edit; returns its folder."""
    folder = tmp_path / "exercises"
    folder.mkdir()
    for name in ("01_thread_mapping", "02_predict_sectors", "checksums.json"):
        subprocess.run(["cp", "-r", catalogue.EXERCISES / name, folder], check=True)
    monkeypatch.setattr(catalogue, "EXERCISES", folder)
    monkeypatch.setattr(catalogue, "ROOT", tmp_path)
    return folder


@pytest.mark.parametrize(
    "file, old, new",
    [
        ("01_thread_mapping/exercise.yaml", "8192", "99999"),
        ("01_thread_mapping/check.cpp", "1e-6", "1e6"),
        ("01_thread_mapping/solution.cuh", "factor", "factor "),
        ("02_predict_sectors/exercise.cuh", "in[40]", "in[lane]"),
    ],
)
def test_an_edited_limit_is_bad_input(copied, capsys, file, old, new):
    path = copied / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    assert exercise.main([file[:2], "--build", str(ROOT / "build")]) == 2
    assert f"{path.name}: not as the grader has it" in capsys.readouterr().err


def test_a_kernel_that_is_given_is_counted(build):
    e = catalogue.find("02")
    if not (build.folder / "exercises" / e.name).is_file():
        pytest.skip("02 is not built")
    cases = grading.run(build.program(e), "exercise", 1)
    assert judging.judge_answer(e, cases, catalogue.read_yaml(e.solution)).ok
    said = judging.judge_answer(e, cases, mistakes.find_mistake(e, "all_aligned").answer)
    assert said == Verdict(False, "load_sectors is not 17")


ENDLESS = """template <int DEPTH, long I> struct Tree {
  static constexpr long value = Tree<DEPTH - 1, 2 * I>::value + Tree<DEPTH - 1, 2 * I + 1>::value;
};
template <long I> struct Tree<0, I> { static constexpr long value = I; };
constexpr long sum = Tree<30, 0>::value;"""


@pytest.mark.slow
@pytest.mark.parametrize("kind, most", [("RLIMIT_CPU", 3), ("RLIMIT_AS", 1 << 29)])
def test_a_compiler_that_does_not_end_is_ended(verdict, monkeypatch, kind, most):
    monkeypatch.setitem(compiling.LIMITS, getattr(compiling.resource, kind), most)
    said = verdict(kernel(RIGHT, ENDLESS))
    assert said.line.startswith("does not compile: it takes more than "), said.line


@pytest.mark.parametrize(
    "said",
    [
        "c++: fatal error: cannot execute 'as': No such file or directory",
        "/tmp/x.cpp:1:2: fatal error: error writing to x.s: No space left on device",
    ],
)
def test_what_the_machine_lacks_is_no_verdict(build, tmp_path, monkeypatch, said):
    compiler = tmp_path / "c++"
    compiler.write_text(f'#!/bin/sh\necho "{said}" >&2\nexit 1\n')
    compiler.chmod(0o755)
    usual = build.command
    monkeypatch.setattr(build, "command", lambda: [str(compiler), *usual()])
    e = catalogue.find("01")
    with pytest.raises(BadInput, match=re.escape(f"the compiler fails: {said}")):
        grading.grade(e, e.solution, build, seed=1)


def test_a_report_that_cannot_be_written_is_no_verdict(build, monkeypatch):
    e = catalogue.find("02")
    if not (build.folder / "exercises" / e.name).is_file():
        pytest.skip("02 is not built")
    monkeypatch.setattr(grading.tempfile, "TemporaryDirectory", lambda: nullcontext("/nowhere"))
    with pytest.raises(BadInput, match="cannot be written: No such file"):
        grading.run(build.program(e), "exercise", 1)


def test_those_who_note_at_the_same_time_lose_nothing(copied):
    # Both have read the file before one of them writes it.
    first, second = learner.Progress(), learner.Progress()
    first.note(catalogue.find("01"), hints=1)
    second.note(catalogue.find("02"), hints=2)
    now = learner.Progress()
    assert [now.of(catalogue.find(name))["hints"] for name in ("01", "02")] == [1, 2]


def test_the_old_progress_stays_where_the_new_cannot_be_written(copied, capsys, monkeypatch):
    learner.Progress().note(catalogue.find("01"), hints=1)

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(learner.os, "fsync", full)
    assert exercise.main(["02", "--hint"]) == 2
    assert "No space left on device" in capsys.readouterr().err
    assert learner.Progress().of(catalogue.find("01"))["hints"] == 1


def test_two_commands_side_by_side_lose_nothing(copied):
    script = "import sys; from pathlib import Path\n"
    script += "from ladder.exercises import catalogue, learner\n"
    script += "catalogue.EXERCISES = Path(sys.argv[1])\n"
    script += "for _ in range(100): learner.Progress().note(catalogue.find(sys.argv[2]), hints=3)"
    both = [
        subprocess.Popen(
            [sys.executable, "-c", script, copied, name], env={"PYTHONPATH": ROOT / "scripts"}
        )
        for name in ("01", "02")
    ]
    assert [one.wait() for one in both] == [0, 0]
    assert len(learner.Progress().all) == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    "answer, said",
    [(b"\xff\xfe", "codec can't decode"), (b"[" * 20000, "nest"), (b"[]", "expected")],
)
def test_an_answer_that_is_none_is_bad_input(copied, build, capsys, answer, said):
    (copied / "02_predict_sectors/answer.yaml").write_bytes(answer)
    assert exercise.main(["02", "--build", str(ROOT / "build")]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("entry", ["limits: []", "questions: {a: 1}", "questions: [1]", "hints: 1"])
def test_an_exercise_of_the_wrong_shape_is_bad_input(copied, capsys, entry):
    path = copied / "01_thread_mapping/exercise.yaml"
    path.write_text(path.read_text() + "\n" + entry + "\n")
    assert exercise.main(["01", "--hint"]) == 2
    assert str(path) in capsys.readouterr().err


def test_a_deadlock_shows_all_who_wait():
    cause = "deadlock: threads wait here, for a phase of an mbarrier that never completes"
    consumer = finding(cause=cause, line=37, text="wait(full)", who="warps 0 to 3 of block 0")
    producer = finding(
        cause=cause, line=26, text="wait(empty)", example="phase 0, 0 of 64 arrivals", who="warp 4"
    )
    race = finding(line=3)
    said = judging.correctness([case(findings=[consumer, producer, race])])
    others = next(i for i, line in enumerate(said.details) if line.startswith("Others wait"))
    assert said.details[others].startswith(
        "Others wait, x.cuh:26: for a phase of an mbarrier that never completes: phase 0, 0 of 64"
    )
    assert said.details[others + 1 :] == ["    wait(empty)", "Here waits: warp 4"]
    assert said.details[:others] == ["    wait(full)", "Here waits: warps 0 to 3 of block 0"]
    assert [one[0][:9] for one in said.more] == ["x.cuh:3: "]
    assert said.places == [{37, 26}, {26}, {3}]


def rows_of(rows, columns, is_wrong):
    return ["".join(".#"[bool(is_wrong(i, j))] for j in range(columns)) for i in range(rows)]


@pytest.mark.parametrize(
    "rows, columns, is_wrong, said",
    [
        (64, 64, lambda i, j: j % 16 >= 8, "columns 8 to 15 of every 16, in all rows"),
        (64, 60, lambda i, j: i % 8 == 3, "row 3 of every 8, in all columns"),
        (50, 70, lambda i, j: i >= 48, "rows 48 to 49, the last 2, in all columns"),
        (50, 70, lambda i, j: i < 16 and j == 69, "rows 0 to 15 of 50, in column 69, the last"),
        (50, 70, lambda i, j: i in (4, 9, 10), "rows 4 and 9 to 10 of 50, in all columns"),
        (1, 256, lambda i, j: j % 4 == 3, "element 3 of every 4"),
        (
            64,
            64,
            lambda i, j: i != j,
            "all columns, in all rows, but not on the diagonal: are rows and columns exchanged?",
        ),
        (
            64,
            64,
            lambda i, j: j >= 32 and (i, j) != (5, 40),
            "columns 32 to 63, the last 32, in all rows, but for 1 that are right, by accident "
            "perhaps",
        ),
        (32, 32, lambda i, j: (i // 2 + j // 4) % 2, "the same in every 4 rows and 8 columns"),
        (32, 32, lambda i, j: i * j % 7 == 3, "no simple pattern"),
    ],
)
def test_what_wrong_elements_have_in_common_is_said(rows, columns, is_wrong, said):
    assert wrong_map.map_of(rows_of(rows, columns, is_wrong))[0] == f"wrong: {said}"


def test_wrong_elements_are_drawn():
    halves = wrong_map.map_of(rows_of(64, 64, lambda i, j: j % 16 >= 8))
    assert halves[1:9] == ["    " + "....####" * 4] * 8
    assert halves[9] == "    . right, # wrong; a sign is 8 x 2 elements"
    # Where a sign would be of both kinds, the first elements stand for all that are the same.
    one = wrong_map.map_of(rows_of(64, 64, lambda i, j: i % 8 == 3))
    assert one[1:9] == ["    " + ".#"[i == 3] * 32 for i in range(8)]
    assert one[9] == "    . right, # wrong; the first 8 rows and 32 columns"
    last = wrong_map.map_of(rows_of(50, 70, lambda i, j: i >= 49))
    assert last[7:9] == [
        "    " + "+" * 18,
        "    . right, # wrong, + some of them wrong; a sign is 8 x 4 elements",
    ]
    for few in (lambda i, j: True, lambda i, j: i == j == 0):
        assert wrong_map.map_of(rows_of(4, 4, few)) == []


RACE = Verdict(
    False,
    "exercise.cuh:18: race (in a)",
    ["the report"],
    [["exercise.cuh:9: another"]],
    "race (in a)",
    [{18, 22}, {9}],
)


@pytest.fixture
def answers(copied, capsys, monkeypatch):
    """Shows RACE in an exercise of a kind, to somebody who types these lines."""

    def of(*lines, kind="bug", how="ask", verdict=RACE):
        typed = iter(lines)

        def read(question):
            line = next(typed, None)
            if line is None:
                raise EOFError
            return line

        monkeypatch.setattr("builtins.input", read)
        one = replace(catalogue.find("01"), kind=kind)
        learner.show(one, one.edited, verdict, learner.Progress(), how)
        assert next(typed, None) is None
        return capsys.readouterr().out

    return of


def test_the_lines_of_a_bug_are_asked_for_before_they_are_shown(answers):
    hidden = answers()
    assert hidden.startswith("NOT YET  01_thread_mapping: race (in a)\n")
    assert "18" not in hidden and "the report" not in hidden and "--all shows the lines" in hidden
    assert "18" not in answers(how="quietly")
    out = answers("1", "22 23", "22, 18")
    assert re.search("No[.].*No, but 22 is part of it.*Yes.*cuh:18:\n  the report", out, re.DOTALL)
    assert answers().startswith("NOT YET  01_thread_mapping: exercise.cuh:18: race (in a)\n")


@pytest.mark.parametrize("line, said", [("9", "Yes."), ("", "exercise.cuh:18:\n  the report")])
def test_another_finding_is_an_answer_and_nobody_has_to_answer(answers, line, said):
    assert said in answers(line)


def test_lines_are_asked_for_where_a_bug_is_to_be_found_alone(answers):
    assert "the report" in answers(kind="write")
    told = answers(how="all")
    assert "the report" in told and "exercise.cuh:9: another" in told
    assert "another" not in answers() and "1 more finding" in answers()


@pytest.fixture
def user(build, tmp_path):
    """./scripts/exercise.sh of a clone, in which nothing is built anew: its code and its output."""
    root = tmp_path / "clone"
    (root / "scripts").mkdir(parents=True)
    for name in ("ladder", "scripts/exercise.sh", "scripts/lib.sh"):
        (root / name).write_bytes((ROOT / name).read_bytes())
        (root / name).chmod(0o755)
    with open(root / "scripts/lib.sh", "a") as lib:
        lib.write("set_up() { :; }\nbuild() { :; }\n")
    subprocess.run(["cp", "-r", ROOT / "scripts/ladder", root / "scripts"], check=True)
    subprocess.run(["cp", "-r", ROOT / "exercises", root], check=True)
    for name in ("build", "bench", "kernels", "cpu_device", "docs", ".venv"):
        (root / name).symlink_to(ROOT / name)
    (root / "exercises/progress.json").unlink(missing_ok=True)

    def run(*arguments, typed="", folder=root):
        done = subprocess.run(
            [root / "scripts/exercise.sh", *arguments],
            cwd=folder,
            input=typed,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        return done.returncode, done.stdout

    run.root = root
    return run


@pytest.mark.slow
def test_a_user_looks_for_a_race_and_finds_it(user):
    code, out = user("06", typed="18 19\n18 22\n")
    assert code == 1
    before, _, after = out.partition("Yes.")
    assert "NOT YET  06_missing_barrier: race: " in before and "exercise.cuh:" not in before
    assert "No, but 18 is part of it" in before
    assert "exercise.cuh:18:\n" in after and "The other access, exercise.cuh:22:" in after
    assert "1 more finding, for when this is mended; --all shows all" in after
    code, out = user("06", "--all")
    assert code == 1 and len(re.findall("exercise.cuh:[0-9]+: race", out)) == 2


@pytest.mark.slow
def test_a_user_sees_who_waits_in_a_deadlock(user):
    code, out = user("35", "--all")
    assert code == 1
    assert re.search(
        r"cuh:26: deadlock: .*\n.*\n  Here waits: warp 0 of block \(0, 0, 0\)\n"
        r"  Others wait, exercise.cuh:30: .*\n.*\n  Here waits: warp 1 of block \(0, 0, 0\)\n",
        out,
    ), out
    assert "more finding" not in out


@pytest.mark.slow
def test_a_user_sees_which_elements_are_wrong(user):
    code, out = user("30")
    assert code == 1
    assert "wrong: rows 1 to 7 of every 8, in all columns\n" in out
    assert "\n      ................................\n      ########" in out


@pytest.mark.slow
def test_a_users_file_is_graded_without_what_lies_beside_it(user, tmp_path):
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "my.cuh").write_text(kernel(RIGHT))
    (mine / "exercise.h").write_text("#error of the learner's\n")
    code, out = user("01", "my.cuh", folder=mine)
    assert code == 0, out
    # Nor does a solution that somebody has edited become the grader's.
    with open(user.root / "exercises/01_thread_mapping/solution.cuh", "a") as solution:
        solution.write("// mine\n")
    code, out = user("01", "my.cuh", folder=mine)
    assert code == 2 and "solution.cuh: not as the grader has it" in out


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
    arguments = ["1", "--build", str(ROOT / "build")]
    assert exercise.main(arguments) == 1
    out = capsys.readouterr().out
    assert out.startswith("NOT YET  01_thread_mapping: wrong result: out at row 0, column 0 is NaN")
    assert "(in 128 x 256, all 32768 elements wrong)" in out
    assert "next: edit exercises/01_thread_mapping/exercise.cuh" in out
    mine = copied / "01_thread_mapping/exercise.cuh"
    mine.write_text(kernel(RIGHT.replace("int row", "int rwo")))
    assert exercise.main(arguments) == 1
    out = capsys.readouterr().out
    assert re.search("exercise.cuh:6: .row. was not declared.*\n      if \\(row < rows", out), out
    mistake = mistakes.find_mistake(catalogue.find("01"), "columns_of_a_tile")
    mine.write_text(mistake.shown())
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
    assert learner.Progress().of(catalogue.find("01"))["done"]


@pytest.mark.slow
def test_a_file_of_ones_own_is_graded_and_the_clone_stays_as_it_is(build, copied, tmp_path, capsys):
    def files():
        return {path: path.read_bytes() for path in copied.rglob("*") if path.is_file()}

    before = files()
    (tmp_path / "here").mkdir()
    mine = tmp_path / "here/my.cuh"
    arguments = ["1", "my.cuh", "--from", str(mine.parent), "--build", str(ROOT / "build")]
    assert exercise.main(arguments) == 2
    assert capsys.readouterr().err == "exercise.sh: my.cuh is no file\n"
    mine.write_text(kernel(""))
    assert exercise.main(arguments) == 1
    assert "next: edit here/my.cuh; read docs/concepts/coalescing.md" in capsys.readouterr().out
    mine.write_text(kernel(RIGHT))
    assert exercise.main(arguments) == 0
    answer = (copied / "02_predict_sectors/solution.yaml").read_text()
    (tmp_path / "here/my.yaml").write_text(answer)
    assert exercise.main(["2", "my.yaml", *arguments[2:]]) == 0
    assert capsys.readouterr().out.endswith("all are done\n")
    assert {path.name for path in mine.parent.iterdir()} == {"my.cuh", "my.yaml"}
    new = [path for path, content in files().items() if before.get(path) != content]
    assert {path.name for path in new} == {"progress.json", "progress.lock"}
    ignored = ["git", "check-ignore", *(f"exercises/{path.name}" for path in new)]
    assert subprocess.run(ignored, cwd=ROOT, capture_output=True).returncode == 0


@pytest.mark.slow
def test_the_next_one_is_behind_the_one_that_is_done(build, copied, capsys):
    (copied / "02_predict_sectors/answer.yaml").write_text(
        (copied / "02_predict_sectors/solution.yaml").read_text()
    )
    assert exercise.main(["2", "--build", str(ROOT / "build")]) == 0
    assert "next: ./scripts/exercise.sh 01" in capsys.readouterr().out  # the only one left
    one = catalogue.find("01")
    learner.show(one, one.edited, Verdict(True, "all holds"), learner.Progress())
    assert "next: ./scripts/exercise.sh 01" in capsys.readouterr().out
    (copied / "progress.json").unlink()
    learner.show(one, one.edited, Verdict(True, "all holds"), learner.Progress())
    assert "next: ./scripts/exercise.sh 02" in capsys.readouterr().out


@pytest.mark.parametrize("option", ["--watch", "--hint", "--solution", "--test"])
def test_an_option_without_an_exercise_is_bad_input(option, capsys):
    assert exercise.main([option]) == 2
    assert f"./scripts/exercise.sh 01 {option}" in capsys.readouterr().err


def test_what_passed_is_offered_the_solution_and_the_mistakes(copied, capsys):
    one = catalogue.find("01")
    learner.show(one, one.edited, Verdict(False, "wrong"), learner.Progress())
    assert "--wrong" not in capsys.readouterr().out
    learner.show(one, one.edited, Verdict(True, "all holds"), learner.Progress())
    out = capsys.readouterr().out
    assert "./scripts/exercise.sh 01 --solution" in out
    first, others = re.search(r"exercise.sh 01 --wrong (\w+) .*; or (.*)", out).groups()
    for mistake in [first, *others.split(", ")]:
        assert exercise.main(["01", "--wrong", mistake]) == 0


def test_what_is_done_shows_its_solution_without_asking(copied, capsys, monkeypatch):
    learner.Progress().note(catalogue.find("01"), done=True)
    monkeypatch.setattr("builtins.input", lambda question: pytest.fail("asks"))
    assert exercise.main(["01", "--solution"]) == 0


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
    assert costs.cost_of(measured, cost) == expected


def finding(**changes):
    return {
        "file": "a/x.cuh",
        "line": 3,
        "text": "y = s[0];",
        "cause": "race: reads what another thread has written since the last barrier",
        "example": "",
        "who": "",
        "count": 1,
    } | changes


def test_a_race_has_both_lines():
    other = {"file": "a/x.cuh", "line": 5, "text": "s[0] = x;"}
    said = judging.correctness([case(findings=[finding(other=other)])])
    assert said.line.startswith("x.cuh:3: race: ") and said.line.endswith("(in a, 1 time)")
    assert said.details[:3] == ["    y = s[0];", "The other access, x.cuh:5:", "    s[0] = x;"]
    said = judging.correctness([case(findings=[finding(other=other | {"line": 3})])])
    assert "in the same line" in said.details[1]


@pytest.mark.slow
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


# What results with fractions, in two orders, let through.
@pytest.mark.slow
@pytest.mark.parametrize(
    "name, old, new, said",
    [
        (
            "05_shared_tile",
            "= sum;",
            "= sum * (1 + 0x1p-22f);",
            "wrong result: C at row",
        ),
        (
            "34_mbarrier_parity",
            "    __syncthreads();\n  }\n",
            "    __syncthreads();\n"
            "    if (threadIdx.x > 95) ptx::mbarrier_wait_parity(&s.full, t % 2);\n  }\n",
            "another order: waits for ever",
        ),
    ],
)
def test_what_two_runs_let_through_is_refused(verdict, name, old, new, said):
    text = catalogue.find(name).solution.read_text()
    assert verdict(text, name).ok
    assert text.count(old) == 1
    assert said in verdict(text.replace(old, new), name).line


@pytest.mark.slow
def test_where_accesses_depend_on_the_data_there_are_more_runs(build, tmp_path):
    exercise = catalogue.find("05_shared_tile")
    text, product = exercise.solution.read_text(), "sum += sA[ty][k] * sB[k][tx];"
    path = tmp_path / "exercise.cuh"

    def runs_of(text):
        path.write_text(text)
        assert build.compile(exercise, path, tmp_path) == ""
        return {case["runs"] for case in grading.run(tmp_path / "program", "yours", 1)}

    assert runs_of(text) == {3}
    looks = f"if (sA[ty][k] > 0) {product} else sum -= -sA[ty][k] * sB[k][tx];"
    assert runs_of(text.replace(product, looks)) == {7}


def test_a_limit_is_the_most_or_the_least():
    e = replace(catalogue.find("01"), limits={"a": {"copies": "at least 8", "sectors": 126}})
    cases = [case(memory=MEMORY), case(name=judging.DRAWN, memory=MEMORY)]
    said = judging.judge(e, cases, cases)
    assert said.line == "not as asked: 7 copies in a, it takes at least 8"
    e = replace(e, limits={"a": {"copies": "at least 7", "sectors": 126}})
    assert judging.judge(e, cases, cases).ok


@pytest.mark.parametrize(
    "limit, reference, measured, expected",
    [
        # A limit of twice what the reference has, and a quarter.
        (20, 40, 100, ""),
        (20, 40, 101, "too expensive: 101 barriers in a drawn shape, where the reference has 40"),
        ("at least 5", 40, 15, ""),
        ("at least 5", 40, 14, "not as asked: 14 barriers in a drawn shape, where the reference"),
        (10, 0, 1, "too expensive: 1 barriers in a drawn shape, where the reference has 0"),
    ],
)
def test_costs_at_a_drawn_shape_stand_beside_the_references(limit, reference, measured, expected):
    e = replace(catalogue.find("01"), limits={"a": {"barriers": limit}})
    named = case(barriers=10)
    said = judging.judge(
        e,
        [named, case(name=judging.DRAWN, barriers=measured)],
        [named, case(name=judging.DRAWN, barriers=reference)],
    )
    assert said.line.startswith(expected or "all holds")


def test_a_limit_of_no_case_is_bad_input():
    with pytest.raises(BadInput, match="no case 'b'"):
        judging.judge(replace(catalogue.find("01"), limits={"b": {"sectors": 1}}), [case()], [])


def test_every_exercise_with_limits_draws_a_shape():
    for e in catalogue.all_exercises():
        if e.limits:
            assert f'"{judging.DRAWN}"' in (e.folder / "check.cpp").read_text(), e.name


def timed(seconds, cublas=0.0, **changes):
    return case(timed=True, seconds=seconds, cublas_seconds=cublas, **changes)


def test_what_passes_on_a_gpu_has_its_times_beside_the_references():
    plain = case(timed=False)
    said = judging.judge_on_gpu([plain, timed(2e-3, 5e-4)], [plain, timed(1e-3, 5e-4)])
    assert said == Verdict(
        True, "all holds", ["GPU, a: 2.000 ms, reference 1.000 ms, cuBLAS 0.500 ms"]
    )


def test_what_is_wrong_on_a_gpu_alone_does_not_pass():
    failed = timed(1e-3, error="an illegal memory access was encountered")
    said = judging.judge_on_gpu([failed], [timed(1e-3)])
    assert not said.ok
    assert said.line == (
        "on the GPU: cannot be launched: an illegal memory access was encountered (in a)"
    )
    with pytest.raises(BadInput, match="the reference fails"):
        judging.judge_on_gpu([timed(1e-3)], "ended with code 1")


def test_the_notebook_has_the_first_starter_and_commands_that_exist():
    cells = json.loads((catalogue.EXERCISES / "notebook.ipynb").read_text())["cells"]
    texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    starter = (catalogue.EXERCISES / "01_thread_mapping/exercise.cuh").read_text()
    name = "exercises/01_thread_mapping/exercise.cuh"
    assert f"%%writefile {name}\n{starter}" in [text + "\n" for text in texts]
    assert sum("./scripts/exercise.sh 01" in text for text in texts) == 2
    for text in texts:
        if not text.startswith(("!", "%")):
            compile(text, "cell", "exec")


def test_every_exercise_is_in_the_table_with_its_page():
    table = catalogue.table()
    for e in catalogue.all_exercises():
        assert f"](/exercises/{e.name}/README.md) | " in table and f"](/{e.page})" in table


def test_an_array_keeps_its_name_in_a_verdict():
    one = replace(catalogue.find("01"), limits={"small": {"load_requests of scales_A": 1}})
    line = {"space": "global", "operation": "load", "requests": 2, "cost": 2}
    line |= {"array": "scales_A", "file": "a.cuh", "line": 1, "text": ""}
    _, exceeded = judging.cost_table(one, {"small": {"memory": [line]}})
    assert exceeded == ["too expensive: 2 load requests of scales_A in small, the limit is 1"]
