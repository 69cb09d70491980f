// "Solve it here" on the page of an exercise: its starter in an editor, or its questions, and the
// grader's verdict.
import { prepare } from "./client.mjs";
import { makeEditor } from "./editor.mjs";
import { grade, needed } from "./grading.mjs";
import { data, make, runner } from "./here.mjs";
import { exported, keepText, note, progressOf, textOf } from "./progress.mjs";
import { markDone } from "./sidebar.mjs";
import { words } from "./words.mjs";

const FILE = "exercise.cuh";

// What a verdict says of lines of the file, for the editor.
function marksOf(verdict) {
  const said = [verdict.line, ...verdict.details, ...verdict.more.flat()].flatMap((text) => [...text.matchAll(/exercise\.cuh:(\d+): (.*)/g)]);
  return said.map(([, line, text]) => ({ line: Number(line), notes: [], messages: [text] }));
}

function download(name, text) {
  const link = make("a", { href: URL.createObjectURL(new Blob([text])), download: name });
  link.click();
  URL.revokeObjectURL(link.href);
}

// Asks in which lines the bug is, and shows the report when they are right, or when it is asked for.
function riddle(verdict, showReport) {
  const [wanted, ...others] = verdict.places;
  const lines = make("input", { name: "lines" });
  const answer = make("output");
  const form = make("form", { className: "lab-bar" },
    make("label", {}, wanted.length > 1 ? words("In which {} lines? ", wanted.length) : words("In which line? "), lines),
    make("button", { className: "md-button", textContent: words("Answer") }),
    make("button", { className: "md-button", type: "button", textContent: words("Show the report") }), answer);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const said = new Set((lines.value.match(/\d+/g) ?? []).map(Number));
    if (verdict.places.some((place) => place.length === said.size && place.every((line) => said.has(line)))) return showReport();
    const right = [...new Set([wanted, ...others].flat())].filter((line) => said.has(line)).sort((a, b) => a - b);
    answer.value = right.length > 0 ? words("No, but {} is part of it.", right.join(", ")) : words("No.");
  });
  form.querySelector("[type=button]").addEventListener("click", showReport);
  return form;
}

export async function exercisePart(place, name) {
  const [grader, exercise] = await Promise.all([data("grader.json"), data(`exercises/${name}.json`)]);
  prepare(needed(exercise));
  const isPredict = exercise.kind === "predict";
  const answers = Object.keys(exercise.questions).map((question) => make("input", { type: "number", name: question }));
  const code = make("div", { className: "lab-code" });
  const said = make("div", { role: "status" });
  const done = make("span");
  const onChange = () => {
    code.classList.add("lab-old");
    keepText(name, editor.text());
  };
  const editor = isPredict ? undefined : await makeEditor(code, textOf(name) ?? exercise.starter, FILE, onChange);

  const showDone = () => (done.textContent = progressOf(name).done ? words("done") : "");
  const showReport = (verdict) => {
    const report = [`${verdict.ok ? "PASSED" : "NOT YET"}  ${name}: ${verdict.line}`, ...verdict.details.map((line) => `  ${line}`)].join("\n");
    said.replaceChildren(make("pre", { className: "lab-report", tabIndex: 0 }, report));
    if (verdict.more.length > 0) {
      const more = make("pre", { className: "lab-report", tabIndex: 0 }, verdict.more.flat().map((line) => `  ${line}`).join("\n"));
      const count = verdict.more.length === 1 ? words("1 more finding, for when this is mended") : words("{} more findings, for when this is mended", verdict.more.length);
      said.append(make("details", {}, make("summary", {}, count), more));
    }
    if (verdict.ok && !isPredict) said.append(make("details", {}, make("summary", {}, words("The reference")), make("pre", { className: "lab-report", tabIndex: 0 }, exercise.solution)));
    editor?.mark(marksOf(verdict));
    code.classList.remove("lab-old");
  };
  const show = (verdict) => {
    if (verdict.stopped) return said.replaceChildren(words("stopped"));
    if (verdict.ok) note(name, { done: true });
    markDone();
    showDone();
    const known = progressOf(name);
    if (exercise.kind !== "bug" || verdict.places.length === 0 || known.done || known.told) return showReport(verdict);
    editor.mark([]);
    said.replaceChildren(make("pre", { className: "lab-report", tabIndex: 0 }, `NOT YET  ${name}: ${verdict.unplaced}`), riddle(verdict, () => {
      note(name, { told: true });
      showReport(verdict);
    }));
  };
  const given = () => (isPredict ? Object.fromEntries(answers.map((input) => [input.name, input.value === "" ? undefined : Number(input.value)])) : editor.text());
  const seed = () => crypto.getRandomValues(new Uint32Array(1))[0];
  const bar = runner(words("Grade"), (onProgress) => grade(grader, exercise, given(), seed(), onProgress), show);
  if (!isPredict) {
    const again = make("button", { className: "md-button", textContent: words("The starter again") });
    again.addEventListener("click", () => {
      editor.set(exercise.starter);
      editor.mark([]);
    });
    bar.append(again);
  }
  const exportAll = make("button", { className: "md-button", textContent: words("Export my progress") });
  exportAll.addEventListener("click", () => download("progress.json", exported()));
  bar.append(exportAll, done);
  place.replaceChildren(...answers.map((input) => make("div", { className: "lab-bar" }, make("label", {}, `${input.name} `, input))), bar, said, code);
  showDone();
}
