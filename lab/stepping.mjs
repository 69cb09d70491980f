// The site's stepper, with the requests that the reader's kernel made.
import { make } from "./here.mjs";
import { words } from "./words.mjs";

const ELEMENT_BYTES = { fp32: 4, fp16: 2 };

// A run's trace, as scripts/ladder/traces.py writes it for the stepper. `shared`: the rows of the
// __shared__ arrays, by instrument.mjs.
export function traceOf(trace, shared, name) {
  const runs = (offsets) => offsets.map((offset) => [offset, 0, 1]);
  const lineOf = (line) => {
    const unit = line.space === "global" ? "sectors" : "wavefronts";
    const same = shared.filter((array) => array.name === line.array && array.bytes === line.array_bytes);
    const rows = same.every(({ pitch, element }) => pitch === same[0].pitch && element === same[0].element) ? same[0] : undefined;
    const path = line.file.split("/").at(-1);
    return {
      ...line, path, file: path, cost: line[`${unit}_per_request`], ideal: line[`ideal_${unit}`],
      element: rows?.element ?? ELEMENT_BYTES[line.array === "C" ? trace.output : trace.input], pitch: rows?.pitch ?? line.pitch,
      first: line.first.map(({ offsets, cost, to }) => [runs(offsets), cost, ...(to === undefined ? [] : [runs(to)])]),
    };
  };
  // What TMA copies and wgmma reads are no requests of a warp's lanes.
  return { stage: name, variants: trace.variants.map((variant) => ({ name: variant.name, lines: variant.lines.filter((line) => line.first?.length > 0).map(lineOf) })) };
}

const started = () => document.getElementById("stepper-stage");

// Puts the stepper below `place`, where the page does not have it already.
async function stepper(place, stage) {
  if (document.getElementById("stepper") === null) {
    const box = make("div", { id: "stepper" });
    box.dataset.stage = stage;
    place.append(box);
    const assets = new URL("../assets/", import.meta.url);
    document.head.append(make("link", { rel: "stylesheet", href: new URL("stepper.css", assets) }), make("script", { src: new URL("stepper.js", assets) }));
  }
  // Where the page has it, it is folded, and loaded when that is opened.
  for (let part = document.getElementById("stepper"); part !== null; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
  while (started() === null) await new Promise((later) => setTimeout(later, 50));
  return started();
}

// Shows what a run has answered.
export async function stepThrough(place, stage, { runs: [{ file }], shared }) {
  const name = words("your kernel");
  const choice = await stepper(place, stage);
  ladderTrace(traceOf(JSON.parse(file), shared, name));
  if (![...choice.options].some((option) => option.value === name)) choice.append(make("option", { value: name }, name));
  choice.value = name;
  choice.dispatchEvent(new Event("change"));
  document.getElementById("stepper").scrollIntoView();
}
