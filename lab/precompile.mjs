// node precompile.mjs FOLDER: writes the precompiled headers beside what lab/build.py has put there.
import { copyFileSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { KINDS, loadCompiler } from "./compile.mjs";

if (Number(process.versions.node.split(".")[0]) < 20) setFlagsFromString("--experimental-wasm-return-call"); // calls that do not return

const folder = process.argv[2];
const script = `${folder}/compiler/Compiler.mjs`; // as .js it is no module for Node 18
copyFileSync(`${folder}/compiler/Compiler.js`, script);
const create = (await import(script)).default;
rmSync(script);
const wasm = await WebAssembly.compile(readFileSync(`${folder}/compiler/Compiler.wasm`));
const compiler = await loadCompiler(create, wasm, JSON.parse(readFileSync(`${folder}/headers.json`)));
for (const kind of Object.keys(KINDS)) writeFileSync(`${folder}/${kind}.pch`, compiler.precompile(kind));
