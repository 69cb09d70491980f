"""Builds what pages of the site load to compile and run kernels: the CPU device for WebAssembly,
headers, the compiler, the editor, and what they have to know of each stage."""

import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts"))
import exercises  # noqa: E402
from ladder import manifest  # noqa: E402
from ladder.exercises import catalogue  # noqa: E402

# What is taken from packages of PyPI, file by file. Nothing of it is ever committed. The first is
# Clang 23 for WebAssembly, with its licences, 132 MB; the second CodeMirror 6 as one module.
COMPILER_PACKAGE = "llvm-explorer==0.11.0"
COMPILER = {
    "Compiler.js": "97fcbfb779813deb4ca6dc36f5550226507f8be53d8b1c0cd87e1820a4ce53b4",
    "Compiler.wasm": "15c16d146e8caf71e60b19f4703984f948f1d46a453664d3f982047b16be116d",
    "Compiler.data": "6acf560c2a76ea615c37b89622385d245044250a30ffd4bf0b951e2539ed8d46",
    "licenses/Emscripten.txt": "620a78084fc7ca97c0b5dea9abf891f3ffcadfdbf305276f099c9c4e12fc1d86",
    "licenses/LLVM.txt": "8d85c1057d742e597985c7d4e6320b015a9139385cff4cbae06ffc0ebe89afee",
    "licenses/WasmBolt.txt": "dc1a8973adfebad020593ed6f0048174b255240626f12ef9d5cb0d9935a4455e",
}
EDITOR_PACKAGE = "nicegui==3.18.0"
EDITOR = {
    "index.js": "c3f2db6a528ea15847f54487e423b7ecf369cfc092e6911265ae9201c828a3ba",
    "index-ciMdZ5pn.js": "efe9aa853ac3846e6cd6884747bf8615e40b3e6e415bb14f77a087f4e327f4a2",
    "index-fNO8kRX1.js": "dcdb346fc94247b1f387e221d2b758a70d4ddb21f90a9a4287f54fbf5f344058",
    "index-C83tnP_C.js": "f0968a6f13b4d5f36e98848fbe43cb8436a6c78c74d8a492a0f6b7cd6af799c4",
}
EDITOR_LICENSE = {"LICENSE": "41c065c2081141886f7d3004e3cd4000c1507cc4bf37a063f12be1d53e9db272"}

# Debian's: clang-19 lld-19 libc++-19-dev-wasm32 libclang-rt-19-dev-wasm32 wasi-libc
CLANG, LINKER = "clang++-19", "wasm-ld-19"
LIBRARIES = [
    "/usr/lib/llvm-19/lib/wasm32-wasi/libc++.a",
    "/usr/lib/llvm-19/lib/wasm32-wasi/libc++abi.a",
    "/usr/lib/wasm32-wasi/libc.a",
    "/usr/lib/llvm-19/lib/clang/19/lib/wasi/libclang_rt.builtins-wasm32.a",
]
CCACHE = ["ccache"] if shutil.which("ccache") else []
INCLUDE = ["lab/include", "cpu_device/include", ".", "bench", "kernels"]

# What lab/ has in another way, and the part of the harness that needs no command line.
REPLACED = {"fiber.cpp", "signals.cpp", "symbols.cpp"}
HARNESS = ["cpu", "epilogue", "epilogue_data", "json", "peak", "problem", "report"]
HARNESS += ["schedule", "statistics", "table", "verify"]


INCLUDED = ["bench/harness/harness.h", "bench/exercises/exercise.h", "bench/exercises/grader.h"]
NO_HEADER = "bench/exercises/solution.inc"  # but included


class BuildError(Exception):
    """One line."""


def clang(*arguments: str, text: str = "") -> str:
    """Its output. `text` is its input."""
    command = [*CCACHE, CLANG, "--target=wasm32-wasi", "-std=c++17", "-fexceptions"]
    command += [f"-I{folder}" for folder in INCLUDE]
    try:
        done = subprocess.run(
            [*command, *arguments], cwd=ROOT, input=text, capture_output=True, text=True
        )
    except FileNotFoundError:
        raise BuildError(f"there is no {CLANG}: lab/README.md says what is needed") from None
    if done.returncode:
        raise BuildError(f"{CLANG} {arguments[-1]}: {done.stderr}")
    return done.stdout


