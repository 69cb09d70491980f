"""Builds what the lab's page loads: the CPU device for WebAssembly, headers, and the compiler."""

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

# Clang 23 for WebAssembly, with its licences. Never committed: 132 MB.
PACKAGE = "llvm-explorer==0.11.0"
COMPILER = {
    "Compiler.js": "97fcbfb779813deb4ca6dc36f5550226507f8be53d8b1c0cd87e1820a4ce53b4",
    "Compiler.wasm": "15c16d146e8caf71e60b19f4703984f948f1d46a453664d3f982047b16be116d",
    "Compiler.data": "6acf560c2a76ea615c37b89622385d245044250a30ffd4bf0b951e2539ed8d46",
    "licenses/Emscripten.txt": "620a78084fc7ca97c0b5dea9abf891f3ffcadfdbf305276f099c9c4e12fc1d86",
    "licenses/LLVM.txt": "8d85c1057d742e597985c7d4e6320b015a9139385cff4cbae06ffc0ebe89afee",
    "licenses/WasmBolt.txt": "dc1a8973adfebad020593ed6f0048174b255240626f12ef9d5cb0d9935a4455e",
}

# Debian's: clang-19 lld-19 libc++-19-dev-wasm32 libclang-rt-19-dev-wasm32 wasi-libc
CLANG, LINKER = "clang++-19", "wasm-ld-19"
LIBRARIES = [
    "/usr/lib/llvm-19/lib/wasm32-wasi/libc++.a",
    "/usr/lib/llvm-19/lib/wasm32-wasi/libc++abi.a",
    "/usr/lib/wasm32-wasi/libc.a",
    "/usr/lib/llvm-19/lib/clang/19/lib/wasi/libclang_rt.builtins-wasm32.a",
]
INCLUDE = ["lab/include", "cpu_device/include", ".", "bench", "kernels"]

# What lab/ has in another way, and the part of the harness that needs no command line.
REPLACED = {"fiber.cpp", "signals.cpp", "symbols.cpp"}
HARNESS = ["cpu", "epilogue", "epilogue_data", "json", "peak", "problem", "report"]
HARNESS += ["schedule", "statistics", "table", "verify"]


class BuildError(Exception):
    """One line."""


def clang(*arguments: str, text: str = "") -> str:
    """Its output. `text` is its input."""
    command = [CLANG, "--target=wasm32-wasi", "-std=c++17", "-fexceptions"]
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


def build_runtime(out: Path, libraries: Path) -> None:
    """The CPU device, the harness and the C++ library, as the files that the page links.
    `libraries` has fmt and nlohmann, which know no target."""
    sources = [p for p in sorted(ROOT.glob("cpu_device/*.cpp")) if p.name not in REPLACED]
    sources += sorted(ROOT.glob("lab/*.cpp"))
    sources += [ROOT / f"bench/harness/{name}.cpp" for name in HARNESS]
    objects = out / "objects"
    objects.mkdir(parents=True)
    links = objects / "include"
    links.mkdir()
    for name in ("fmt", "nlohmann"):
        (links / name).symlink_to(libraries / name)

    def compile_one(source: Path) -> str:
        target = objects / f"{source.parent.name}_{source.stem}.o"
        clang(
            "-O2", "-DFMT_HEADER_ONLY", "-isystem", str(links), "-c", str(source), "-o", str(target)
        )
        return str(target)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        compiled = list(pool.map(compile_one, sources))
    folder = out / "lib"
    folder.mkdir()
    subprocess.run([LINKER, "-r", "-o", str(folder / "runtime.o"), *compiled], check=True)
    for library in LIBRARIES:
        shutil.copy(library, folder)
    shutil.rmtree(objects)


def headers(includes: list[str]) -> dict[str, str]:
    """{path below /lab: text} of all that these headers of the project include. The compiler in the
    page has its own: stddef.h and such."""
    text = "".join(f'#include "{name}"\n' for name in includes)
    found = {}
    for name in clang("-M", "-x", "c++", "-", text=text).replace("\\\n", " ").split()[1:]:
        if name == "-" or "/lib/clang/" in name:
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


def unpack_compiler(out: Path, wheel: Path) -> None:
    """Raises BuildError for other bytes than those that were looked at."""
    with zipfile.ZipFile(wheel) as package:
        names = {name.partition("/static/compiler/")[2]: name for name in package.namelist()}
        for name, expected in COMPILER.items():
            content = package.read(names[name]) if name in names else b""
            if hashlib.sha256(content).hexdigest() != expected:
                raise BuildError(f"{PACKAGE}: {name} is not the file that is pinned here")
            target = out / "compiler" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)


def fetch_compiler(folder: Path) -> Path:
    """The package's wheel, downloaded to `folder` unless it is there."""
    if not list(folder.glob("llvm_explorer-*.whl")):
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        if subprocess.run([*pip, "--dest", str(folder), PACKAGE]).returncode:
            raise BuildError(f"pip cannot download {PACKAGE}")
    return next(folder.glob("llvm_explorer-*.whl"))


def build(out: Path, cache: Path, includes: list[str]) -> None:
    """Fills the empty folder `out`. `cache` keeps the compiler's package."""
    cache.mkdir(parents=True, exist_ok=True)
    unpack_compiler(out, fetch_compiler(cache))
    build_runtime(out, Path("/usr/include"))
    (out / "headers.json").write_text(json.dumps(headers(includes)))
    for script in sorted(ROOT.glob("lab/*.mjs")):
        shutil.copy(script, out)


# Of the first stages.
INCLUDES = ["bench/harness/harness.h", "kernels/03_transposed_b.cuh"]
INCLUDES += ["kernels/01_naive.cuh", "kernels/02_smem_tiled.cuh"]
INCLUDES += ["kernels/04_register_blocked.cuh", "kernels/05_cp_async.cuh"]


def main() -> int:
    if len(sys.argv) != 3:
        print("write lab/build.py FOLDER CACHE", file=sys.stderr)
        return 2
    try:
        build(Path(sys.argv[1]), Path(sys.argv[2]), INCLUDES)
    except BuildError as error:
        print(f"lab/build.py: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
