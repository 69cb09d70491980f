// Compiles and runs beside the page, which stays free. One message in: {source, files, arguments};
// one out: {code, out, error, compileMilliseconds, runMilliseconds}, or {refused} with what the compiler says.
import { CompileError, loadCompiler } from "./compile.mjs";
import { run } from "./engine.mjs";

let headers;

async function load() {
  const get = async (name) => {
    const answer = await fetch(new URL(name, import.meta.url));
    if (!answer.ok) throw new Error(`${name}: ${answer.status}`);
    return answer;
  };
  const bytes = async (name) => (await get(name)).arrayBuffer();
  const libraries = ["runtime.o", "libc++.a", "libc++abi.a", "libc.a", "libclang_rt.builtins-wasm32.a"];
  const [create, wasm, data, text, ...contents] = await Promise.all([
    import("./compiler/Compiler.js"), bytes("compiler/Compiler.wasm"), bytes("compiler/Compiler.data"),
    get("headers.json").then((answer) => answer.json()), ...libraries.map((name) => bytes(`lib/${name}`)),
  ]);
  headers = text;
  const runtime = Object.fromEntries(libraries.map((name, i) => [name, new Uint8Array(contents[i])]));
  return loadCompiler(create.default, { wasm, data }, headers, runtime);
}

// Begins with the worker: a page that starts its worker early has the compiler ready at the first Run.
const loading = load();

self.onmessage = async ({ data: { source, files = {}, arguments: words } }) => {
  try {
    const compile = await loading;
    const begin = performance.now();
    const made = compile(source, files);
    const compiled = performance.now();
    const textOf = (file) => files[file.replace(/^\/lab\/run\//, "")] ?? headers[file.replace(/^\/lab\//, "")] ?? (file === "/lab/run/kernel.cpp" ? source : undefined);
    const result = await run(made, words, textOf);
    self.postMessage({ ...result, compileMilliseconds: compiled - begin, runMilliseconds: performance.now() - compiled });
  } catch (error) {
    self.postMessage(error instanceof CompileError ? { refused: error.message } : { error: String(error?.stack ?? error) });
  }
};
