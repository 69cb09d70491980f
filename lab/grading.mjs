// Grades a solution in the page, as scripts/ladder/exercises/grading.py does at the terminal.
import { ask } from "./client.mjs";
import { DRAWN, judge, judgeAnswer } from "./judging.mjs";
import { refusal } from "./refusals.mjs";

// The names of a program's solutions, and of their files.
const FILES = { yours: "exercise.cuh", solution: "solution.cuh" };

// The program of one of them, for the worker.
function program(exercise, name, text) {
  const source = `#include "exercises/exercise.h"\n#include "exercises/grader.h"\n#define SOLUTION ${name}\n#define SOLUTION_FILE "${FILES[name]}"\n#define CHECK_FILE "check.cpp"\n#include "exercises/solution.inc"\n`;
  return { kind: "exercise", source, files: { [FILES[name]]: text, "check.cpp": exercise.check } };
}

const isCompared = (exercise) => Object.keys(exercise.limits).length > 0;
// The reference, whose costs others are compared with: compiled once.
const reference = (exercise) => ({ ...program(exercise, "solution", exercise.solution), keep: true });
// For client.mjs: what a page's first question will need, and each further one again.
export function needed(exercise) {
  if (exercise.kind === "predict") return { ...program(exercise, "yours", exercise.starter), keep: true };
  return isCompared(exercise) ? reference(exercise) : { kind: "exercise" };
}

const failed = (line, details = []) => ({ ok: false, line, details, more: [], unplaced: "", places: [] });

function refusalIn(words, exercise, text) {
  const refused = refusal(words, text);
  if (refused === "" && text.includes("atomicAdd") && !exercise.solution.includes("atomicAdd")) return "`atomicAdd`: this one is without atomics";
  return refused;
}

// The compiler's errors, those in the solution's own lines alone.
function compileErrors(said, text) {
  const errors = [...said.matchAll(/^(\S+?):(\d+):\d+: (?:fatal )?error: (.*)$/gm)].map(([, file, line, words]) => ({ file, line, words }));
  const own = errors.filter(({ file }) => file.endsWith(`/${FILES.yours}`));
  if (own.length === 0) return `does not compile: are the kernel's name and parameters those of the starter? ${errors[0]?.words ?? said}`;
  const code = text.split("\n");
  const shown = own.slice(0, 3).map(({ line, words }) => `${FILES.yours}:${line}: ${words}\n    ${code[line - 1]?.trim() ?? ""}`);
  return `does not compile: ${shown.join("\n")}`;
}

// The cases that a run reports, what is named before what is drawn; or a text: how it ended instead.
export function casesOf({ code, error, file }) {
  if (code !== 0 || file === "") return `ended with code ${code} before it was graded ${error.trim()}`.trim();
  return JSON.parse(file).cases.sort((a, b) => (a.name === DRAWN) - (b.name === DRAWN));
}

// Asks the worker: the verdict of judging.mjs, or {stopped}. `given`: a kernel's text, or {name:
// number}.
export async function grade(words, exercise, given, seed, onProgress) {
  const isPredict = exercise.kind === "predict";
  const text = isPredict ? exercise.starter : given;
  const refused = isPredict ? "" : refusalIn(words, exercise, text);
  if (refused !== "") return failed(`refused: ${FILES.yours}, ${refused}`);
  const answer = await ask({ ...program(exercise, "yours", text), keep: isPredict, runs: [["yours", String(seed), "/report"]] }, onProgress);
  if (answer.stopped) return answer;
  if (answer.error !== undefined) throw new Error(answer.error);
  if (answer.refused !== undefined) {
    const [first, ...rest] = compileErrors(answer.refused, text).split("\n");
    return failed(first, rest);
  }
  if (answer.state.length > 0) return failed(`refused: \`${answer.state[0]}\` keeps its value between launches`);
  const cases = casesOf(answer.runs[0]);
  if (isPredict) return judgeAnswer(words, exercise, cases, given);
  if (!isCompared(exercise)) return judge(words, exercise, cases, []);
  const beside = await ask({ ...reference(exercise), runs: [["solution", String(seed), "/report", "once"]] }, onProgress);
  if (beside.stopped) return beside;
  if (beside.runs === undefined) throw new Error(beside.error ?? beside.refused);
  return judge(words, exercise, cases, casesOf(beside.runs[0]));
}
