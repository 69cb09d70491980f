// Compiles and runs beside the page, which stays free. One message in: {kind, source, files, runs},
// where kind is one of compile.mjs, and runs has the arguments of each run; one out: {runs: [{code,
// out, error, file}], state, compileMilliseconds, runMilliseconds}, or {refused} with what the compiler
// says, or {error}. Before it, some of {doing, share}: what is being done, and how much of it is done.
import { CompileError, loadCompiler } from "./compile.mjs";
import { run } from "./engine.mjs";

const LIBRARIES = ["runtime.o", "grader.o", "libc++.a", "libc++abi.a", "libc.a", "libclang_rt.builtins-wasm32.a"];
const FILES = ["compiler/Compiler.wasm", "compiler/Compiler.data", "headers.json", ...LIBRARIES.map((name) => `lib/${name}`)];
const say = (doing, share) => self.postMessage({ doing, share });

let headers;

// The bytes of files, which the site has compressed.
async function bytesOf(names) {
  const answers = await Promise.all(names.map((name) => fetch(new URL(`${name}.gz`, import.meta.url))));
  const missing = answers.find((answer) => !answer.ok);
  if (missing !== undefined) throw new Error(`${missing.url}: ${missing.status}`);
  const total = answers.reduce((sum, answer) => sum + Number(answer.headers.get("content-length")), 0);
  let got = 0;
  const counted = () => new TransformStream({
    transform(chunk, next) {
      got += chunk.length;
      say("loading", total > 0 ? Math.min(got / total, 1) : undefined);
      next.enqueue(chunk);
    },
  });
  return Promise.all(answers.map((answer) => new Response(answer.body.pipeThrough(counted()).pipeThrough(new DecompressionStream("gzip"))).arrayBuffer()));
}

async function load() {
  const [create, [wasm, compilerData, text, ...libraries]] = await Promise.all([import("./compiler/Compiler.js"), bytesOf(FILES)]);
  headers = JSON.parse(new TextDecoder().decode(text));
  const runtime = Object.fromEntries(LIBRARIES.map((name, i) => [name, new Uint8Array(libraries[i])]));
  say("starting");
  return loadCompiler(create.default, { wasm, data: compilerData }, headers, runtime);
}

// Begins with the worker: a page that starts its worker early has the compiler ready at the first Run.
const loading = load();

self.onmessage = async ({ data: { kind = "stage", source, files = {}, runs } }) => {
  try {
    const compile = await loading;
    say("compiling");
    const begin = performance.now();
    const made = compile(kind, source, files);
    const compiled = performance.now();
    say("running");
    const textOf = (file) => files[file.replace(/^\/lab\/run\//, "")] ?? headers[file.replace(/^\/lab\//, "")] ?? (file === "/lab/run/kernel.cpp" ? source : undefined);
    const ended = [];
    for (const words of runs) ended.push(await run(made, words, textOf));
    self.postMessage({ runs: ended, state: made.state, compileMilliseconds: compiled - begin, runMilliseconds: performance.now() - compiled });
  } catch (error) {
    if (error instanceof CompileError) return self.postMessage({ refused: error.message });
    console.error(error);
    self.postMessage({ error: String(error) });
  }
};