def build_runtime(out: Path, cache: Path) -> None:
    """The CPU device, the harness, the exercises' grader and the C++ library, as the files that the
    page links."""
    sources = [p for p in sorted(ROOT.glob("cpu_device/*.cpp")) if p.name not in REPLACED]
    sources += sorted(ROOT.glob("lab/*.cpp"))
    sources += [ROOT / f"bench/harness/{name}.cpp" for name in HARNESS]
    grader = ROOT / "bench/exercises/grader.cpp"
    objects = out / "objects"
    objects.mkdir(parents=True)
    links = cache / "include"  # of the system's headers those that know no target
    links.mkdir(exist_ok=True)
    for name in ("fmt", "nlohmann"):
        if not (links / name).is_symlink():
            (links / name).symlink_to(f"/usr/include/{name}")

    def compile_one(source: Path) -> str:
        target = objects / f"{source.parent.name}_{source.stem}.o"
        clang(
            "-O2", "-DFMT_HEADER_ONLY", "-isystem", str(links), "-c", str(source), "-o", str(target)
        )
        return str(target)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        of_grader, *compiled = pool.map(compile_one, [grader, *sources])
    folder = out / "lib"
    folder.mkdir()
    shutil.copy(of_grader, folder / "grader.o")
    subprocess.run([LINKER, "-r", "-o", str(folder / "runtime.o"), *compiled], check=True)
    for library in LIBRARIES:
        shutil.copy(library, folder)
    shutil.rmtree(objects)


def headers_of_compiler(folder: Path) -> dict[str, str]:
    """{name: text} of its own: stddef.h and such. The files of its package stand one behind the
    other, and its script says where."""
    content = (folder / "Compiler.data").read_bytes()
    entry = r'filename:"/lib/clang/23/include/([^"]+)",start:(\d+),end:(\d+)'
    places = re.findall(entry, (folder / "Compiler.js").read_text())
    return {name: content[int(start) : int(end)].decode() for name, start, end in places}


def headers(includes: list[str], of_compiler: dict[str, str]) -> dict[str, str]:
    """{path below /lab: text} of all that these headers of the project include."""
    text = "".join(f'#include "{name}"\n' for name in includes)
    found = {}
    for name in clang("-M", "-x", "c++", "-", text=text).replace("\\\n", " ").split()[1:]:
        if name == "-":
            continue
        if "/lib/clang/" in name:
            own = name.partition("/include/")[2]
            found[f"clang/{own}"] = of_compiler[own]
            continue
        path = (ROOT / name).resolve()
        if path.is_relative_to(ROOT):
            target = f"project/{path.relative_to(ROOT)}"
        elif "/c++/v1/" in name:
            target = f"c++/{re.sub('.*/c[+][+]/v1/', '', name)}"
        else:
            target = f"c/{name.split('/wasm32-wasi/')[1]}"
        found[target] = path.read_text()
    return found


def fetch(requirement: str, below: str, files: dict[str, str], folder: Path, cache: Path) -> None:
    """Files of a package, `below` a part of its path, into `folder`. Its wheel comes to `cache`,
    where it stays. Raises BuildError for other bytes than those that were looked at."""
    name = requirement.partition("==")[0].replace("-", "_")
    if not list(cache.glob(f"{name}-*.whl")):
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        if subprocess.run([*pip, "--dest", str(cache), requirement]).returncode:
            raise BuildError(f"pip cannot download {requirement}")
    with zipfile.ZipFile(next(cache.glob(f"{name}-*.whl"))) as wheel:
        names = {path.partition(below)[2]: path for path in wheel.namelist()}
        for file, expected in files.items():
            content = wheel.read(names[file]) if file in names else b""
            if hashlib.sha256(content).hexdigest() != expected:
                raise BuildError(f"{requirement}: {file} is not the file that is pinned here")
            target = folder / file
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)


