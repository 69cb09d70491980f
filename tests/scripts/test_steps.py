import json

import pytest

from ladder import steps

PARENT = """#pragma once
// 01 one: the first.
#include "launch.cuh"

namespace ladder::one {

__global__ void gemm_kernel(float* C) {
  const int row = blockIdx.y;  // a comment; with { signs }
  C[row] = 0.0f;
}

}
"""


def texts(source):
    return [s.text for s in steps.statements(steps.code(source))]


@pytest.mark.parametrize(
    "source, expected",
    [
        ("a = 1;  b\n =  2;", ["a = 1", "b = 2"]),
        ("a; // b; c\n/* d;\n e; */ f;", ["a", "f"]),
        ("#define X a; \\\n  b;\n#pragma unroll\nc;", ["c"]),
        ("for (int i = 0; i < 3; ++i) { a; }", ["for (int i = 0; i < 3; ++i)", "a"]),
        ('asm("{ ret; }" : : "n"(1));', ['asm("{ ret; }" : : "n"(1))']),
        ("log('{', '\"', 1'000); b;", ["log('{', '\"', 1'000)", "b"]),
        ('s = R"(a; // b {)"; c;', ['s = R"(a; // b {)"', "c"]),
        ("run([&](int i) { a; b; });", ["run([&](int i)", "a", "b"]),
        ("if (x) { a; } else { b; };", ["if (x)", "a", "else", "b"]),
        ('s = "a // b"; c;', ['s = "a // b"', "c"]),
    ],
)
def test_what_a_statement_is(source, expected):
    assert texts(source) == expected


def test_the_main_kernel_is_the_last_gemm_kernel_or_the_longest():
    def kernel(source):
        text = steps.code(source)
        return " ".join(text[slice(*steps.main_kernel(text))].split())

    strip = "namespace s { __global__ void gemm_kernel(int a) { x; } }"
    own = "__global__ void __launch_bounds__(N, 1) gemm_kernel(int b) { if (y) { z; } }"
    assert kernel(f"{strip} {own} __global__ void other_kernel() {{ a; b; c; }}").endswith("{ z; }")
    assert "b; c" in kernel("__global__ void o() { a; } __global__ void p() { a; b; c; }")
    assert kernel("__global__ void gemm_kernel(int); int x() { }") == ""


def test_a_step_counts_what_is_added_removed_and_kept():
    child = PARENT.replace("::one", "::two").replace("= 0.0f;", "= 1.0f; /* more; */ D[row] = 2;")
    found = steps.step("02_two", child, "01_one", PARENT)
    assert (found.statements, found.added, found.removed) == (5, 3, 2)
    assert found.kept == pytest.approx(2 / 3)
    assert found.within and found.reason is None
    assert found.kept_words == "67%"
    found = steps.step("02_two", f'#include "01_one.cuh"\n{child}', "01_one", PARENT)
    assert found.counts == ("5", "3", "-") and found.kept_words == "included"


@pytest.fixture
def project(tmp_path):
    """Two stages; add(n) makes the second add n statements."""
    entry = {"types": ["fp32"], "needs": {"compute_capability": 50, "features": []}}
    entry |= {"aligned_rows": False, "page": ""}
    stages = [entry | {"name": "01_one", "parent": None}]
    stages += [entry | {"name": "02_two", "parent": "01_one"}]
    (tmp_path / "stages").mkdir()
    (tmp_path / "kernels").mkdir()
    (tmp_path / "stages/manifest.json").write_text(json.dumps({"stages": stages}))
    main = (
        'return run(ladder::STAGE, {{"one", ladder::one::gemm}, {"last", ladder::one::gemm_n<2>}});'
    )
    for name in ("01_one", "02_two"):
        (tmp_path / f"stages/{name}.cu").write_text(main)
    (tmp_path / "kernels/01_one.cuh").write_text(PARENT)

    def add(count, header="", source=None):
        text = source or PARENT
        text = text.replace("C[row] = 0.0f;", f"C[row] = 0.0f; {'a;' * count}")
        text = text.replace("#include", f"{header}#include")
        (tmp_path / "kernels/02_two.cuh").write_text(text)
        return steps.main(["--manifest", str(tmp_path / "stages/manifest.json")])

    return add


@pytest.mark.parametrize(
    "count, header, code",
    [
        (60, "", 0),
        (61, "", 1),
        (61, "// Step    the two kernels share nothing.\n", 0),
        (61, "// Step    \n", 1),
        (61, "// Steps are good.\n", 1),
        (61, "#define X\n// Step    not in the header.\n", 1),
    ],
)
def test_a_step_over_the_limit_needs_a_line_in_its_header(project, count, header, code, capsys):
    assert project(count, header) == code
    text = capsys.readouterr()
    assert ("02_two adds more than 60 statements" in text.err) == (code == 1)
    assert ("OVER 60" in text.out) == (code == 1)
    if count == 61 and code == 0:
        assert "Step: the two kernels share nothing." in text.out


def test_a_reason_may_take_several_lines(project, capsys):
    assert project(61, "// Step    the kernels\n//         share nothing.\n// Limit   L2.\n") == 0
    assert "Step: the kernels share nothing.\n" in capsys.readouterr().out


def test_comments_and_what_is_included_are_free(project):
    assert project(0, '#include "parts/a.cuh"\n' * 70 + "// a;\n" * 70) == 0


def test_a_stage_without_a_kernel_is_bad_input(tmp_path, project, capsys):
    assert project(0) == 0
    (tmp_path / "kernels/02_two.cuh").unlink()
    assert steps.main(["--manifest", str(tmp_path / "stages/manifest.json")]) == 2
    error = capsys.readouterr().err
    assert "02_two.cuh: No such file" in error and error.count("\n") == 1


def test_neighbouring_variants_are_shown_by_what_their_launchers_differ_in(project, capsys):
    launchers = """void gemm(int p) { launch(kernel<1>, p); }
    void gemm_n(int p) { launch(kernel<1>, p); }
    """
    assert project(0, source=PARENT.replace("namespace", f"{launchers} namespace")) == 0
    rows = [line.split(maxsplit=3) for line in capsys.readouterr().out.splitlines()]
    assert ["02_two", "last", "one", "nothing -> < 2 >"] in rows


def test_variants_are_the_first_list_of_a_main_not_its_configurations():
    variants, configurations = '{{"a", x::gemm_a}, {"b", x::gemm, bytes}}', '{{"d", x::gemm_d}}'
    main = f"return run<f, f>(ladder::STAGE, {variants}, argc, argv, {configurations});"
    assert steps.listed_variants(main) == [("a", "x::gemm_a"), ("b", "x::gemm")]


def test_variants_of_several_types_are_the_first_list_of_the_contents():
    main = """Contents<T, T> contents() {
  Contents<T, T> all{{{"a", gemm_a<T>}, {"b", gemm<T>, bytes<T>}}, {{"d", gemm_d}}};
}
return run_type(ladder::STAGE, contents<half>(), contents<bf16>(), argc, argv);"""
    assert steps.listed_variants(main)[:2] == [("a", "gemm_a<T>"), ("b", "gemm<T>")]
