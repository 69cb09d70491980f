"""The reference of the public headers, as Doxygen reads them."""

import os
import re
import shutil
from pathlib import Path

import pytest

from ladder import api
from ladder.project import BadInput

ROOT = Path(__file__).resolve().parents[2]
if os.environ.get("CI") != "true" and shutil.which("doxygen") is None:
    pytest.skip("there is no Doxygen", allow_module_level=True)


@pytest.fixture
def copy(tmp_path):
    """A project of the public headers alone, to change them."""
    shutil.copy(ROOT / "Doxyfile", tmp_path)
    (tmp_path / "kernels").mkdir()
    for path in re.findall(r"kernels/\w+\.h", (ROOT / "Doxyfile").read_text()):
        shutil.copy(ROOT / path, tmp_path / path)
    return tmp_path


def test_every_function_of_the_library_and_every_field_of_a_problem_is_there():
    text = api.reference()
    headings = re.findall(r"^##+ (.+)", text, re.M)
    assert {"gemm", "workspace_bytes", "explain", "Gemm", "Epilogue", "jit::tune"} < set(headings)
    assert {"KeptPlan", "plan", "ladder_problem", "ladder_plan_run", "ladder_status"} < set(
        headings
    )
    assert headings.count("gemm") == headings.count("ladder_gemm") == 1
    assert "\nenum ladder_type { LADDER_FP16, LADDER_BF16, LADDER_FP32, " in text
    assert "\nenum class ladder::Activation { " in text
    assert headings.index("gemm.h") < headings.index("product.h") < headings.index("jit.h")
    assert "\nuint64_t ladder::workspace_bytes(const Gemm<In, Out>& problem," in text
    assert "| `const In* A` | M x K" in text
    assert "| `uint64_t workspace_bytes = 0` | its size |" in text
    assert "require_valid" not in text  # the launchers' own
    assert "loaded_" not in text  # private


@pytest.mark.parametrize(
    ("header", "before", "undocumented", "name"),
    [
        ("gemm.h", "}  // namespace ladder", "\nint forgotten();\n\n", "forgotten"),
        ("epilogue.h", "  const T* residual", "  int dim = 0;\n", "dim"),
        ("jit.h", " private:", "  void unload();\n\n", "unload"),
    ],
)
def test_what_is_public_and_not_documented_fails(copy, header, before, undocumented, name):
    path = copy / "kernels" / header
    assert path.read_text().count(before) >= 1
    path.write_text(path.read_text().replace(before, undocumented + before, 1))
    with pytest.raises(BadInput) as error:
        api.reference(copy)
    said = str(error.value).splitlines()
    assert len(said) == 1 and header in said[0]
    assert re.search(rf"\b{name}\b.* is not documented", said[0])


def test_a_comment_is_enough(copy):
    path = copy / "kernels/gemm.h"
    path.write_text(
        path.read_text().replace(
            "}  // namespace ladder", "// Of `T` the size, std::vector<T>.\nint size();\n}"
        )
    )
    assert (
        "### size\n\n```cpp\nint ladder::size();\n```\n\nOf `T` the size, std::vector&lt;T>.\n"
        in api.reference(copy)
    )


def test_without_doxygen_a_line_says_so(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BadInput, match="Doxygen is not installed"):
        api.reference()