def stage_parts(name: str) -> dict:
    """What a page has to know of a stage: its two files, and what CMake makes of its entry in the
    manifest."""
    entries = json.loads((ROOT / "stages/manifest.json").read_text())["stages"]
    [entry] = [entry for entry in entries if entry["name"] == name]
    features = entry["needs"]["features"]
    epilogue = f"harness::bias_and(Activation::{entry.get('epilogue', '').upper()})"
    values = {
        "name": name,
        "compute_capability": str(entry["needs"]["compute_capability"]),
        "no_other": str("wgmma" in features).lower(),
        "aligned_rows": str(entry["aligned_rows"]).lower(),
        "tensor_cores": str("tensor_cores" in features).lower(),
        "reference": entry.get("reference", "cublas").upper(),
        "sums": entry.get("sums", "fp32").upper(),
        "epilogue": epilogue if "epilogue" in entry else "std::nullopt",
        "any_layout": str(entry.get("any_layout", False)).lower(),
        "groups": str(entry.get("groups", False)).lower(),
    }
    template = (ROOT / "cmake/stage.h.in").read_text()
    main = (ROOT / f"stages/{name}.cu").read_text()
    return {
        "header": re.sub(r"@(\w+)@", lambda word: values[word[1]], template),
        "main": main,
        "kernel": (ROOT / f"kernels/{name}.cuh").read_text(),
        # Behind argc and argv stand what launchers choose by themselves.
        "variants": re.findall(r'\{"(\w+)",', main.partition("argc, argv")[0]),
    }


def precompile(out: Path) -> None:
    try:
        done = subprocess.run(
            ["node", ROOT / "lab/precompile.mjs", out], capture_output=True, text=True
        )
    except FileNotFoundError:
        raise BuildError("there is no node: lab/README.md says what is needed") from None
    if done.returncode:
        raise BuildError(f"lab/precompile.mjs: {done.stderr}")


def pack(out: Path) -> None:
    """Compresses what is large, for any server: the worker expands it. But the compiler itself has
    to come as it is, or a browser does not keep its machine code. Then writes parts.json: what
    there is to load, with its bytes and its version."""
    large = [p for p in out.rglob("*") if p.suffix in {".a", ".o", ".pch"}]
    for path in [*large, out / "headers.json"]:
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))
        path.unlink()
    parts = {}
    for path in sorted([*out.rglob("*.gz"), *out.rglob("*.wasm")]):
        content = path.read_bytes()
        version = hashlib.sha256(content).hexdigest()[:16]
        parts[path.relative_to(out).as_posix()] = {"bytes": len(content), "version": version}
    (out / "parts.json").write_text(json.dumps(parts))


def build(out: Path, cache: Path) -> None:
    """Fills the empty folder `out`. `cache` keeps the packages."""
    cache.mkdir(parents=True, exist_ok=True)
    fetch(COMPILER_PACKAGE, "static/compiler/", COMPILER, out / "compiler", cache)
    fetch(EDITOR_PACKAGE, "codemirror/dist/", EDITOR, out / "editor", cache)
    fetch(EDITOR_PACKAGE, "dist-info/licenses/", EDITOR_LICENSE, out / "editor", cache)
    build_runtime(out, cache)
    mains = "".join((ROOT / f"stages/{name}.cu").read_text() for name in manifest.load())
    included = INCLUDED + sorted(set(re.findall(r'"([\w/]+\.c?u?h)"', mains)) - {"stage.h"})
    texts = headers(included, headers_of_compiler(out / "compiler"))
    texts |= {f"project/{NO_HEADER}": (ROOT / NO_HEADER).read_text()}
    (out / "headers.json").write_text(json.dumps(texts))
    (out / "compiler/Compiler.data").unlink()
    precompile(out)
    pack(out)
    (out / "stages").mkdir()
    for name in manifest.load():
        (out / f"stages/{name}.json").write_text(json.dumps(stage_parts(name)))
    (out / "exercises").mkdir()
    for exercise in catalogue.all_exercises():
        known = json.dumps(exercises.exercise_json(exercise))
        (out / f"exercises/{exercise.name}.json").write_text(known)
    (out / "grader.json").write_text(json.dumps(exercises.words()))
    for script in (*ROOT.glob("lab/*.mjs"), ROOT / "lab/open.js", ROOT / "lab/lab.css"):
        shutil.copy(script, out)


def main() -> int:
    if len(sys.argv) != 3:
        print("write lab/build.py FOLDER CACHE", file=sys.stderr)
        return 2
    try:
        build(*(Path(folder).resolve() for folder in sys.argv[1:]))
    except BuildError as error:
        print(f"lab/build.py: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
