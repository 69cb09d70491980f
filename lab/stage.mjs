// "Run it here" on the page of a stage: its kernel in an editor, and what a run counts beside it.
import { ask, prepare } from "./client.mjs";
import { makeEditor } from "./editor.mjs";
import { data, make, runner } from "./here.mjs";
import { reportOf } from "./report.mjs";
import { stepThrough } from "./stepping.mjs";
import { words } from "./words.mjs";

const LARGEST = 256; // of M, N and K: more takes minutes

export async function stagePart(place, name) {
  prepare({ kind: "stage" });
  const stage = await data(`stages/${name}.json`);
  const file = `${name}.cuh`;
  const sizes = ["M", "N", "K"].map((letter) => make("input", { type: "number", value: 64, min: 1, max: LARGEST, name: letter }));
  const variant = make("select", { name: "variant" }, ...stage.variants.map((each) => make("option", {}, each)));
  variant.value = stage.variants.at(-1);
  const verdict = make("p", { className: "lab-verdict", role: "status" });
  const elsewhere = make("ul");
  const code = make("div", { className: "lab-code" });
  const editor = await makeEditor(code, stage.kernel, file, () => code.classList.add("lab-old"));

  const act = (onProgress) => {
    const values = sizes.map((input) => Number(input.value));
    const wrong = sizes[values.findIndex((x) => !(Number.isInteger(x) && x >= 1 && x <= LARGEST))];
    if (wrong !== undefined) return words("{} is a whole number from 1 to {}.", wrong.name, LARGEST);
    const files = { "stage.h": stage.header, [file]: editor.text() };
    return ask({ kind: "stage", source: stage.main, files, runs: [[...values.map(String), variant.value]] }, onProgress);
  };
  const show = (answer) => {
    if (answer.stopped) return (verdict.textContent = words("stopped"));
    const report = reportOf(answer, file);
    verdict.textContent = report.verdict;
    step.hidden = answer.runs === undefined || answer.runs[0].file === "";
    step.onclick = () => stepThrough(place, name, answer);
    verdict.classList.toggle("lab-wrong", !report.ok);
    elsewhere.replaceChildren(...report.elsewhere.map((said) => make("li", {}, said)));
    editor.mark(report.lines);
    code.classList.remove("lab-old");
  };
  const again = make("button", { className: "md-button", textContent: words("The kernel as it was") });
  again.addEventListener("click", () => {
    editor.set(stage.kernel);
    editor.mark([]);
  });
  const labelled = (name, input) => make("label", {}, `${name} `, input);
  const bar = runner(words("Run"), act, show);
  const step = make("button", { className: "md-button", textContent: words("Step through it"), hidden: true });
  bar.append(again, step);
  place.replaceChildren(
    make("div", { className: "lab-bar" }, ...sizes.map((input) => labelled(input.name, input)), labelled(words("variant"), variant)),
    bar, verdict, elsewhere, code,
  );
}
