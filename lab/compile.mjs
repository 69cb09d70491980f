// The compiler in the page: C++ to a WebAssembly module that engine.mjs runs. Works in a worker.
import { instrument } from "./instrument.mjs";

const FLAGS = [
  "-std=c++17", "--target=wasm32-wasi", "-nostdinc", "-nostdlibinc", "-resource-dir=/lib/clang/23",
  "-I/lab/run", "-I/lab/project/lab/include", "-I/lab/project/cpu_device/include", "-I/lab/project", "-I/lab/project/bench", "-I/lab/project/kernels",
  "-isystem /lab/c++", "-isystem /lib/clang/23/include", "-isystem /lab/c",
];
// As cpu_device/CMakeLists.txt compiles kernels for the CPU; the pass that adds calls for accesses is
// asked for behind the driver, which has none for this target.
const KERNEL = [
  "-O1", "-g1", "-fexceptions", "-fno-strict-aliasing", "-fno-elide-constructors", "-fno-finite-loops", "-w",
  "-Xclang -fsanitize=thread", "-mllvm -tsan-instrument-func-entry-exit=0", "-fsanitize-coverage=trace-pc,no-prune",
];
// What every stage includes, and nobody edits: parsed once, by the same flags, and kept as a
// precompiled header. Parsing it is most of what a compilation takes.
const COMMON = '#include "harness/harness.h"\n#include "launch.cuh"\n';
const PRECOMPILED = "/lab/common.pch";
export class CompileError extends Error {}

// `create` is Compiler.js's function, `wasm` and `data` the bytes of the files beside it; `headers`:
// {path below /lab: text}; `runtime`: {name: bytes} of what is linked, runtime.o first.
export async function loadCompiler(create, { wasm, data }, headers, runtime) {
  let errors = [];
  const module = await create({
    wasmBinary: new Uint8Array(wasm),
    getPreloadedPackage: () => data,
    stdout: () => {},
    stderr: (byte) => errors.push(byte),
  });
  const write = (path, content) => {
    module.FS.mkdirTree(path.slice(0, path.lastIndexOf("/")));
    module.FS.writeFile(path, content);
  };
  for (const [path, text] of Object.entries(headers)) write(`/lab/${path}`, text);
  for (const [name, bytes] of Object.entries(runtime)) write(`/lab/lib/${name}`, bytes);
  const run = (command) => {
    errors = [];
    if (module.ccall("run_command", "number", ["string"], [command]) !== 0)
      throw new CompileError(new TextDecoder().decode(Uint8Array.from(errors)));
  };
  write("/lab/common.h", COMMON);
  run(`clang++ ${FLAGS.join(" ")} ${KERNEL.join(" ")} -x c++-header /lab/common.h -o ${PRECOMPILED}`);

  // Of one file of C++, which may include the project's headers and `files`, {name: text}: {module,
  // chains}. Throws CompileError.
  return function compile(source, files) {
    for (const [name, text] of Object.entries(files)) write(`/lab/run/${name}`, text);
    write("/lab/run/kernel.cpp", source);
    run(`clang++ ${FLAGS.join(" ")} ${KERNEL.join(" ")} -include-pch ${PRECOMPILED} -S -emit-llvm /lab/run/kernel.cpp -o /lab/run/kernel.ll`);
    const { text, chains } = instrument(module.FS.readFile("/lab/run/kernel.ll", { encoding: "utf8" }));
    write("/lab/run/numbered.ll", text);
    run("clang++ --target=wasm32-wasi -O1 -g0 -w -Xclang -disable-llvm-passes -c /lab/run/numbered.ll -o /lab/run/kernel.o");
    const libraries = Object.keys(runtime).map((name) => `/lab/lib/${name}`);
    // The kernel last: of a template that the device has, too, its copy without calls is taken.
    run(`wasm-ld ${libraries[0]} /lab/run/kernel.o ${libraries.slice(1).join(" ")} --no-entry --export=__stack_pointer --export=malloc -z stack-size=1048576 -o /lab/run/kernel.wasm`);
    return { module: module.FS.readFile("/lab/run/kernel.wasm"), chains };
  };
}
