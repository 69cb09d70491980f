// The compiler in the page: C++ to a WebAssembly module that engine.mjs runs. Works in a worker.
import { instrument } from "./instrument.mjs";

const FLAGS = [
  "-std=c++17", "--target=wasm32-wasi", "-nostdinc", "-nostdlibinc", "-resource-dir=/lib/clang/23",
  "-I/lab/run", "-I/lab/project/lab/include", "-I/lab/project/cpu_device/include", "-I/lab/project", "-I/lab/project/bench", "-I/lab/project/kernels", "-I/lab/project/bench/exercises",
  "-isystem /lab/c++", "-isystem /lib/clang/23/include", "-isystem /lab/c",
];
// As cpu_device/CMakeLists.txt compiles kernels for the CPU; the pass that adds calls for accesses is
// asked for behind the driver, which has none for this target.
const KERNEL = [
  "-O1", "-g1", "-fexceptions", "-fno-strict-aliasing", "-fno-elide-constructors", "-fno-finite-loops", "-w",
  "-Xclang -fsanitize=thread,array-bounds -Xclang -fsanitize-recover=array-bounds", "-mllvm -tsan-instrument-func-entry-exit=0", "-fsanitize-coverage=trace-pc,no-prune",
];
// By kind of program: what each includes, and nobody edits, and what it is linked with beside the
// device. Such headers are parsed once, by the same flags, and kept as a precompiled header: parsing
// is most of what a compilation takes.
const KINDS = {
  stage: { common: '#include "harness/harness.h"\n#include "launch.cuh"\n', objects: [] },
  exercise: { common: '#include "exercises/exercise.h"\n#include "exercises/grader.h"\n', objects: ["grader.o"] },
};
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
  const precompiled = new Set();
  const precompile = (kind) => {
    const header = `/lab/${kind}.pch`;
    if (precompiled.has(kind)) return header;
    write(`/lab/${kind}.h`, KINDS[kind].common);
    run(`clang++ ${FLAGS.join(" ")} ${KERNEL.join(" ")} -x c++-header /lab/${kind}.h -o ${header}`);
    precompiled.add(kind);
    return header;
  };

  // Of one file of C++, which may include the project's headers and `files`, {name: text}: {module,
  // chains, state}. Throws CompileError.
  return function compile(kind, source, files) {
    const header = precompile(kind);
    for (const [name, text] of Object.entries(files)) write(`/lab/run/${name}`, text);
    write("/lab/run/kernel.cpp", source);
    run(`clang++ ${FLAGS.join(" ")} ${KERNEL.join(" ")} -include-pch ${header} -S -emit-llvm /lab/run/kernel.cpp -o /lab/run/kernel.ll`);
    const { text, chains, state } = instrument(module.FS.readFile("/lab/run/kernel.ll", { encoding: "utf8" }));
    write("/lab/run/numbered.ll", text);
    run("clang++ --target=wasm32-wasi -O1 -g0 -w -Xclang -disable-llvm-passes -c /lab/run/numbered.ll -o /lab/run/kernel.o");
    const archives = Object.keys(runtime).filter((name) => name.endsWith(".a"));
    const [device, others, libraries] = [["runtime.o"], KINDS[kind].objects, archives].map((names) => names.map((name) => `/lab/lib/${name}`).join(" "));
    // The kernel last: of a template that the device has, too, its copy without calls is taken.
    run(`wasm-ld ${device} /lab/run/kernel.o ${others} ${libraries} --no-entry --export=__stack_pointer --export=malloc -z stack-size=1048576 -o /lab/run/kernel.wasm`);
    return { module: module.FS.readFile("/lab/run/kernel.wasm"), chains, state };
  };
}
