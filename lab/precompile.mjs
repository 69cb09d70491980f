// node precompile.mjs FOLDER: writes the precompiled headers beside what lab/build.py has put there.
import { readFileSync, writeFileSync } from "node:fs";
import { KINDS, loadCompiler } from "./compile.mjs";

const folder = process.argv[2];
const create = (await import(`${folder}/compiler/Compiler.js`)).default;
const wasm = await WebAssembly.compile(readFileSync(`${folder}/compiler/Compiler.wasm`));
const compiler = await loadCompiler(create, wasm, JSON.parse(readFileSync(`${folder}/headers.json`)));
for (const kind of Object.keys(KINDS)) writeFileSync(`${folder}/${kind}.pch`, compiler.precompile(kind));
