// The compiler in the page: C++ to a WebAssembly module that engine.mjs runs. Works in a worker, and
// under Node for what precompile.mjs makes.
import { instrument } from "./instrument.mjs";

const FLAGS = [
  "-std=c++17", "--target=wasm32-wasi", "-nostdinc", "-nostdlibinc", "-resource-dir=/lib/clang/23",
  "-I/lab/run", "-I/lab/project/lab/include", "-I/lab/project/cpu_device/include", "-I/lab/project", "-I/lab/project/bench", "-I/lab/project/kernels", "-I/lab/project/bench/exercises",
  "-isystem /lab/c++", "-isystem /lab/clang", "-isystem /lab/c",
];
// As cpu_device/CMakeLists.txt compiles kernels for the CPU; the pass that adds calls for accesses is
// asked for behind the driver, which has none for this target. g++ makes no memcpy of a loop at -O1.
const KERNEL = [
  "-O1", "-g1", "-fexceptions", "-fno-strict-aliasing", "-fno-elide-constructors", "-fno-finite-loops", "-w",
  "-Xclang -fsanitize=thread,array-bounds -Xclang -fsanitize-recover=array-bounds", "-mllvm -tsan-instrument-func-entry-exit=0 -mllvm -tsan-instrument-atomics=0", "-mllvm -disable-loop-idiom-all", "-fsanitize-coverage=trace-pc,no-prune",
];
// By kind of program: what each includes, and nobody edits, and what it is linked with beside the
// device. Such headers are parsed once, by the same flags, when the site is built, and kept as a
// precompiled header: parsing is most of what a compilation takes.
export const KINDS = {
  stage: { common: '#include "harness/harness.h"\n#include "launch.cuh"\n', objects: [] },
  exercise: { common: '#include "exercises/exercise.h"\n#include "exercises/grader.h"\n', objects: ["grader.o"] },
};
const ARCHIVES = ["libc++.a", "libc++abi.a", "libc.a", "libclang_rt.builtins-wasm32.a"];
// What KIND needs below /lab beside the headers.
export const filesOf = (kind) => [`${kind}.pch`, ...["runtime.o", ...KINDS[kind].objects, ...ARCHIVES].map((name) => `lib/${name}`)];
export class CompileError extends Error {}

// `create` is Compiler.js's function, `wasm` the module beside it; `files` what is below /lab: {path:
// text or bytes}.
export async function loadCompiler(create, wasm, files) {
  let errors = [];
  const module = await create({
    instantiateWasm: (imports, done) => {
      WebAssembly.instantiate(wasm, imports).then((instance) => done(instance, wasm));
      return {};
    },
    getPreloadedPackage: (_, bytes) => new ArrayBuffer(bytes), // headers of many libraries: none is needed
    stdout: () => {},
    stderr: (byte) => errors.push(byte),
  });
  const write = (path, content) => {
    module.FS.mkdirTree(path.slice(0, path.lastIndexOf("/")));
    module.FS.writeFile(path, content);
  };
  for (const [path, content] of Object.entries(files)) write(`/lab/${path}`, content);
  for (const [kind, { common }] of Object.entries(KINDS)) write(`/lab/${kind}.h`, common);
  const run = (command) => {
    errors = [];
    if (module.ccall("run_command", "number", ["string"], [command]) !== 0)
      throw new CompileError(new TextDecoder().decode(Uint8Array.from(errors)));
  };
  return {
    // The bytes of KIND.pch: with what the headers instantiate, which each compilation would do again, and
    // without the time when they were written.
    precompile(kind) {
      run(`clang++ ${FLAGS.join(" ")} ${KERNEL.join(" ")} -fpch-instantiate-templates -Xclang -fno-pch-timestamp -x c++-header /lab/${kind}.h -o /lab/${kind}.pch`);
      return module.FS.readFile(`/lab/${kind}.pch`);
    },
    // Of one file of C++, which may include the project's headers and `files`, {name: text}: {module,
    // chains, state, shared}. Throws CompileError.
    compile(kind, source, files) {
      for (const [name, text] of Object.entries(files)) {
        write(`/lab/run/${name}`, text);
        const shipped = `/lab/project/kernels/${name}`; // which another header may include: the reader's it shall be
        if (module.FS.analyzePath(shipped).exists) module.FS.unlink(shipped);
      }
      write("/lab/run/kernel.cpp", source);
      run(`clang++ ${FLAGS.join(" ")} ${KERNEL.join(" ")} -include-pch /lab/${kind}.pch -S -emit-llvm /lab/run/kernel.cpp -o /lab/run/kernel.ll`);
      const { text, ...known } = instrument(module.FS.readFile("/lab/run/kernel.ll", { encoding: "utf8" }));
      write("/lab/run/numbered.ll", text);
      run("clang++ --target=wasm32-wasi -O1 -g0 -w -Xclang -disable-llvm-passes -c /lab/run/numbered.ll -o /lab/run/kernel.o");
      // The kernel last: of a template that the device has, too, its copy without calls is taken.
      const [, runtime, ...others] = filesOf(kind);
      run(`wasm-ld ${[runtime, "run/kernel.o", ...others].map((name) => `/lab/${name}`).join(" ")} --no-entry --export=__stack_pointer --export=malloc -z stack-size=1048576 -o /lab/run/kernel.wasm`);
      return { module: module.FS.readFile("/lab/run/kernel.wasm"), ...known };
    },
  };
}
