// Compiles and runs beside the page, which stays free. One message in: {kind, source, files, runs},
// where kind is one of compile.mjs, and runs has the arguments of each run; one out: {runs: [{code,
// out, error, file}], state, shared, compileMilliseconds, runMilliseconds}, or {refused} with what the compiler
// says, or {error}. Before it, some of {doing, share}: what is being done, and how much of it is done.
// With `keep` the program is kept for when it is asked for again. A message without `runs` makes the
// compiler ready, and a program to keep, where the browser has the compiler in its cache.
import { CompileError, filesOf, loadCompiler } from "./compile.mjs";
import { run } from "./engine.mjs";

const COMPILER = "compiler/Compiler.wasm";
const say = (doing, share) => self.postMessage({ doing, share });
const parts = fetch(new URL("parts.json", import.meta.url)).then((answer) => answer.json());
// What has a version never changes.
const get = async (name, cache) => fetch(new URL(`${name}?${(await parts)[name].version}`, import.meta.url), { cache, mode: "same-origin" });

let headers;

// The bytes of files, as the site has them.
async function download(names) {
  const total = (await Promise.all(names.map(async (name) => (await parts)[name].bytes))).reduce((sum, bytes) => sum + bytes);
  let got = 0;
  return Promise.all(names.map(async (name) => {
    const answer = await get(name, "force-cache");
    if (!answer.ok) throw new Error(`${answer.url}: ${answer.status}`);
    const counted = new TransformStream({
      transform(chunk, next) {
        got += chunk.length;
        say("loading", Math.min(got / total, 1));
        next.enqueue(chunk);
      },
    });
    const stream = answer.body.pipeThrough(counted);
    return new Response(name.endsWith(".gz") ? stream.pipeThrough(new DecompressionStream("gzip")) : stream).arrayBuffer();
  }));
}

// Chromium keeps the machine code of a module that it compiles from its cache. Rejects where that has
// none.
const compiledFromCache = () => WebAssembly.compileStreaming(get(COMPILER, "only-if-cached"));

async function load(kind) {
  const names = ["headers.json", ...filesOf(kind)];
  let wasm = await compiledFromCache().catch(() => undefined);
  const [create, contents] = await Promise.all([import("./compiler/Compiler.js"), download([...names.map((name) => `${name}.gz`), ...(wasm === undefined ? [COMPILER] : [])])]);
  say("starting");
  const [text, ...others] = contents;
  wasm ??= await compiledFromCache().catch(() => WebAssembly.compile(others.pop()));
  headers = JSON.parse(new TextDecoder().decode(text));
  const files = Object.fromEntries(filesOf(kind).map((name, i) => [name, new Uint8Array(others[i])]));
  return loadCompiler(create.default, wasm, { ...headers, ...files });
}

// A page has programs of one kind.
let loading;
const compilerOf = (kind) => (loading ??= load(kind));

const kept = new Map(); // what the compiler has made, by what it was made of

async function programOf({ kind, source, files, keep }) {
  const compiler = await compilerOf(kind);
  const text = JSON.stringify([source, files]);
  if (kept.has(text)) return kept.get(text);
  say("compiling");
  const made = compiler.compile(kind, source, files);
  if (keep) kept.set(text, made);
  return made;
}

self.onmessage = async ({ data: { kind = "stage", source, files = {}, keep = false, runs } }) => {
  try {
    if (runs === undefined) {
      if (!(await get(COMPILER, "only-if-cached").catch(() => undefined))?.ok) return;
      if (source === undefined) await compilerOf(kind);
      else await programOf({ kind, source, files, keep });
      return;
    }
    const begin = performance.now();
    const made = await programOf({ kind, source, files, keep });
    const compiled = performance.now();
    say("running");
    const textOf = (file) => files[file.replace(/^\/lab\/run\//, "")] ?? headers[file.replace(/^\/lab\//, "")] ?? (file === "/lab/run/kernel.cpp" ? source : undefined);
    const ended = [];
    for (const words of runs) ended.push(await run(made, words, textOf));
    self.postMessage({ runs: ended, state: made.state, shared: made.shared, compileMilliseconds: compiled - begin, runMilliseconds: performance.now() - compiled });
  } catch (error) {
    if (error instanceof CompileError) return self.postMessage({ refused: error.message });
    console.error(error);
    self.postMessage({ error: String(error) });
  }
};
